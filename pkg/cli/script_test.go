package cli_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast.dev/holdfast/pkg/cli"
)

var update = flag.Bool("update", false, "write the expected output of the scripts")

// The scripts run this test's own binary under the names of the program.
func TestMain(m *testing.M) {
	program := func() {
		os.Exit(cli.Main(os.Args, cli.Streams{
			In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now,
		}))
	}
	testscript.Main(m, map[string]func(){"holdfast": program, "kubectl-holdfast": program})
}

// TestScript runs testdata/script: what people type and what they see.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":   endsWith,
			"examples": runExamples,
		},
	})
}

// endsWith is `status N COMMAND…`: the command must end with that status.
func endsWith(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := statusOf(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("ended with status %d, not %d", got, want)
	}
}

func statusOf(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

// runExamples is `examples FILE`: it runs every example of a help text with a
// shell. None may end with an error.
func runExamples(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: examples file")
	}
	_, text, _ := strings.Cut(ts.ReadFile(args[0]), "Examples:\n")
	text, _, _ = strings.Cut(text, "\nFlags:")
	ran := 0
	for example := range strings.SplitSeq(text, "\n\n") {
		if status := statusOf(ts, ts.Exec("sh", "-c", example)); status > 1 {
			ts.Fatalf("ended with status %d: %s", status, example)
		}
		ran++
	}
	if ran == 0 {
		ts.Fatalf("there are no examples in %s", args[0])
	}
}
