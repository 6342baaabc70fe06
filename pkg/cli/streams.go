package cli

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Streams is the world that a command runs in.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Now      func() time.Time
}

// plainWidth is how wide text is where nobody says how wide it may be.
const plainWidth = 80

// terminal is the file of a stream if that is a terminal.
func terminal(w io.Writer) (*os.File, bool) {
	file, ok := w.(*os.File)
	return file, ok && term.IsTerminal(int(file.Fd()))
}

// width is how many columns a stream has.
func width(w io.Writer) int {
	file, ok := terminal(w)
	if !ok {
		return plainWidth
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil || columns < 40 {
		return plainWidth
	}
	return columns
}
