// Package agreement contains only a test: it compares the built-in kinds of pkg/kinds with the schemas of a real API
// server. It fails if the table and the API server belong to different releases.
package agreement
