package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// gathered is all that is known before anything is decided.
type gathered struct {
	input  plan.Input
	memory *memory
	writer *cluster.Writer
	kinds  *knownKinds
	// waiting is true until the watches of all kinds have their first list: what
	// is not in a store may exist all the same.
	waiting bool
}

// gather finds the kinds of an Application, sees to it that they are watched,
// and collects the live objects. It sends no request for kinds that are known
// and watched.
func (c *Controller) gather(ctx context.Context, app *v1alpha1.Application) (*gathered, error) {
	now := c.options.Now()
	m := c.memoryOf(app)
	g := &gathered{memory: m, kinds: c.lookUp(ctx, app)}
	account := app.Spec.ServiceAccountName
	if account == "" {
		account = c.options.DefaultServiceAccount
	}
	var err error
	if g.writer, err = c.client.As(app.Namespace, account); err != nil {
		return nil, err
	}
	c.watches.Need(app.UID, g.kinds.resources())
	g.input = plan.Input{
		Application: app, Kinds: g.kinds, Memory: &m.plan, Rules: c.options.Rules, Now: now,
		Live: map[manifest.ID]map[string]any{}, Blocked: m.blocked(now),
	}
	c.collect(app, g)
	g.addFound(now)
	if g.waiting {
		return g, nil
	}
	g.block()
	c.addUnwatched(ctx, g)
	return g, nil
}

// asReported is the input with the status as it will be when the postponed
// report is written.
func (g *gathered) asReported() plan.Input {
	if g.memory.postponed == nil {
		return g.input
	}
	input, app := g.input, *g.input.Application
	app.Status = g.memory.postponed.status
	input.Application = &app
	return input
}

// collect takes the objects with the Application's label from the stores.
func (c *Controller) collect(app *v1alpha1.Application, g *gathered) {
	for gk, kind := range g.kinds.known {
		if kind.problem != nil {
			continue // it is not watched
		}
		store, err := c.watches.Store(kind.Resource)
		switch {
		case err != nil && !store.Ready():
			kind.problem = watchProblem(gk, kind.Resource, err)
		case store == nil || !store.Ready():
			g.waiting = true
		default:
			for _, o := range store.Of(app.UID) {
				g.input.Live[idOf(gk, o.Key)] = o.Content()
			}
		}
	}
}

func idOf(gk schema.GroupKind, key types.NamespacedName) manifest.ID {
	return manifest.ID{Group: gk.Group, Kind: gk.Kind, Namespace: key.Namespace, Name: key.Name}
}

// addFound adds the objects that were found outside of any watch.
func (g *gathered) addFound(now time.Time) {
	for id, f := range g.memory.found {
		if _, watched := g.input.Live[id]; watched || !now.Before(f.until) {
			delete(g.memory.found, id)
			continue
		}
		g.input.Live[id] = f.object
	}
}

// addUnwatched reads what is on record, is no longer desired and is in no store.
// An object that has lost our label is not gone until a read says so.
func (c *Controller) addUnwatched(ctx context.Context, g *gathered) {
	app := g.input.Application
	var desired map[manifest.ID]bool
	for _, status := range app.Status.Resources {
		id := plan.IDOf(status.ResourceReference)
		if g.input.Live[id] != nil || g.input.Blocked[id] != nil || status.UID == "" {
			continue
		}
		if desired == nil {
			desired = desiredIDs(app, g.kinds)
		}
		if desired[id] && app.DeletionTimestamp == nil {
			continue // to be created, and found if it exists
		}
		kind, ok := g.kinds.known[id.GroupKind()]
		if !ok || kind.problem != nil {
			continue
		}
		if g.memory.gone[status.UID] {
			continue
		}
		object, err := g.writer.Get(ctx, cluster.Location{ID: id, Mapping: kind.Mapping})
		switch {
		case err == nil:
			g.input.Live[id] = object
		case !apierrors.IsNotFound(err):
			g.input.Blocked[id] = problemOf(err, cluster.Location{ID: id, Mapping: kind.Mapping}, "get", g.writer)
		}
	}
}

// desiredIDs are the identities in the spec, as far as it can be read.
func desiredIDs(app *v1alpha1.Application, scopes manifest.Scopes) map[manifest.ID]bool {
	ids := map[manifest.ID]bool{}
	for _, item := range app.Spec.Manifest {
		content, err := manifest.DecodeJSON(item.Raw)
		if err != nil {
			continue
		}
		if id, ok := plan.Identify(content, app.Namespace, scopes); ok {
			ids[id] = true
		}
	}
	return ids
}

// knownKinds is what is known of the kinds that an Application names.
type knownKinds struct {
	builtin manifest.Scopes
	known   map[schema.GroupKind]*knownKind
}

type knownKind struct {
	cluster.Mapping
	// problem is why nothing can be done with the kind.
	problem *plan.Problem
	// unserved is why nothing of it can be held: the manifest's version of it is
	// not served. The mapping is that of another version then.
	unserved *plan.Problem
}

// Namespaced tells what the API server says of a kind, or what is known of
// built-in ones while it has not said anything.
func (k *knownKinds) Namespaced(gk schema.GroupKind) (namespaced, known bool) {
	if kind, ok := k.known[gk]; ok && kind.Resource.Resource != "" {
		return kind.Mapping.Namespaced, true
	}
	return k.builtin.Namespaced(gk)
}

// Type is the typed schema of a kind, or nil.
func (k *knownKinds) Type(gvk schema.GroupVersionKind) *kinds.Node {
	if kind, ok := k.known[gvk.GroupKind()]; ok && kind.Resource.Version == gvk.Version {
		return kind.Mapping.Type
	}
	return kinds.Builtin(gvk)
}

// resources are the kinds to watch.
func (k *knownKinds) resources() map[schema.GroupVersionResource]struct{} {
	resources := map[schema.GroupVersionResource]struct{}{}
	for _, kind := range k.known {
		if kind.problem == nil {
			resources[kind.Resource] = struct{}{}
		}
	}
	return resources
}

// lookUp finds the kinds of the manifests, of the inventory and of the
// write-ahead annotation.
func (c *Controller) lookUp(ctx context.Context, app *v1alpha1.Application) *knownKinds {
	k := &knownKinds{builtin: manifest.BuiltinScopes(), known: map[schema.GroupKind]*knownKind{}}
	for _, gvk := range kindsOf(app) {
		if _, done := k.known[gvk.GroupKind()]; done {
			continue // in another version: the manifest's comes first
		}
		k.known[gvk.GroupKind()] = c.lookUpOne(ctx, app, gvk)
	}
	return k
}

// lookUpOne finds one kind. In a version that is not served nothing of it can be
// held, but what there is of it can still be found and deleted in another.
func (c *Controller) lookUpOne(ctx context.Context, app *v1alpha1.Application, gvk schema.GroupVersionKind) *knownKind {
	kind := &knownKind{}
	var err error
	kind.Mapping, err = c.mapper.Mapping(ctx, gvk)
	if err != nil || !kind.Watchable {
		c.awaitKind(gvk.Group, types.NamespacedName{Namespace: app.Namespace, Name: app.Name})
	}
	if errors.Is(err, cluster.ErrKindUnknown) {
		if kind.Mapping, err = c.mapper.AnyVersion(ctx, gvk.GroupKind()); err == nil {
			kind.unserved = unknownKind(gvk)
		}
	}
	switch {
	case errors.Is(err, cluster.ErrKindUnknown):
		kind.problem = unknownKind(gvk)
	case err != nil:
		kind.problem = &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: err.Error(), RetryAfter: 2 * time.Second}
	case !kind.Watchable:
		kind.problem = &plan.Problem{
			Reason: v1alpha1.ReasonKindUnsupported, Stalled: true,
			Message: fmt.Sprintf("%s in %s cannot be listed and watched, so nothing of it can be held: take it out of the manifests", gvk.Kind, gvk.GroupVersion()),
		}
	}
	return kind
}

func unknownKind(gvk schema.GroupVersionKind) *plan.Problem {
	return &plan.Problem{
		Reason:  v1alpha1.ReasonKindUnknown,
		Message: fmt.Sprintf("%s in %s is not served by the API server; its resources wait for it", gvk.Kind, gvk.GroupVersion()),
		// The definition's watch is faster; this is for the case that the
		// controller may not watch definitions.
		RetryAfter: 30 * time.Second,
	}
}

// kindsOf are the kinds that an Application may have objects of: of its
// manifests first, in the version that they use.
func kindsOf(app *v1alpha1.Application) []schema.GroupVersionKind {
	var gvks []schema.GroupVersionKind
	add := func(apiVersion, kind string) {
		gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
		if kind != "" && apiVersion != "" && !slices.Contains(gvks, gvk) {
			gvks = append(gvks, gvk)
		}
	}
	for _, item := range app.Spec.Manifest {
		content, err := manifest.DecodeJSON(item.Raw)
		if err != nil {
			continue
		}
		apiVersion, _ := content["apiVersion"].(string)
		kind, _ := content["kind"].(string)
		add(apiVersion, kind)
	}
	for _, r := range app.Status.Resources {
		add(r.APIVersion, r.Kind)
	}
	for _, text := range strings.Split(app.Annotations[v1alpha1.AnnotationKinds], ",") {
		if gvk, _ := schema.ParseKindArg(text); gvk != nil {
			add(gvk.GroupVersion().String(), gvk.Kind)
		}
	}
	return gvks
}

// kindsAnnotation is the write-ahead inventory of a set of kinds.
func kindsAnnotation(gvks map[schema.GroupVersionKind]struct{}) string {
	texts := make([]string, 0, len(gvks))
	for gvk := range maps.Keys(gvks) {
		texts = append(texts, gvk.Kind+"."+gvk.Version+"."+gvk.Group)
	}
	slices.Sort(texts)
	return strings.Join(texts, ",")
}

// block adds the problems of kinds to all their resources.
func (g *gathered) block() {
	app := g.input.Application
	var desired map[manifest.ID]bool
	for gk, kind := range g.kinds.known {
		if kind.problem == nil && kind.unserved == nil {
			continue
		}
		if desired == nil {
			desired = desiredIDs(app, g.kinds)
		}
		for id := range desired {
			if id.GroupKind() == gk && app.DeletionTimestamp == nil {
				g.input.Blocked[id] = cmp.Or(kind.problem, kind.unserved)
			}
		}
		for _, status := range app.Status.Resources {
			if id := plan.IDOf(status.ResourceReference); id.GroupKind() == gk && kind.problem != nil {
				g.input.Blocked[id] = kind.problem
			}
		}
	}
}
