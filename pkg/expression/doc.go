// Package expression judges values by what users write: a regular expression, or a rule
// in CEL, the language of Kubernetes' own validation rules. Whatever is written there is
// bounded before it is compiled, compiled once, and bounded while it runs.
//
// It does not know what a schema or an object is, and has no clock: what an expression may
// cost is counted in steps.
package expression
