package tosca

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/manifest"
)

// maxFaults is how many errors of one translation are reported. More would not fit into a condition of the status, and
// most of them follow from the first ones.
const maxFaults = 50

// Error is one mistake in a template or archive. It does not contain the value of a sensitive input. It can be compared
// with ==, which faults.addAll uses to drop repetitions. Never put a value of an input into Msg except through
// forMessage.
type Error struct {
	// File is the name of the file, as the caller or an import named it.
	File string
	// Line and Col are counted from 1; 0 if the mistake has no place of its own.
	Line, Col int
	// Path leads to the key, from below topology_template: node_templates.shop.properties.spec.concat[1]. It is ""
	// for an error in a fetched file.
	Path string
	// Code is stable, and Msg is not. Code is "" for a warning.
	Code Code
	Msg  string
}

// Error returns file:line:column: path: message, a format that editors can open.
//
//	shop.yaml:7:5: inputs.port: must be a map    with a position
//	shop.csar!a.yaml: is not a template          a file of an archive, without a position
//	must be a map                                neither a file nor a position
func (e *Error) Error() string {
	text := e.Msg
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	switch {
	case e.Line > 0 && e.File != "":
		return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, text)
	case e.Line > 0:
		return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, text)
	case e.File != "":
		return e.File + ": " + text
	}
	return text
}

// Warning describes a part of a template that has no effect, or not the effect that its author may expect. It has the
// form of an Error, with an empty Code.
type Warning = Error

// Errors returns the errors that Translate and Validate have joined. It returns nil if err contains no *Error.
func Errors(err error) []*Error { return manifest.Unjoin[*Error](err) }

// join sorts errors by position and joins them. Those beyond maxFaults are replaced by one error. It returns nil for
// none. It sorts all in place. The last error names the file of the first one that is left out, and no position.
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

// byPosition compares the positions of two errors.
func byPosition(a, b *Error) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
}

// stop ends a translation from anywhere within. Translate recovers it. A panic spares every recursive function a second
// result. Only protect recovers it, so it never leaves the package.
type stop struct{ err error }
