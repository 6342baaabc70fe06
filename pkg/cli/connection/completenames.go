package connection

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/manifest"
)

// resources returns KIND/NAME of all resources of an Application, for completion. It reads them from the
// status, in one request.
func (f Flags) resources(ctx context.Context, application string) []string {
	c, err := f.Connect()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, CompletionTimeout)
	defer cancel()
	app, err := c.GetApplication(ctx, types.NamespacedName{Namespace: c.Namespace, Name: application})
	if err != nil {
		return nil
	}
	var names []string
	for _, r := range app.Status.Resources {
		names = append(names, files.ArgumentOf(manifest.IDFromReference(r.ResourceReference), false))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// KindFor resolves the name of a kind like kubectl: by kind, plural, short name and group.
func (f Flags) KindFor(kind string) (schema.GroupVersionKind, error) {
	mapper, err := f.ToRESTMapper()
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	if full, _ := schema.ParseResourceArg(strings.ToLower(kind)); full != nil {
		if gvk, err := mapper.KindFor(*full); err == nil {
			return gvk, nil
		}
	}
	return mapper.KindFor(schema.ParseGroupResource(strings.ToLower(kind)).WithVersion(""))
}

// Objects completes KIND/NAME of any object: first the kind, then the name.
func (f Flags) Objects(ctx context.Context, args []string, typed string) []string {
	c, err := f.Connect()
	if err != nil || len(args) > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, CompletionTimeout)
	defer cancel()
	kind, _, both := strings.Cut(typed, "/")
	if !both {
		return c.Kinds.listedKinds()
	}
	gvk, err := f.KindFor(kind)
	if err != nil {
		return nil
	}
	mapping, err := c.Kinds.Mapping(ctx, gvk)
	if err != nil {
		return nil
	}
	namespace := ""
	if mapping.Namespaced {
		namespace = c.Namespace
	}
	names := namesOf(ctx, c.Metadata.Resource(mapping.Resource).Namespace(namespace))
	for i, name := range names {
		names[i] = kind + "/" + name
	}
	return names
}

var namespacesResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Namespaces completes --namespace.
func (f Flags) Namespaces(ctx context.Context, _ []string, _ string) []string {
	c, err := f.Connect()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, CompletionTimeout)
	defer cancel()
	return namesOf(ctx, c.Metadata.Resource(namespacesResource))
}
