// Package expression evaluates expressions that users write: regular expressions, and rules and predicates in CEL,
// the language of Kubernetes' validation rules. Each expression is checked against limits before it is compiled,
// compiled once, and limited while it runs.
//
// A rule (Evaluate) limits the values of one field. A predicate (Holds) judges a whole object.
// An expression that fails, or costs too much, never counts as true.
//
// The package knows nothing of schemas and objects, and uses no clock: costs are counted in steps. All functions can
// be called concurrently.
package expression
