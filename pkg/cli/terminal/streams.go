package terminal

import (
	"context"
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

// Interruptible reads from r until ctx ends, even if r is a terminal at which nobody
// types.
func Interruptible(ctx context.Context, r io.Reader) io.Reader { return interruptible{r, ctx} }

type interruptible struct {
	io.Reader

	ctx context.Context
}

// Read implements io.Reader.
func (r interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	read := make(chan result, 1)
	buffer := make([]byte, len(p)) // what comes too late is nobody's
	go func() {
		n, err := r.Reader.Read(buffer)
		read <- result{n, err}
	}()
	select {
	case got := <-read:
		return copy(p, buffer[:got.n]), got.err
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}

// IsPerson reports whether a person types what is read.
func IsPerson(r io.Reader) bool {
	if wrapped, ok := r.(interruptible); ok {
		r = wrapped.Reader
	}
	file, ok := r.(*os.File)
	return ok && isTerminal(file)
}

// PlainWidth is how wide text is where nobody says how wide it may be.
const PlainWidth = 80

// File is the file of a stream if that is a terminal.
func File(w io.Writer) (*os.File, bool) {
	file, ok := w.(*os.File)
	return file, ok && isTerminal(file)
}

func isTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }

// Size is how many columns and rows a stream has, if it is a terminal.
func Size(w io.Writer) (columns, rows int, ok bool) {
	file, ok := File(w)
	if !ok {
		return 0, 0, false
	}
	columns, rows, err := term.GetSize(int(file.Fd()))
	return columns, rows, err == nil
}

// Width is how many columns a text may take.
func Width(w io.Writer) int {
	columns, _, ok := Size(w)
	if !ok || columns < narrowest {
		return PlainWidth
	}
	return columns
}

// narrowest is what a text can be laid out for. On a terminal that is narrower, it
// is better left to the terminal.
const narrowest = 40
