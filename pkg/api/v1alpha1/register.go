package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is the kind of an Application; Resource is its plural in URLs.
const (
	Kind     = "Application"
	Resource = "applications"
)

// GroupVersion is the group and version of this API.
var GroupVersion = schema.GroupVersion{Group: "holdfast.dev", Version: "v1alpha1"}

// GroupVersionKind is the kind of an Application, with its group and version.
var GroupVersionKind = GroupVersion.WithKind(Kind)

// GroupVersionResource identifies Applications in the API.
var GroupVersionResource = GroupVersion.WithResource(Resource)

// AddToScheme adds the types of this package to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Application{}, &ApplicationList{}, &ApplicationSlice{}, &ApplicationSliceList{},
		&HoldProfile{}, &HoldProfileList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
