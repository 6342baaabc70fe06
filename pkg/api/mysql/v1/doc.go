// Package v1 is the API of a MySQL database: its desired state, and its status.
//
// It contains types and their constants, and no decisions: package mysql makes an Application from a Mysql.
// The defaults are defined twice: in the markers, for the API server, and in Defaulted, for clients without
// an API server. A test compares the two.
//
// The deepcopy functions and deploy/crd are generated from this package with `make generate`.
//
// +kubebuilder:object:generate=true
// +groupName=fnjoin.com
package v1
