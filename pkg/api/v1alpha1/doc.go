// Package v1alpha1 is the API of Holdfast: the Application, the HoldProfile and the ApplicationSlice.
//
// It contains types and their constants, and the properties of each condition reason. It contains no
// decisions. Manifests and observer schemas are kept as raw JSON, byte for byte as the client sent them. An
// observer schema can have nulls as leaves, and a decoder that drops a null changes which fields are held.
//
// The deepcopy functions and deploy/crd are generated from this package with `make generate`.
//
// +kubebuilder:object:generate=true
// +groupName=holdfast.dev
package v1alpha1
