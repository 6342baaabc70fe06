package cli_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast.dev/holdfast/internal/clitest"
	"holdfast.dev/holdfast/pkg/cli"
)

var update = flag.Bool("update", false, "write the expected output of the scripts")

// The scripts run the test binary under the names of the program.
func TestMain(m *testing.M) {
	program := func() { os.Exit(cli.Run(context.Background(), os.Args)) }
	testscript.Main(m, map[string]func(){"holdfast": program, "kubectl-holdfast": program})
}

// TestScript runs the scripts in testdata/script, which contain the commands of users and the expected
// output.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":   clitest.EndsWith,
			"examples": clitest.RunExamples,
		},
	})
}
