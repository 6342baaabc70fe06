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

// add adds an error at a value. The arguments must not be values of inputs, except through forMessage. They can be
// parts of the file, because keep removes them for a sealed file.
func (c *faults) add(p fileNode, code Code, format string, args ...any) {
	fault := &Error{Code: code, Msg: fmt.Sprintf(format, args...), Path: p.path.String()}
	if p.at != nil {
		fault.Line, fault.Col = p.at.Line, p.at.Column
	}
	c.keep(p.file, fault)
}

// addAll adds errors that were collected before. f can be nil if their files are set.
func (c *faults) addAll(f *file, errors []*Error) {
	for _, fault := range errors {
		c.keep(f, fault)
	}
}

// keep adds an error in a file. For a sealed file, it removes the message and the path, which can quote the content. f
// can be nil. It also drops an error that is already in the list, and everything beyond collected. It changes the given
// error.
func (c *faults) keep(f *file, fault *Error) {
	if len(c.list) >= collected {
		return
	}
	if f != nil {
		fault.File = f.name
		if f.sealed && !c.quote {
			fault.Path, fault.Msg = "", cmp.Or(rules[fault.Code], "is not valid")
		}
	}
	// One anchor with a mistake is met as often as there are aliases of it.
	if !slices.ContainsFunc(c.list, func(other *Error) bool { return *other == *fault }) {
		c.list = append(c.list, fault)
	}
}

// err returns the collected errors, joined in the order of their positions, or nil for none.
func (c *faults) err() error { return join(c.list) }

func (c *faults) empty() bool { return len(c.list) == 0 }
