// Package repeatable makes the tests with random input that import it draw the same input in each run. So a change
// fails for a reason of its own, and a failure can be repeated. "make test-long" draws other input.
package repeatable

import (
	"flag"

	_ "pgregory.net/rapid" // defines the flag
)

func init() {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}
