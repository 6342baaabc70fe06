// Package architecture has no code, only tests: they fail when a package imports
// what its place in the design does not allow, when the files of a package cannot be
// read in order, when the drawing in docs/design.md is not what is so, and when the name
// of a test is a story.
//
// Arrows go down only. Everything up to and including pkg/plan is pure: values in,
// values out, without a client, a clock, randomness, files or the environment. The
// rules are in rules_test.go.
package architecture
