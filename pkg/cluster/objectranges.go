package cluster

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/observer"
)

// ObjectRange selects objects of one kind that a watch delivers regardless of the tracking label. The API server
// filters by namespace, labels and name. It cannot filter by patterns, so the store filters objects by these and
// drops the others. It is comparable, so equal ranges of several Applications share a watch.
type ObjectRange struct {
	// Namespace restricts the range to one namespace. If empty, all namespaces are selected.
	Namespace string
	// Labels is a label selector. If empty, all objects are selected.
	Labels string
	// Name restricts the range to one object.
	Name string
	// Namespaces and Names are comma-separated patterns; one of them has to match. If empty, everything
	// matches.
	Namespaces, Names string
}

// Ranges contains ranges by resource.
type Ranges map[schema.GroupVersionResource][]ObjectRange

// Named contains the names of shared objects. These need not have the tracking label, and need not exist.
type Named map[schema.GroupVersionResource][]types.NamespacedName

// keeps reports whether an object of that name matches the names and patterns. It does not know labels.
func (r ObjectRange) keeps(key types.NamespacedName) bool {
	return (r.Namespace == "" || r.Namespace == key.Namespace) && (r.Name == "" || r.Name == key.Name) &&
		matches(r.Namespaces, key.Namespace) && matches(r.Names, key.Name)
}

// matches reports whether a text matches one of the comma-separated patterns, or there are none.
func matches(patterns, text string) bool {
	return patterns == "" || slices.ContainsFunc(strings.Split(patterns, ","), func(pattern string) bool { return observer.MatchesPattern(pattern, text) })
}

// isWhole reports whether the range contains all objects of its namespace, or the one object of its name.
func (r ObjectRange) isWhole() bool { return r.Labels == "" && r.Namespaces == "" && r.Names == "" }
