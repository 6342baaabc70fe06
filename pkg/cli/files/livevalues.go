package files

import (
	"cmp"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Position returns the index of an object in a list of manifests or in an inventory, or -1. It compares the
// group, but not the version. namespace is the default namespace of the list. If id has no namespace, any
// namespace matches.
//
//	{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}             a manifest
//	{apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web, ...}   an inventory entry
func Position(list []any, id manifest.ID, namespace string) int {
	return slices.IndexFunc(list, func(item any) bool {
		content, _ := item.(map[string]any)
		// Inventory entries have name and namespace at the top, manifests have them in metadata.
		named := content
		if metadata, ok := content["metadata"].(map[string]any); ok {
			named = metadata
		}
		gv, err := schema.ParseGroupVersion(manifest.NestedString(content, "apiVersion"))
		return err == nil && gv.Group == id.Group && manifest.NestedString(content, "kind") == id.Kind && manifest.NestedString(named, "name") == id.Name &&
			(id.Namespace == "" || cmp.Or(manifest.NestedString(named, "namespace"), namespace) == id.Namespace)
	})
}

// LiveValues adds to a manifest the values of a live object at paths, as `holdfast hold` accepts them. It
// changes content, and keeps no reference to live. Values that the manifest has are unchanged. Paths that the
// live object lacks add nothing. With absent, which is for fields to remove, it adds only the list elements that
// contain the fields.
//
//	paths           content before            live                   content after
//	spec.replicas   {}                        {spec: {replicas: 3}}  {spec: {replicas: 3}}
//	spec.replicas   {spec: {replicas: 1}}     {spec: {replicas: 3}}  {spec: {replicas: 1}}
//	spec.paused     {}                        {spec: {replicas: 3}}  {}
//	*               an error
//
// The path of a list element adds the element with its keys, for example containers[name=web].image.
func LiveValues(content, live map[string]any, id manifest.ID, in observer.Context, paths []string, absent bool) error {
	object := manifest.Object{ID: id, APIVersion: manifest.NestedString(live, "apiVersion"), Content: live}
	for _, typed := range paths {
		if typed == observer.AllFields {
			return errors.New("give the paths of single fields: to hold all fields of a live object, use `holdfast submit --from-live`")
		}
		path, err := observer.ParseFieldPath(typed)
		if err != nil {
			return err
		}
		names, err := observer.Named(object, path, in)
		if err != nil {
			return err
		}
		for _, name := range names {
			at, err := observer.ParsePath(name)
			if err != nil {
				return err
			}
			// A field to remove must not be in the manifest, but the list element that contains it must be
			// found.
			for absent && !at.IsElement() && at.Parent() != nil {
				at = at.Parent()
			}
			if _, exists := observer.ValueAt(live, at); exists && (!absent || at.IsElement()) {
				withLive(content, live, at.Chain())
			}
		}
	}
	return nil
}

// withLive returns a value of a manifest with the live value at a path. It changes maps and lists of value. The
// live value must exist at the path.
//
// List elements that the manifest lacks get the keys by which they are found, so that the manifest matches the
// same element. An element without keys is found by its position, which needs the whole list.
//
//	spec.containers[name=web].image in a manifest without containers:
//	{spec: {containers: [{name: web, image: web:1}]}}
//
//	spec.args[0] (a list without keys) in a manifest without args:
//	{spec: {args: [all live elements]}}
func withLive(value, live any, path []*observer.Path) any {
	if len(path) == 0 {
		return completed(value, live)
	}
	step, rest := path[0], path[1:]
	if !step.IsElement() {
		from, _ := live.(map[string]any)
		content, _ := value.(map[string]any)
		if content == nil {
			content = map[string]any{}
		}
		content[step.Name()] = withLive(content[step.Name()], from[step.Name()], rest)
		return content
	}
	from, _ := live.([]any)
	list, _ := value.([]any)
	// The live element exists. The manifest can have it at another index, or not at all.
	index, keys := step.In(nil, from)
	at, _ := step.In(nil, list)
	switch element, _ := from[index].(map[string]any); {
	case at >= 0:
	case element != nil && len(keys) == 0:
		return completed(value, live)
	case element == nil || len(rest) == 0:
		return append(list, observer.Copy(from[index]))
	default:
		at = len(list)
		known := map[string]any{}
		for _, key := range keys {
			known[key] = element[key]
		}
		list = append(list, known)
	}
	list[at] = withLive(list[at], from[index], rest)
	return list
}

// completed returns a value with the keys of a live map that it lacks, also in nested maps. It changes value.
// Without a value, it returns a copy of the live value.
//
//	value {a: 1}, live {a: 2, b: 3}  {a: 1, b: 3}
//	value nil, live [1]              [1]
//	value [1], live [1, 2]           [1]
func completed(value, live any) any {
	has, isMap := value.(map[string]any)
	from, _ := live.(map[string]any)
	switch {
	case value == nil:
		return observer.Copy(live)
	case !isMap:
		return value
	}
	for key := range from {
		has[key] = completed(has[key], from[key])
	}
	return has
}
