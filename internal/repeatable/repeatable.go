// Package repeatable makes the tests with random input that import it draw the same input in each run. So a change
// fails for a reason of its own, and a failure can be repeated. "make test-long" draws other input, and more.
package repeatable

import (
	"flag"
	"strconv"

	_ "pgregory.net/rapid" // defines the flags

	"holdfast.dev/holdfast/internal/samples"
)

func init() {
	// The planted bugs of internal/mutants are found with this number of checks.
	checks := samples.Of(50, 100)
	if underRace { // finds races of goroutines, which hardly depend on the input, and takes ten times as long
		checks = 10
	}
	for name, value := range map[string]int{"rapid.seed": 1, "rapid.checks": checks} {
		if err := flag.Set(name, strconv.Itoa(value)); err != nil {
			panic(err)
		}
	}
}
