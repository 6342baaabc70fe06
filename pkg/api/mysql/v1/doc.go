// Package v1 is the API of a MySQL database: what its owner asks for, and how it
// is.
//
// It holds types and their constants, nothing that decides: package mysql makes
// an Application of a Mysql. Defaults stand in the markers, for the API server,
// and in Defaulted, for who has no API server; a test compares the two.
//
// The deepcopy functions and deploy/crd are generated from this package with
// `make generate`.
//
// +kubebuilder:object:generate=true
// +groupName=fnjoin.com
package v1
