package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// knownKinds is the set of kinds that an Application names. It implements intent.Kinds.
type knownKinds struct {
	intent.Kinds
	// first records the first version of each kind that is named.
	first map[schema.GroupKind]*knownKind
	// others lists the kinds that manifests name in another version, too.
	others map[schema.GroupVersionKind]*knownKind
}

// knownKind is a kind in one version, with its resource or the reason why it has none.
type knownKind struct {
	cluster.Mapping
	// gvk is the kind in the version that the Application uses. The mapping can have another version: see unserved.
	gvk schema.GroupVersionKind
	// problem is why the kind cannot be used, or nil.
	problem *plan.Problem
	// unserved is why no object of the kind can be held: the API server does not serve the manifest's
	// version. The mapping then has another version.
	unserved *plan.Problem
}

// cause returns why no object of the kind can be held now, or nil.
func (k *knownKind) cause() *plan.Problem { return cmp.Or(k.problem, k.unserved) }

func (k *knownKind) GroupKind() schema.GroupKind { return k.gvk.GroupKind() }

// find returns the kind in the given version if manifests name it, else in its first version. It returns nil if
// the kind is not named.
func (k *knownKinds) find(gvk schema.GroupVersionKind) *knownKind {
	return cmp.Or(k.others[gvk], k.first[gvk.GroupKind()])
}

// all returns the kinds in all versions, sorted.
func (k *knownKinds) all() []*knownKind {
	all := slices.AppendSeq(slices.Collect(maps.Values(k.first)), maps.Values(k.others))
	slices.SortFunc(all, func(a, b *knownKind) int { return strings.Compare(a.gvk.String(), b.gvk.String()) })
	return all
}

// Namespaced reports whether a kind is namespaced, according to the API server, or to the built-in kinds
// while the API server has not responded.
func (k *knownKinds) Namespaced(gk schema.GroupKind) (namespaced, known bool) {
	if kind, ok := k.first[gk]; ok && kind.Resource.Resource != "" {
		return kind.Mapping.Namespaced, true
	}
	return k.Kinds.Namespaced(gk)
}

// Type returns the typed schema of a kind, or nil.
func (k *knownKinds) Type(gvk schema.GroupVersionKind) *kinds.Node {
	if kind := k.find(gvk); kind != nil && kind.Resource.Resource != "" && kind.Resource.Version == gvk.Version {
		return kind.Mapping.Type
	}
	return k.Kinds.Type(gvk)
}

// Published returns the schema that the API server publishes for a kind; nil if the Reader does not request
// it. It implements plan.Publisher.
func (k *knownKinds) Published(gvk schema.GroupVersionKind) *kinds.Node {
	if kind := k.find(gvk); kind != nil && kind.Resource.Version == gvk.Version {
		return kind.Mapping.Published
	}
	return nil
}

// resources returns the resources to watch, and whether each is namespaced.
func (k *knownKinds) resources() map[schema.GroupVersionResource]bool {
	resources := map[schema.GroupVersionResource]bool{}
	for _, kind := range k.all() {
		if kind.problem == nil {
			resources[kind.Resource] = kind.Mapping.Namespaced
		}
	}
	return resources
}

// lookUp resolves the kinds of the manifests, of spec.select, of the inventory, of the write-ahead annotation, and
// more. The first version of a kind applies to all its objects, except those whose manifests name another version. It
// returns no error: a kind that cannot be resolved has a problem, and does not prevent the others.
func lookUp(ctx context.Context, v Reader, app *v1alpha1.Application, manifests []map[string]any, more []schema.GroupVersionKind) *knownKinds {
	k := &knownKinds{Kinds: v.Kinds(), first: map[schema.GroupKind]*knownKind{}, others: map[schema.GroupVersionKind]*knownKind{}}
	desired := append(kindsOf(manifests), kindsSelected(app)...)
	for i, gvk := range slices.Concat(desired, kindsOnRecord(app), more) {
		switch first := k.first[gvk.GroupKind()]; {
		// The desired kinds are first in the loop, so a version that a manifest uses takes precedence over recorded
		// ones.
		case first == nil:
			k.first[gvk.GroupKind()] = lookUpOne(ctx, v, gvk)
		case i < len(desired) && first.gvk != gvk && k.others[gvk] == nil:
			k.others[gvk] = lookUpOne(ctx, v, gvk)
		}
	}
	return k
}

// lookUpOne resolves one kind. If the version is not served, no object of the kind can be held, but existing
// objects can still be found and deleted in another version.
func lookUpOne(ctx context.Context, v Reader, gvk schema.GroupVersionKind) *knownKind {
	kind := &knownKind{gvk: gvk}
	var err error
	kind.Mapping, err = v.Mapping(ctx, gvk)
	if unknown := err; errors.Is(unknown, cluster.ErrKindUnknown) {
		switch kind.Mapping, err = v.AnyVersion(ctx, gvk.GroupKind()); {
		case err == nil:
			kind.unserved = unknownKind(gvk, unknown, kind.Resource)
		case errors.Is(err, cluster.ErrKindUnknown):
			kind.problem = unknownKind(gvk, unknown, schema.GroupVersionResource{})
			return kind
		}
	}
	switch {
	case err != nil:
		kind.problem = &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: err.Error(), RetryAfter: cluster.RetryAfter(err)}
	case !kind.Watchable:
		kind.problem = &plan.Problem{
			Reason:  v1alpha1.ReasonKindUnsupported,
			Message: fmt.Sprintf("%s in %s cannot be listed and watched, so it cannot be held: remove it from the manifests", gvk.Kind, gvk.GroupVersion()),
		}
	}
	return kind
}

// unknownKind returns the problem of a kind that the API server does not serve. It suggests the served version, which is
// empty if there is none or the Reader has no connection, or else what the error suggests. Its retry waits as long as
// the cached negative result of the lookup lasts.
func unknownKind(gvk schema.GroupVersionKind, err error, served schema.GroupVersionResource) *plan.Problem {
	problem := &plan.Problem{
		Reason:     v1alpha1.ReasonKindUnknown,
		Message:    fmt.Sprintf("%s in %s is not served by the API server; its resources wait for it", gvk.Kind, gvk.GroupVersion()),
		RetryAfter: cluster.RetryAfter(err),
	}
	if unknown, ok := errors.AsType[*cluster.KindUnknownError](err); !served.Empty() {
		problem.Message += ": did you mean " + served.GroupVersion().String() + "?"
	} else if ok {
		problem.Message += unknown.Suggestion
	}
	return problem
}

// kindsOf returns the kinds of manifests, in the versions that they use.
func kindsOf(manifests []map[string]any) (gvks []schema.GroupVersionKind) {
	for _, content := range manifests {
		apiVersion, kind := manifest.NestedString(content, "apiVersion"), manifest.NestedString(content, "kind")
		gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
		if kind != "" && apiVersion != "" && !slices.Contains(gvks, gvk) {
			gvks = append(gvks, gvk)
		}
	}
	return gvks
}

// kindsSelected returns the kinds of spec.select.
func kindsSelected(app *v1alpha1.Application) (gvks []schema.GroupVersionKind) {
	for _, item := range app.Spec.Select {
		gvks = append(gvks, schema.FromAPIVersionAndKind(item.APIVersion, item.Kind))
	}
	return gvks
}

// kindsOnRecord returns the kinds of the inventory and of the write-ahead annotation, possibly with duplicates.
// Without them, an object whose kind left the manifests would be in no watch and could not be pruned.
func kindsOnRecord(app *v1alpha1.Application) []schema.GroupVersionKind {
	return append(kindsInInventory(app), announced(app)...)
}

// kindsInInventory returns the kinds of the inventory, possibly with duplicates.
func kindsInInventory(app *v1alpha1.Application) (gvks []schema.GroupVersionKind) {
	for _, r := range app.Status.Resources {
		gvks = append(gvks, schema.FromAPIVersionAndKind(r.APIVersion, r.Kind))
	}
	return gvks
}

// KindsIn returns the kinds of spec.manifest and spec.select.
func KindsIn(app *v1alpha1.Application) []schema.GroupVersionKind {
	return append(kindsOf(manifestsOf(app, nil)), kindsSelected(app)...)
}

// KindsOf returns the kinds of which an Application with spec.manifest may have objects. It starts with the
// kinds of the manifests, in the versions that they use.
func KindsOf(app *v1alpha1.Application) []schema.GroupVersionKind {
	return append(KindsIn(app), kindsOnRecord(app)...)
}

// announced returns the kinds of the write-ahead annotation. Any client can write the annotation, so it skips items
// that are no kind.
func announced(app *v1alpha1.Application) []schema.GroupVersionKind {
	var gvks []schema.GroupVersionKind
	for _, text := range strings.Split(app.Annotations[v1alpha1.AnnotationKinds], ",") {
		if gvk, _ := schema.ParseKindArg(text); gvk != nil {
			gvks = append(gvks, *gvk)
		}
	}
	return gvks
}

// kindsAnnotation returns the write-ahead annotation for a set of kinds: a sorted list in the form
// Kind.version.group, which announced parses. Sorted, equal sets cause no write.
func kindsAnnotation(gvks sets.Set[schema.GroupVersionKind]) string {
	texts := make([]string, 0, len(gvks))
	for gvk := range gvks {
		texts = append(texts, gvk.Kind+"."+gvk.Version+"."+gvk.Group)
	}
	slices.Sort(texts)
	return strings.Join(texts, ",")
}
