package terminal

import (
	"context"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Streams is the environment of a command. A command uses no other one, so that tests can replace it.
type Streams struct {
	// In is read for the file "-" and for answers to questions. Out gets the data, and Err the messages, so that a
	// script can redirect Out.
	In       io.Reader
	Out, Err io.Writer
	// Getenv reads NO_COLOR and TERM. client-go reads KUBECONFIG from the process.
	Getenv func(string) string
	// Now is the clock for ages and decisions.
	Now func() time.Time
}

// Interruptible returns a reader that reads from r until ctx ends, even if r is a terminal without input. It then
// returns the error of ctx. A pending read of r remains in a goroutine, and its input is lost.
func Interruptible(ctx context.Context, r io.Reader) io.Reader { return interruptible{r, ctx} }

// interruptible is the reader that Interruptible returns.
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
	// The channel has room for the result, so that the goroutine ends even if this call returns before it.
	read := make(chan result, 1)
	buffer := make([]byte, len(p)) // input after the end of ctx is discarded
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

// IsPerson reports whether the input is a terminal, so that a command can ask. It also accepts a result of
// Interruptible. A script or a pipe must give a flag such as --yes instead: it cannot answer.
func IsPerson(r io.Reader) bool {
	if wrapped, ok := r.(interruptible); ok {
		r = wrapped.Reader
	}
	file, ok := r.(*os.File)
	return ok && isTerminal(file)
}

// PlainWidth is the width of text if the width of the output is not known.
const PlainWidth = 80

// File returns the file of a stream, and reports whether it is a terminal. The file is nil for other streams.
func File(w io.Writer) (*os.File, bool) {
	file, ok := w.(*os.File)
	return file, ok && isTerminal(file)
}

// isTerminal reports whether a file is a terminal.
func isTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }

// Size returns the number of columns and rows of a stream. ok is false if it is not a terminal. It asks the terminal
// in each call, because users resize terminals.
func Size(w io.Writer) (columns, rows int, ok bool) {
	file, ok := File(w)
	if !ok {
		return 0, 0, false
	}
	columns, rows, err := term.GetSize(int(file.Fd()))
	return columns, rows, err == nil
}

// Width returns the number of columns for a text: that of the terminal, or PlainWidth if there is none.
func Width(w io.Writer) int {
	columns, _, ok := Size(w)
	if !ok || columns < narrowest {
		return PlainWidth
	}
	return columns
}

// narrowest is the smallest width for a layout. The terminal itself wraps lines better if it is narrower.
const narrowest = 40
