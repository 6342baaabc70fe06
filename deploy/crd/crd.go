// Package crd embeds the CustomResourceDefinitions of Holdfast, for programs that install them without a
// checkout. Users apply the same files:
//
//	kubectl apply --server-side -f deploy/crd
//
// The files are generated from pkg/api with `make generate`.
package crd

import _ "embed"

// Applications defines the kind Application, as YAML.
//
//go:embed holdfast.dev_applications.yaml
var Applications []byte

// Slices defines the kind ApplicationSlice, as YAML.
//
//go:embed holdfast.dev_applicationslices.yaml
var Slices []byte

// Profiles defines the kind HoldProfile, as YAML.
//
//go:embed holdfast.dev_holdprofiles.yaml
var Profiles []byte

// Mysqls defines the kind Mysql, the built-in template, as YAML.
//
//go:embed fnjoin.com_mysqls.yaml
var Mysqls []byte
