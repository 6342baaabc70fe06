package tosca

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// maxFaults is how many errors of one translation are reported.
const maxFaults = 50

// Error is one mistake in a template or archive. It never has the value of a
// sensitive input.
type Error struct {
	// File is the name of the file, as the caller or an import named it.
	File string
	// Line and Col are counted from 1; 0 if the mistake has no place of its own.
	Line, Col int
	// Path leads to the key, from below topology_template:
	// node_templates.shop.properties.spec.concat[1].
	Path string
	Code Code
	Msg  string
}

// Error prints file:line:column: path: message, which editors can jump to.
func (e *Error) Error() string {
	text := e.Msg
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	if e.Line > 0 {
		text = fmt.Sprintf("%d:%d: %s", e.Line, e.Col, text)
		if e.File != "" {
			return e.File + ":" + text
		}
		return text
	}
	if e.File != "" {
		return e.File + ": " + text
	}
	return text
}

// Warning is about a part of a template that has no effect, or not the one that its
// author may expect. It has the form of an Error.
type Warning = Error

// Errors takes apart what Translate and Validate return: nil if err has no
// *Error in it.
func Errors(err error) []*Error {
	var one *Error
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*Error
		for _, part := range several.Unwrap() {
			all = append(all, Errors(part)...)
		}
		return all
	}
	if errors.As(err, &one) {
		return []*Error{one}
	}
	return nil
}

// join sorts errors by their places and joins them. Those beyond maxFaults are
// counted, not told.
func join(all []*Error) error {
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, byPosition)
	errs := make([]error, 0, min(len(all), maxFaults+1))
	for i, fault := range all {
		if i == maxFaults {
			errs = append(errs, &Error{File: fault.File, Code: LimitExceeded, Msg: fmt.Sprintf("there are more than %d errors: correct those above first", maxFaults)})
			break
		}
		errs = append(errs, fault)
	}
	return errors.Join(errs...)
}

func byPosition(a, b *Error) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
}

// stop ends a translation from anywhere within. Translate recovers it.
type stop struct{ err error }
