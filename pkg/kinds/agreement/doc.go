// Package agreement has no code, only a test: what pkg/kinds knows offline of the
// built-in kinds is what a real API server says of them. It fails when the table and
// the API server are of different releases.
package agreement
