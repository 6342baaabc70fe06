// Package samples says how much of something long a test takes: a short sample in
// `make test`, the whole of it in `make test-long`.
//
//	for range samples.Of(20, 1000) { … }
//	duration := samples.Of(30*time.Second, 10*time.Minute)
//
// A short sample is not a weak test: what it may miss is found by more luck, or more
// patience, and never by looking closer.
package samples

import "os"

// Variable is set in the environment of `make test-long`, to anything.
const Variable = "HOLDFAST_LONG"

// Of returns the short sample, or the whole where there is time for it.
func Of[T any](short, whole T) T {
	if os.Getenv(Variable) != "" {
		return whole
	}
	return short
}
