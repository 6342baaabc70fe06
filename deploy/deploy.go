// Package deploy carries what is installed into a cluster, for programs that
// install it without having the checkout. People apply the same file, or one of
// the other ways to put its parts together: docs/operations.md.
//
//	documents := deploy.Install() // YAML, several documents
package deploy

import _ "embed"

// Namespace is the one that the files are made for.
const Namespace = "holdfast-system"

//go:embed install.yaml
var install []byte

// Install returns all objects that Holdfast needs in a cluster, in the order in
// which they are applied, as documents of YAML: what deploy/default is, made with
// `make generate`.
func Install() []byte { return install }
