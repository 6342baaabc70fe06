package cli_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/cli"
)

// silent is a terminal at which nobody types. It interrupts whoever reads from it.
type silent struct {
	interrupt context.CancelFunc
	ended     <-chan struct{} // of the test
}

func (s silent) Read([]byte) (int, error) {
	s.interrupt()
	<-s.ended
	return 0, nil
}

func TestAnInterruptEndsWhoeverWaitsForInput(t *testing.T) {
	for _, args := range [][]string{
		{"holdfast", "diff", "-f", "-"},
		{"holdfast", "submit", "web", "-f", "-"},
		{"holdfast", "submit", "web", "--tosca", "-"},
		{"holdfast", "translate", "-"},
		{"holdfast", "schema", "default", "-f", "-"},
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
