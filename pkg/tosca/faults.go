package tosca

import (
	"fmt"
	"slices"
)

// faults collects what is wrong, up to the end of a stage.
type faults struct {
	list  []*Error
	quote bool // files that were fetched
}

// collected is how many faults are kept: more than are reported, so that the reported ones
// can be the first by place.
const collected = 20 * maxFaults

func (c *faults) add(p fileNode, code Code, format string, args ...any) {
	fault := &Error{Code: code, Msg: fmt.Sprintf(format, args...), Path: p.path.String()}
	if p.at != nil {
		fault.Line, fault.Col = p.at.Line, p.at.Column
	}
	c.keep(p.file, fault)
}

func (c *faults) addAt(f *file, line, column int, code Code, message string) {
	c.keep(f, &Error{Line: line, Col: column, Code: code, Msg: message})
}

func (c *faults) addAll(f *file, errors []*Error) {
	for _, fault := range errors {
		c.keep(f, fault)
	}
}

func (c *faults) keep(f *file, fault *Error) {
	if len(c.list) >= collected {
		return
	}
	if f != nil {
		fault.File = f.name
		if f.sealed && !c.quote {
			fault.Path, fault.Msg = "", ruleOf(fault.Code)
		}
	}
	// One anchor with a mistake is met as often as there are aliases of it.
	if !slices.ContainsFunc(c.list, func(other *Error) bool { return *other == *fault }) {
		c.list = append(c.list, fault)
	}
}

func (c *faults) err() error { return join(c.list) }

func (c *faults) empty() bool { return len(c.list) == 0 }
