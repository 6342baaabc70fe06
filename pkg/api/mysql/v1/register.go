package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is the kind of a database; Resource is its plural in URLs.
const (
	Kind     = "Mysql"
	Resource = "mysqls"
)

// GroupVersion is the group and version of this API.
var GroupVersion = schema.GroupVersion{Group: "fnjoin.com", Version: "v1"}

// GroupVersionKind is the kind of a Mysql, with its group and version.
var GroupVersionKind = GroupVersion.WithKind(Kind)

// GroupVersionResource identifies Mysqls in the API.
var GroupVersionResource = GroupVersion.WithResource(Resource)

// AddToScheme adds the types of this package to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Mysql{}, &MysqlList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
