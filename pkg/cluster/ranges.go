package cluster

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/observer"
)

// Range is a part of the objects of one kind, which a watch shows whether or not they carry
// our label. The API server selects by namespace, labels and name; by patterns it cannot, so
// that these are looked at here, and what does not match is not kept.
type Range struct {
	// Namespace is the one that the objects are in; empty for all.
	Namespace string
	// Labels is a label selector; empty for any.
	Labels string
	// Name is that of the only object; empty for any.
	Name string
	// Namespaces and Names are patterns, separated by commas, of which one matches; empty
	// for any.
	Namespaces, Names string
}

// Ranges are parts of kinds.
type Ranges map[schema.GroupVersionResource][]Range

// keeps reports whether an object of that name is one of them, whatever its labels.
func (r Range) keeps(key types.NamespacedName) bool {
	return (r.Namespace == "" || r.Namespace == key.Namespace) && (r.Name == "" || r.Name == key.Name) &&
		matches(r.Namespaces, key.Namespace) && matches(r.Names, key.Name)
}

func matches(patterns, text string) bool {
	return patterns == "" || slices.ContainsFunc(strings.Split(patterns, ","), func(pattern string) bool { return observer.MatchesPattern(pattern, text) })
}

// isWhole reports whether it has every object of its namespace, or the one of its name.
func (r Range) isWhole() bool { return r.Labels == "" && r.Namespaces == "" && r.Names == "" }

// mayHave reports whether what we wrote belongs into the store. Of labels only the watch
// knows whether they are the right ones; it tells when they are not any more.
func (s sharedStore) mayHave(key types.NamespacedName) bool {
	return s.keeps(key) && (s.Labels == "" || s.store.Get(key) != nil)
}

// addRanges adds the watches of ranges. The lock is held.
func (w *Watches) addRanges(needs map[watched]struct{}, ranges Ranges) {
	for resource, all := range ranges {
		for _, r := range all {
			needs[watched{GroupVersionResource: resource, Range: r, shared: true}] = struct{}{}
		}
	}
}

// Range are the objects of a range that is needed, in no order. They are not ready before the
// first list of its watch, and err is why that fails.
func (v *View) Range(r Range) (objects []*Object, ready bool, err error) {
	for _, s := range v.shared {
		if s.Range == r {
			return s.store.all(), s.store.Ready(), s.err
		}
	}
	return nil, false, nil
}
