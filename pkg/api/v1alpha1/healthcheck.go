package v1alpha1

// HealthCheck has CEL expressions that decide the health of the objects of a kind. Their variables are the
// top-level fields of the object, for example metadata, spec and status. They are evaluated in the order
// inProgress, failed, current; the first that is true decides. If none is true, or one has no result, for
// example because a field is missing, the object is in progress. So it is while status.observedGeneration is
// a number other than metadata.generation.
type HealthCheck struct {
	// APIVersion has the group of the kind, as in a manifest. The version does not matter.
	// +kubebuilder:validation:MinLength=1
	APIVersion string `json:"apiVersion"`
	// Kind is the kind. Without it, the expressions apply to all kinds of the group that no other item names.
	// +optional
	Kind string `json:"kind,omitempty"`
	// InProgress is true while the object is not ready yet.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	InProgress string `json:"inProgress,omitempty"`
	// Failed is true if the object has failed.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Failed string `json:"failed,omitempty"`
	// Current is true if the object is ready.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Current string `json:"current"`
}
