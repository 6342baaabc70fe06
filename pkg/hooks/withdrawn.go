package hooks

import (
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Withdrawal is a list element of a live object that a hook had added and no longer adds. Value is the live element.
type Withdrawal struct {
	Path  *observer.Path
	Value any
}

// Withdrawn returns the variables, mounts and volumes that are live and in before because Mangle had added
// them, and are missing in desired. They refer to a Secret that is about to be deleted, and Pods with them
// would not start. The last element of each list is returned first.
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
	found := withdrawnFrom(at, "volumes", was, wanted, is, func(e map[string]any) bool {
		return manifest.NestedString(e, "secret", "secretName") == SecretName(app)
	})
	for _, field := range []string{"initContainers", "containers"} {
		list, _ := is[field].([]any)
		for i, item := range list {
			container, _ := item.(map[string]any)
			name, _ := container["name"].(string)
			at, was, wanted := at.Field(field).Element("[name="+name+"]", i), elementNamed(was, field, name), elementNamed(wanted, field, name)
			found = append(found, withdrawnFrom(at, "env", was, wanted, container, func(e map[string]any) bool {
				return manifest.NestedString(e, "valueFrom", "secretKeyRef", "name") == SecretName(app)
			})...)
			found = append(found, withdrawnFrom(at, "volumeMounts", was, wanted, container, func(e map[string]any) bool {
				return e["name"] == volumeName && e["mountPath"] == MountPath
			})...)
		}
	}
	return found
}

// withdrawnFrom returns the elements of one list that Mangle had added and that are no longer desired. is contains
// the live list. ours reports whether an element is of the form that Mangle adds. An element that a user changed to
// another form is kept.
func withdrawnFrom(at *observer.Path, field string, was, wanted, is map[string]any, ours func(map[string]any) bool) (found []Withdrawal) {
	list, _ := is[field].([]any)
	// A removal changes the indices after it, so the last element is first.
	for i, item := range slices.Backward(list) {
		element, _ := item.(map[string]any)
		name, _ := element["name"].(string)
		if before := elementNamed(was, field, name); before == nil || !ours(before) || !ours(element) || elementNamed(wanted, field, name) != nil {
			continue
		}
		found = append(found, Withdrawal{Path: at.Field(field).Element("[name="+name+"]", i), Value: element})
	}
	return found
}

// elementNamed returns the list element with that name, or nil.
func elementNamed(parent map[string]any, field, name string) map[string]any {
	for _, element := range manifest.NestedMaps(parent, field) {
		if element["name"] == name {
			return element
		}
	}
	return nil
}
