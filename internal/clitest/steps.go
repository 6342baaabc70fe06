package clitest

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// EndsWith implements `status N COMMAND…`: the command must exit with that status.
func EndsWith(ts *testscript.TestScript, neg bool, args []string) {
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

// RunExamples implements `examples FILE`: it runs every example of a help text with a shell. None may fail.
func RunExamples(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: examples file")
	}
	_, text, _ := strings.Cut(ts.ReadFile(args[0]), "Examples:\n")
	text, _, _ = strings.Cut(text, "\nFlags:")
	ran := 0
	for example := range strings.SplitSeq(text, "\n\n") {
		if status := statusOf(ts, ts.Exec("bash", "-c", example)); status > 1 {
			ts.Fatalf("ended with status %d: %s", status, example)
		}
		ran++
	}
	if ran == 0 {
		ts.Fatalf("there are no examples in %s", args[0])
	}
}
