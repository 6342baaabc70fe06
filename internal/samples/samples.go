// Package samples selects how much of a long test runs: a short sample in `make test`, all of it in `make
// test-long`.
//
//	for range samples.Of(20, 1000) { … }
//	duration := samples.Of(30*time.Second, 10*time.Minute)
//
// A short sample makes the same checks as the whole. It can only miss what more random cases, or more time,
// would find.
package samples

import "os"

// Variable is the environment variable that `make test-long` sets to any value.
const Variable = "HOLDFAST_LONG"

// Of returns the second value in a long run, and the first one otherwise.
func Of[T any](short, whole T) T {
	if os.Getenv(Variable) != "" {
		return whole
	}
	return short
}
