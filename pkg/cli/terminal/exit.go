package terminal

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The statuses that a command ends with. Scripts rely on them.
const (
	StatusDifferent = 1
	StatusFailed    = 2
	// StatusInterrupted is what shells make of an interrupt.
	StatusInterrupted = 130
)

// Exit is an error that says with which status the program ends. Any other
// error ends it with status 2.
type Exit struct {
	Status int
	// Err is what is still to be told; nil if the output has said it.
	Err error
}

// Interrupted is the end of a command that the user stopped; goesOn says what does
// not end with it.
func Interrupted(goesOn string) error {
	if goesOn != "" {
		goesOn = ": " + goesOn
	}
	return &Exit{Status: StatusInterrupted, Err: errors.New("interrupted" + goesOn)}
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

// UsageError is a command line that cannot be understood.
type UsageError struct {
	// Command is what was called; its --help says more.
	Command string
	Err     error
}

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *UsageError) Unwrap() error { return e.Err }

// Finish tells an error, if there is one, and returns the status to end with.
func Finish(err error, program string, w io.Writer) int {
	if err == nil {
		return 0
	}
	var exit *Exit
	if errors.As(err, &exit) {
		if exit.Err != nil {
			tell(exit.Err, program, w)
		}
		return exit.Status
	}
	tell(err, program, w)
	return StatusFailed
}

// tell writes an error for people: each of several on a line of its own, and
// commands as this program is called.
func tell(err error, program string, w io.Writer) {
	for _, one := range Each(err) {
		text := strings.ReplaceAll(one.Error(), "`holdfast ", "`"+program+" ")
		fmt.Fprintln(w, "error: "+Visible(strings.TrimRight(text, "\n")))
	}
	var usage *UsageError
	if errors.As(err, &usage) {
		fmt.Fprintf(w, "See '%s --help'.\n", usage.Command)
	}
}

// Each takes apart what errors.Join has joined.
func Each(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, Each(one)...)
	}
	return all
}
