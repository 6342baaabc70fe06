package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/cli"
)

// silent is a terminal without input. Reading from it interrupts the program.
type silent struct {
	interrupt context.CancelFunc
	ended     <-chan struct{} // closed when the test ends
}

func (s silent) Read([]byte) (int, error) {
	s.interrupt()
	<-s.ended
	return 0, nil
}

func TestInterruptEndsPrompt(t *testing.T) {
	for _, args := range [][]string{
		{"holdfast", "diff", "-f", "-"},
		{"holdfast", "submit", "web", "-f", "-"},
		{"holdfast", "submit", "web", "--tosca", "-"},
		{"holdfast", "author", "translate", "-"},
		{"holdfast", "author", "schema", "-f", "-"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var out, messages bytes.Buffer
		status := cli.Main(ctx, args, cli.Streams{
			In: silent{cancel, t.Context().Done()}, Out: &out, Err: &messages,
			Getenv: func(string) string { return "" }, Now: time.Now,
		})
		assert.Equal(t, 130, status, args)
		assert.Equal(t, "error: interrupted\n", messages.String(), args)
		assert.Empty(t, out.String(), args)
	}
}

// blocked is an output that is never read. A write to it interrupts the program.
type blocked struct {
	interrupt context.CancelFunc
	ended     <-chan struct{} // closed when the test ends
}

func (b blocked) Write([]byte) (int, error) {
	b.interrupt()
	<-b.ended
	return 0, nil
}

func TestAnInterruptEndsWhatDoesNotListen(t *testing.T) {
	template := filepath.Join(t.TempDir(), "t.yaml")
	require.NoError(t, os.WriteFile(template, []byte("tosca_definitions_version: tosca_simple_yaml_1_3\n"), 0o600))
	for _, args := range [][]string{
		{"holdfast", "help"},
		{"holdfast", "author", "tosca", template},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var messages bytes.Buffer
		status := cli.Main(ctx, args, cli.Streams{
			In: strings.NewReader(""), Out: blocked{cancel, t.Context().Done()}, Err: &messages,
			Getenv: func(string) string { return "" }, Now: time.Now,
		})
		assert.Equal(t, 130, status, args)
		assert.Contains(t, messages.String(), "error: interrupted\n", args)
	}
}

// Reading from a pipe that has no writer must not block the program.
func TestInterruptEndsReadOfPipe(t *testing.T) {
	for _, args := range [][]string{
		{"author", "translate", "PIPE"},
		{"author", "tosca", "PIPE"},
		{"author", "translate", "-", "--inputs", "PIPE"},
		{"submit", "web", "--tosca", "PIPE"},
		{"diff", "-f", "PIPE"},
	} {
		pipe := filepath.Join(t.TempDir(), "pipe")
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		ctx, cancel := context.WithCancel(t.Context())
		opened := make(chan *os.File, 1)
		go func() {
			writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // blocks until the program opens the pipe
			assert.NoError(t, err)
			opened <- writer
			cancel()
		}()
		all := []string{"holdfast"}
		for _, arg := range args {
			all = append(all, strings.Replace(arg, "PIPE", pipe, 1))
		}
		var messages bytes.Buffer
		status := cli.Main(ctx, all, cli.Streams{
			In: strings.NewReader(""), Out: io.Discard, Err: &messages,
			Getenv: func(string) string { return "" }, Now: time.Now,
		})
		assert.Equal(t, 130, status, args)
		assert.Equal(t, "error: interrupted\n", messages.String(), args)
		assert.NoError(t, (<-opened).Close())
	}
}

func TestOnlyRegularFilesAreImported(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600))
	template := filepath.Join(dir, "t.yaml")
	require.NoError(t, os.WriteFile(template, []byte("tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [pipe.yaml]\n"), 0o600))
	var messages bytes.Buffer
	status := cli.Main(t.Context(), []string{"holdfast", "author", "translate", template}, cli.Streams{
		In: strings.NewReader(""), Out: io.Discard, Err: &messages,
		Getenv: func(string) string { return "" }, Now: time.Now,
	})
	assert.Equal(t, 2, status)
	assert.Equal(t, "error: "+template+":2:11: imports[0]: pipe.yaml: is not a regular file\n", messages.String())
}
