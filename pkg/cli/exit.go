package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The statuses that a command ends with. Scripts rely on them.
const (
	statusDifferent = 1
	statusFailed    = 2
)

// Exit is an error that says with which status the program ends. Any other
// error ends it with status 2.
type Exit struct {
	Status int
	// Err is what is still to be told; nil if the output has said it.
	Err error
}

// Error implements error.
func (e *Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Status)
	}
	return e.Err.Error()
}

// Unwrap implements errors.Unwrap.
func (e *Exit) Unwrap() error { return e.Err }

// usageError is a command line that cannot be understood.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// finish tells an error, if there is one, and returns the status to end with.
func finish(err error, w io.Writer) int {
	if err == nil {
		return 0
	}
	var exit *Exit
	if errors.As(err, &exit) {
		if exit.Err != nil {
			tell(exit.Err, w)
		}
		return exit.Status
	}
	tell(err, w)
	return statusFailed
}

// tell writes an error for people: each of several on a line of its own.
func tell(err error, w io.Writer) {
	for _, one := range each(err) {
		fmt.Fprintln(w, "error: "+visible(strings.TrimRight(one.Error(), "\n")))
	}
	var usage *usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(w, "See '%s --help'.\n", usage.command)
	}
}

// each takes apart what errors.Join has joined.
func each(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, each(one)...)
	}
	return all
}
