// Package v1alpha1 is the API that users write: the Application and what it
// reports.
//
// It holds types and their constants, and what follows from each reason; nothing that
// decides. Manifests and
// observer schemas are kept as raw JSON, byte for byte as they were sent,
// because an observer schema may have nulls for leaves, and a decoder that drops a
// null changes what is held.
//
// The deepcopy functions and deploy/crd are generated from this package with
// `make generate`.
//
// +kubebuilder:object:generate=true
// +groupName=holdfast.dev
package v1alpha1
