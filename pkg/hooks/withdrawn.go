package hooks

import (
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Withdrawal is a list element of a live object that a hook had added.
type Withdrawal struct {
	Path  *observer.Path
	Value any
}

// Withdrawn are the variables, mounts and volumes that Mangle had added to an
// object, as before has them, adds no more, as desired shows, and that are still
// there. They lead to a Secret that is about to go: no Pod would start with them.
// The last element of a list comes first.
func Withdrawn(app *v1alpha1.Application, id manifest.ID, before, desired, live map[string]any) []Withdrawal {
	spec := func(content map[string]any) map[string]any { return podSpec(manifest.Object{ID: id, Content: content}) }
	was, wanted, is := spec(before), spec(desired), spec(live)
	if was == nil || is == nil {
		return nil
	}
	at := (*observer.Path)(nil)
	for _, step := range podSpecs[id.GroupKind()] {
		at = at.Field(step)
	}
	found := withdrawnFrom(at, "volumes", was, wanted, is, func(e map[string]any) bool { return ofSecret(e, "secret", "secretName", app) })
	for _, field := range []string{"initContainers", "containers"} {
		list, _ := is[field].([]any)
		for i, item := range list {
			container, _ := item.(map[string]any)
			name, _ := container["name"].(string)
			at, was, wanted := at.Field(field).Element("[name="+name+"]", i), named(was, field, name), named(wanted, field, name)
			found = append(found, withdrawnFrom(at, "env", was, wanted, container, func(e map[string]any) bool {
				from, _ := e["valueFrom"].(map[string]any)
				return ofSecret(from, "secretKeyRef", "name", app)
			})...)
			found = append(found, withdrawnFrom(at, "volumeMounts", was, wanted, container, func(e map[string]any) bool {
				return e["name"] == volumeName && e["mountPath"] == MountPath
			})...)
		}
	}
	return found
}

// withdrawnFrom finds the elements of one list that are ours, were so before, and
// are not wanted.
func withdrawnFrom(at *observer.Path, field string, was, wanted, is map[string]any, ours func(map[string]any) bool) (found []Withdrawal) {
	list, _ := is[field].([]any)
	for i, item := range slices.Backward(list) {
		element, _ := item.(map[string]any)
		name, _ := element["name"].(string)
		if before := named(was, field, name); before == nil || !ours(before) || !ours(element) || named(wanted, field, name) != nil {
			continue
		}
		found = append(found, Withdrawal{Path: at.Field(field).Element("[name="+name+"]", i), Value: element})
	}
	return found
}

// named is the element of a list that has a name, or nil.
func named(parent map[string]any, field, name string) map[string]any {
	list, _ := parent[field].([]any)
	for _, item := range list {
		if element, ok := item.(map[string]any); ok && element["name"] == name {
			return element
		}
	}
	return nil
}

// ofSecret reports whether a source of values is the Secret of an Application's
// callbacks.
func ofSecret(parent map[string]any, field, name string, app *v1alpha1.Application) bool {
	source, _ := parent[field].(map[string]any)
	return source[name] == SecretName(app)
}
