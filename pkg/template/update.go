package template

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Update returns the JSON Patch (RFC 6902) that brings an Application to the desired state, or nil if
// nothing has to change. The patch tests the identity of the object. It changes only the fields that a
// template renders and leaves the rest of the spec, such as suspend.
func Update(live, desired *v1alpha1.Application) []delta.Op {
	ops := labelOps(live, desired.Labels)
	if !sameObjects(live.Spec.Manifest, desired.Spec.Manifest) {
		ops = append(ops, delta.Op{Op: "add", Path: "/spec/manifest", Value: desired.Spec.Manifest})
	}
	if !sameObjects(live.Spec.ObserverSchema, desired.Spec.ObserverSchema) {
		ops = append(ops, delta.Op{Op: "add", Path: "/spec/observerSchema", Value: desired.Spec.ObserverSchema})
	}
	for _, field := range []struct{ path, live, desired string }{
		{"/spec/serviceAccountName", live.Spec.ServiceAccountName, desired.Spec.ServiceAccountName},
		{"/spec/adoption", string(live.Spec.Adoption), string(desired.Spec.Adoption)},
		{"/spec/deletionPolicy", string(live.Spec.DeletionPolicy), string(desired.Spec.DeletionPolicy)},
	} {
		switch {
		case field.live == field.desired:
		case field.desired == "":
			ops = append(ops, delta.Op{Op: "remove", Path: field.path})
		default:
			ops = append(ops, delta.Op{Op: "add", Path: field.path, Value: field.desired})
		}
	}
	if len(ops) == 0 {
		return nil
	}
	return append([]delta.Op{{Op: "test", Path: "/metadata/uid", Value: live.UID}}, ops...)
}

// labelOps returns the operations that set the rendered labels, in the order of their keys. Other labels are not
// changed.
func labelOps(live *v1alpha1.Application, desired map[string]string) (ops []delta.Op) {
	// JSON Patch cannot add a member to a map that does not exist. The test keeps a map that another client has added.
	if len(live.Labels) == 0 && len(desired) > 0 {
		return []delta.Op{{Op: "test", Path: "/metadata/labels", Value: nil}, {Op: "add", Path: "/metadata/labels", Value: desired}}
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, key := range slices.Sorted(maps.Keys(desired)) {
		if live.Labels[key] != desired[key] {
			ops = append(ops, delta.Op{Op: "add", Path: "/metadata/labels/" + escape.Replace(key), Value: desired[key]})
		}
	}
	return ops
}

// sameObjects compares lists as JSON values, in order. The API server can store the same value with other key orders.
func sameObjects(a, b []runtime.RawExtension) bool {
	return slices.EqualFunc(a, b, func(a, b runtime.RawExtension) bool { return manifest.SameJSON(a.Raw, b.Raw) })
}
