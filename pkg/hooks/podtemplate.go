package hooks

import (
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
	var found []map[string]any
	for _, field := range []string{"initContainers", "containers"} {
		list, _ := spec[field].([]any)
		for _, item := range list {
			if container, ok := item.(map[string]any); ok {
				found = append(found, container)
			}
		}
	}
	return found
}

// appendNamed appends an element to a list, unless the list has an element of that name. It reports whether it
// appended the element. It changes parent, but not the list, which the manifest may share.
func appendNamed(parent map[string]any, field string, element map[string]any) bool {
	value, there := parent[field]
	list, isList := value.([]any)
	if there && !isList {
		return false // the API server will reject the manifest
	}
	for _, item := range list {
		if other, ok := item.(map[string]any); ok && other["name"] == element["name"] {
			return false
		}
	}
	parent[field] = append(list, element)
	return true
}
