package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is the kind of an Application; Resource its plural in URLs.
const (
	Kind     = "Application"
	Resource = "applications"
)

// GroupVersion is the group and version of this API.
var GroupVersion = schema.GroupVersion{Group: "holdfast.dev", Version: "v1alpha1"}

// GroupVersionKind is that of an Application.
var GroupVersionKind = GroupVersion.WithKind(Kind)

// GroupVersionResource is where Applications are served.
var GroupVersionResource = GroupVersion.WithResource(Resource)

// AddToScheme registers the types of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Application{}, &ApplicationList{}, &ApplicationSlice{}, &ApplicationSliceList{},
		&HoldProfile{}, &HoldProfileList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
