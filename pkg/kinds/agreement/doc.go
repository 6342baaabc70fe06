// Package agreement contains only tests: they compare the built-in kinds of pkg/kinds with the schemas and the defaults
// of a real API server. They fail if the table and the API server belong to different releases.
package agreement
