// Package repeatable makes the tests with random input that import it draw the same input in each run. So a change
// fails for a reason of its own, and a failure can be repeated. "make test-long" draws other input.
package repeatable

import (
	"flag"
	"strconv"

	_ "pgregory.net/rapid" // defines the flags

	"holdfast.dev/holdfast/internal/samples"
)

func init() {
	set("rapid.seed", 1)
	if underRace { // finds races of goroutines, which hardly depend on the input, and takes ten times as long
		set("rapid.checks", 10)
	}
}

// Fewer sets the number of cases in a short run, for a package whose cases take long. Its planted bugs of
// internal/mutants must be found with them.
func Fewer(checks int) {
	if !underRace {
		set("rapid.checks", samples.Of(checks, 100))
	}
}

func set(name string, value int) {
	if err := flag.Set(name, strconv.Itoa(value)); err != nil {
		panic(err)
	}
}
