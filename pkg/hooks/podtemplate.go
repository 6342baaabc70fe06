package hooks

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/manifest"
)

// podSpecs maps the kinds that create Pods to the path of the Pod spec.
var podSpecs = map[schema.GroupKind][]string{
	{Kind: "Pod"}:                        {"spec"},
	{Kind: "ReplicationController"}:      {"spec", "template", "spec"},
	{Group: "apps", Kind: "Deployment"}:  {"spec", "template", "spec"},
	{Group: "apps", Kind: "StatefulSet"}: {"spec", "template", "spec"},
	{Group: "apps", Kind: "DaemonSet"}:   {"spec", "template", "spec"},
	{Group: "apps", Kind: "ReplicaSet"}:  {"spec", "template", "spec"},
	{Group: "batch", Kind: "Job"}:        {"spec", "template", "spec"},
	{Group: "batch", Kind: "CronJob"}:    {"spec", "jobTemplate", "spec", "template", "spec"},
}

// podSpec returns the spec of the Pods that an object creates, or nil. The result is part of the object.
func podSpec(o manifest.Object) map[string]any {
	steps, makesPods := podSpecs[o.ID.GroupKind()]
	if !makesPods {
		return nil
	}
	return manifest.NestedMap(o.Content, steps...)
}

// containers returns the containers of a Pod spec, init containers first. The results are parts of the spec.
// Ephemeral containers cannot be in a manifest.
func containers(spec map[string]any) []map[string]any {
	return slices.Concat(manifest.NestedMaps(spec, "initContainers"), manifest.NestedMaps(spec, "containers"))
}

// appendNamed appends an element to a list, unless the list has an element of that name. It reports whether it
// appended the element. It changes parent, but not the list, which the manifest may share.
func appendNamed(parent map[string]any, field string, element map[string]any) bool {
	value, there := parent[field]
	list, isList := value.([]any)
	if there && !isList {
		return false // the API server will reject the manifest
	}
	if name, _ := element["name"].(string); elementNamed(parent, field, name) != nil {
		return false
	}
	parent[field] = append(list, element)
	return true
}
