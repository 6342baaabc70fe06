package cluster

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// IsKind reports whether a kind can have that name. Other names, which come from users, are never looked
// up: they would become a URL path on the API server, and take cache memory of any size.
func IsKind(gvk schema.GroupVersionKind) bool {
	return IsGroup(gvk.Group) && isLabel(gvk.Version) && isLabel(strings.ToLower(gvk.Kind))
}

// IsGroup reports whether a group can have that name. The core group is "".
func IsGroup(group string) bool {
	return group == "" || IsServiceAccount(group) // both are DNS subdomains
}

// isLabel reports whether a version or a lower-case kind can have that name. It checks the length first, because the
// text can be long.
func isLabel(text string) bool {
	return len(text) <= validation.DNS1035LabelMaxLength && len(validation.IsDNS1035Label(text)) == 0
}

// IsServiceAccount reports whether a ServiceAccount can have that name. It checks the length first, because the name
// can be long.
func IsServiceAccount(name string) bool {
	return len(name) <= validation.DNS1123SubdomainMaxLength && len(validation.IsDNS1123Subdomain(name)) == 0
}

// isNamespace reports whether a namespace can have that name.
func isNamespace(name string) bool {
	return len(name) <= validation.DNS1123LabelMaxLength && len(validation.IsDNS1123Label(name)) == 0
}
