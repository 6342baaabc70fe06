package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Note prints notes, one per line. In contrast to warnings, they are no reason to change anything. They can contain text
// of a cluster.
func Note(w io.Writer, notes ...string) {
	for _, text := range notes {
		fmt.Fprintln(w, "note: "+Visible(text))
	}
}

// Warn prints warnings, one per line. They can contain text of a cluster.
func Warn(w io.Writer, warnings ...string) {
	for _, warning := range warnings {
		fmt.Fprintln(w, "warning: "+Visible(warning))
	}
}

// Ask asks the user a question. Unless the answer is yes, it returns an error that states what was not
// done.
//
//	y, yes, Y, YES          nil
//	any other line, or EOF  an error with StatusDifferent
//	an interrupt            an error with StatusInterrupted
func Ask(streams Streams, question, otherwise string) error {
	fmt.Fprint(streams.Err, question+" [y/N] ")
	answer, err := bufio.NewReader(streams.In).ReadString('\n')
	if err != nil && answer == "" {
		fmt.Fprintln(streams.Err)
	}
	if errors.Is(err, context.Canceled) {
		return Interrupted(otherwise)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return &Exit{Status: StatusDifferent, Err: errors.New(otherwise)}
}
