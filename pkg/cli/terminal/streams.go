package terminal

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

// PlainWidth is how wide text is where nobody says how wide it may be.
const PlainWidth = 80

// File is the file of a stream if that is a terminal.
func File(w io.Writer) (*os.File, bool) {
	file, ok := w.(*os.File)
	return file, ok && IsTerminal(file)
}

// IsTerminal tells whether a file is a terminal.
func IsTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }

// Width is how many columns a stream has.
func Width(w io.Writer) int {
	file, ok := File(w)
	if !ok {
		return PlainWidth
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil || columns < 40 {
		return PlainWidth
	}
	return columns
}
