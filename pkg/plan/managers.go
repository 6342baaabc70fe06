package plan

import (
	"encoding/json"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

// foreignTo tells, from an object's managedFields, whether somebody else than the
// Application wrote at or below a path. It is nil for an object without them. They are read when
// they are first asked for: most comparisons never ask.
func foreignTo(app *v1alpha1.Application, live map[string]any) func(*observer.Path) bool {
	metadata, _ := live["metadata"].(map[string]any)
	if list, _ := metadata["managedFields"].([]any); len(list) == 0 {
		return nil
	}
	managers := sync.OnceValue(func() []managerEntry { return managersOf(live) })
	return func(path *observer.Path) bool {
		steps := path.Steps(live)
		for _, e := range managers() {
			if !isManager(app, e.manager) && touches(e.leaves, steps) {
				return true
			}
		}
		return false
	}
}

func isManager(app *v1alpha1.Application, manager string) bool {
	return v1alpha1.IsFieldManagerOf(manager, app.Namespace, app.Name)
}

// LastWriter names the field manager that wrote at or below a path last, and
// when; it is empty if the object has no managedFields.
func LastWriter(live map[string]any, path *observer.Path) (manager string, at time.Time) {
	return lastWriter(live, path, func(string) bool { return false })
}

// otherWriter is LastWriter without ourselves: the times of managedFields have
// seconds only, and in a fast fight they are the same.
func otherWriter(app *v1alpha1.Application, live map[string]any, path *observer.Path) string {
	manager, _ := lastWriter(live, path, func(manager string) bool { return isManager(app, manager) })
	return manager
}

func lastWriter(live map[string]any, path *observer.Path, except func(manager string) bool) (manager string, at time.Time) {
	steps := path.Steps(live)
	for _, e := range managersOf(live) {
		if !except(e.manager) && touches(e.leaves, steps) && (manager == "" || e.at.After(at)) {
			manager, at = e.manager, e.at
		}
	}
	return manager, at
}

type managerEntry struct {
	manager     string
	subresource string
	at          time.Time
	leaves      *fieldpath.Set
}

func managersOf(live map[string]any) []managerEntry {
	metadata, _ := live["metadata"].(map[string]any)
	raw, err := json.Marshal(metadata["managedFields"])
	if err != nil {
		return nil
	}
	var fields []metav1.ManagedFieldsEntry
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	var entries []managerEntry
	for _, f := range fields {
		if f.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if set.FromJSON(f.FieldsV1.GetRawReader()) != nil {
			continue
		}
		e := managerEntry{manager: f.Manager, subresource: f.Subresource, leaves: set.Leaves()}
		if f.Time != nil {
			e.at = f.Time.Time
		}
		entries = append(entries, e)
	}
	return entries
}

// touches reports whether a set has a leaf at or below a place, or one above it
// that holds all of it (an atomic list or map).
func touches(leaves *fieldpath.Set, steps []observer.Step) bool {
	touched := false
	leaves.Iterate(func(p fieldpath.Path) {
		touched = touched || sameWay(p, steps)
	})
	return touched
}

// sameWay reports whether one of the two paths is the beginning of the other.
func sameWay(p fieldpath.Path, steps []observer.Step) bool {
	for i := range min(len(p), len(steps)) {
		if !sameStep(p[i], steps[i]) {
			return false
		}
	}
	return true
}

func sameStep(e fieldpath.PathElement, s observer.Step) bool {
	switch {
	case e.FieldName != nil:
		return !s.IsElement && *e.FieldName == s.Field
	case e.Index != nil:
		return s.IsElement && *e.Index == s.Index
	case e.Value != nil:
		return s.IsElement && observer.Equal((*e.Value).Unstructured(), s.Element)
	case e.Key != nil:
		m, ok := s.Element.(map[string]any)
		for _, field := range *e.Key {
			v, has := m[field.Name]
			ok = ok && has && observer.Equal(v, field.Value.Unstructured())
		}
		return ok
	}
	return false
}
