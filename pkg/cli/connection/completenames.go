package connection

import (
	"context"
	"iter"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/manifest"
)

// completed returns the words of a completion that needs a cluster. It returns nil if anything fails, because a shell
// shows no errors of a completion. The context of words ends after CompletionTimeout.
func (f Flags) completed(ctx context.Context, words func(context.Context, *Cluster) []string) []string {
	c, err := f.Connect()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, CompletionTimeout)
	defer cancel()
	return words(ctx, c)
}

// resources returns KIND/NAME of all resources of an Application for completion, sorted and without
// duplicates. It reads them from the status, in one request.
func (f Flags) resources(ctx context.Context, application string) []string {
	return f.completed(ctx, func(ctx context.Context, c *Cluster) (names []string) {
		app, err := c.GetApplication(ctx, types.NamespacedName{Namespace: c.Namespace, Name: application})
		if err != nil {
			return nil
		}
		for _, r := range app.Status.Resources {
			names = append(names, files.ArgumentOf(manifest.IDFromReference(r.ResourceReference), false))
		}
		slices.Sort(names)
		return slices.Compact(names)
	})
}

// KindFor resolves the name of a kind like kubectl: by kind, plural, short name and group, in any case. It
// uses kubectl's discovery cache on disk. For an unknown name, the error matches apimeta.IsNoMatchError.
//
//	deploy, Deployment, deployments   apps/v1, Kind=Deployment
//	deployments.apps                  apps/v1, Kind=Deployment
//	deployments.v1.apps               apps/v1, Kind=Deployment
func (f Flags) KindFor(kind string) (schema.GroupVersionKind, error) {
	mapper, err := f.ToRESTMapper()
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	// A name with two dots can be resource.version.group, or resource.group with a dot in the group.
	if full, _ := schema.ParseResourceArg(strings.ToLower(kind)); full != nil {
		if gvk, err := mapper.KindFor(*full); err == nil {
			return gvk, nil
		}
	}
	return mapper.KindFor(schema.ParseGroupResource(strings.ToLower(kind)).WithVersion(""))
}

// Objects completes KIND/NAME of any object that can be held: first the kind, then the name. It completes
// only the first argument.
//
//	typed       words
//	dep         deployment/, daemonset/, ... (the shell selects by prefix)
//	deploy/w    deploy/web, deploy/worker
//
// The shell gets the kind as the user typed it, because it replaces the whole word.
func (f Flags) Objects(ctx context.Context, args []string, typed string) []string {
	if len(args) > 0 {
		return nil
	}
	return f.completed(ctx, func(ctx context.Context, c *Cluster) []string {
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
	})
}

// listedKinds returns the kinds whose objects can be held, each with the slash before the name, sorted.
func (m *Mapper) listedKinds() (kinds []string) {
	lists, _ := m.client.Discovery.ServerPreferredResources() // without the groups that cannot be read
	for _, r := range Resources(lists, "list", "patch") {
		kinds = append(kinds, strings.ToLower(r.Kind)+"/")
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// Resources returns the resources in discovery lists that support all verbs, with their groups and versions.
// Subresources such as deployments/scale do not support list, so that verb excludes them.
func Resources(lists []*metav1.APIResourceList, verbs ...string) iter.Seq2[schema.GroupVersion, *metav1.APIResource] {
	return func(yield func(schema.GroupVersion, *metav1.APIResource) bool) {
		for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: verbs}, lists) {
			gv, err := schema.ParseGroupVersion(list.GroupVersion)
			for i := range list.APIResources {
				if err == nil && !yield(gv, &list.APIResources[i]) {
					return
				}
			}
		}
	}
}

// Namespaces completes --namespace with the namespaces that the user may list.
func (f Flags) Namespaces(ctx context.Context, _ []string, _ string) []string {
	return f.completed(ctx, func(ctx context.Context, c *Cluster) []string {
		return namesOf(ctx, c.Metadata.Resource(namespaces))
	})
}
