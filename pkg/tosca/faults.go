package tosca

import (
	"cmp"
	"fmt"
	"slices"
)

// faults collects the errors of one stage, or of one call of session.collect. All errors are collected, and the phase
// decides whether to continue: only a limit ends the translation at once.
type faults struct {
	list  []*Error
	quote bool // files that were fetched
}

// collected limits the number of errors that are kept. It is higher than maxFaults, so that the first errors by
// position are reported. A template of 512 KiB can have tens of thousands of mistakes, each with a path and a message.
const collected = 20 * maxFaults

// add adds an error at a value.
func (c *faults) add(p fileNode, code Code, format string, args ...any) {
	c.addAll(c.errorAt(p, code, format, args...))
}

// errorAt returns an error at a value. The arguments must not be values of inputs, except through forMessage. They can
// be parts of the file: for a sealed file, the error has neither the message nor the path, which can quote the content.
func (c *faults) errorAt(p fileNode, code Code, format string, args ...any) *Error {
	fault := &Error{Code: code, Msg: fmt.Sprintf(format, args...), Path: p.path.String()}
	if p.at != nil {
		fault.Line, fault.Col = p.at.Line, p.at.Column
	}
	if p.file != nil {
		fault.File = p.file.name
		if p.file.sealed && !c.quote {
			fault.Path, fault.Msg = "", cmp.Or(rules[code], "is not valid")
		}
	}
	return fault
}

// addAll adds errors. It drops an error that is already in the list, and everything beyond collected.
func (c *faults) addAll(all ...*Error) {
	for _, fault := range all {
		// One anchor with a mistake is met as often as there are aliases of it.
		isSame := func(other *Error) bool { return *other == *fault }
		if len(c.list) < collected && !slices.ContainsFunc(c.list, isSame) {
			c.list = append(c.list, fault)
		}
	}
}

// err returns the collected errors, joined in the order of their positions, or nil for none.
func (c *faults) err() error { return join(c.list) }

func (c *faults) empty() bool { return len(c.list) == 0 }
