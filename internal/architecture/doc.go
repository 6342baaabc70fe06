// Package architecture contains the tests of the architecture. They fail if a package has an import that the design
// does not allow, if the files of a package cannot be read in order or use each other in a large cycle, if the
// drawing in docs/design.md is outdated, or if the name of a test is too long.
//
// Imports go only to lower layers. Everything up to and including pkg/plan is pure: functions of their
// arguments, without a client, a clock, randomness, files or the environment. The rules are in
// rules_test.go.
package architecture
