// Package deploy embeds the manifests of Holdfast, for programs that install them without a checkout. Users
// apply the same file, or another variant from docs/operations.md.
//
//	documents := deploy.Install() // YAML, several documents
package deploy

import _ "embed"

// Namespace is the namespace in the manifests.
const Namespace = "holdfast-system"

//go:embed install.yaml
var install []byte

// Install returns all objects of an installation, in the order in which they must be applied, as YAML
// documents. The file is the output of deploy/default, generated with `make generate`.
func Install() []byte { return install }
