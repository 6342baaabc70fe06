// Package repeatable makes the tests with random input that import it draw the same input in each run. So a change
// fails for a reason of its own, and a failure can be repeated. "make test-long" draws other input.
package repeatable

import (
	"flag"
	"strconv"
	"testing"

	_ "pgregory.net/rapid" // defines the flags

	"holdfast.dev/holdfast/internal/samples"
)

func init() {
	set("rapid.seed", 1)
	if UnderRace { // finds races of goroutines, which hardly depend on the input, and takes ten times as long
		set("rapid.checks", 10)
	}
}

// Fewer sets the number of cases in a short run, for a package whose cases take long. Its planted bugs of
// internal/mutants must be found with them.
func Fewer(checks int) {
	if !UnderRace {
		set("rapid.checks", samples.Of(checks, 100))
	}
}

// Cases sets the number of cases of one test, whose cases take little time. Tests of the package must not be parallel.
func Cases(t *testing.T, checks int) {
	t.Helper()
	if UnderRace {
		return
	}
	before := flag.Lookup("rapid.checks").Value.String()
	t.Cleanup(func() { _ = flag.Set("rapid.checks", before) })
	set("rapid.checks", checks)
}

func set(name string, value int) {
	if err := flag.Set(name, strconv.Itoa(value)); err != nil {
		panic(err)
	}
}
