package terminal

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The exit statuses of a command. Scripts rely on them.
const (
	// StatusDifferent means that the command worked, and found a difference or a state that is not the expected
	// one.
	StatusDifferent = 1
	// StatusFailed is the status of any other error, such as a usage error.
	StatusFailed = 2
	// StatusInterrupted is the status that shells use for an interrupted program.
	StatusInterrupted = 130
)

// Exit is an error that sets the exit status of the program. For any other error, the status is 2.
type Exit struct {
	Status int
	// Err is the error to print; nil if the output already reports it.
	Err error
}

// Interrupted returns an error for a command that the user stopped. goesOn describes what continues in the
// cluster; "" for nothing.
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

// UsageError is an error in the command line. cobra's own usage text is not printed, because it would hide the
// error.
type UsageError struct {
	// Command is the called command, whose --help explains the usage.
	Command string
	Err     error
}

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *UsageError) Unwrap() error { return e.Err }

// Finish prints an error to w, if there is one, and returns the exit status. program is the name by which the user
// called this program.
//
//	error              printed                         status
//	nil                nothing                         0
//	Exit without Err   nothing                         Exit.Status
//	Exit with Err      "error: ..."                    Exit.Status
//	UsageError         "error: ...", "See ... --help"  2
//	errors.Join(a, b)  a line for each                 2
//	any other          "error: ..."                    2
func Finish(err error, program string, w io.Writer) int {
	if err == nil {
		return 0
	}
	if exit, is := errors.AsType[*Exit](err); is {
		if exit.Err != nil {
			printError(exit.Err, program, w)
		}
		return exit.Status
	}
	printError(err, program, w)
	return StatusFailed
}

// printError prints an error for users. Each joined error has a line of its own. Commands in backquotes, and after
// "run:", start with the name of this program: users of a kubectl plugin may have no program holdfast.
func printError(err error, program string, w io.Writer) {
	called := strings.NewReplacer("`holdfast ", "`"+program+" ", "run: holdfast ", "run: "+program+" ")
	for _, one := range Each(err) {
		text := called.Replace(one.Error())
		fmt.Fprintln(w, "error: "+Visible(strings.TrimRight(text, "\n")))
	}
	if usage, is := errors.AsType[*UsageError](err); is {
		fmt.Fprintf(w, "See '%s --help'.\n", usage.Command)
	}
}

// Each returns the errors that errors.Join has joined, also in nested joins. For any other error, and for nil, it
// returns a list of that one.
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
