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
	// manifests are those of the Application, as far as they can be read.
	manifests []map[string]any
	// ids are their identities, once somebody has asked.
	ids map[manifest.ID]bool
	// poll is when to look at their source again; zero: never.
	poll time.Time
	// told is true when the status was written before the work was done, untold is
	// why that was not possible.
	told   bool
	untold error
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
	g := &gathered{memory: m}
	var err error
	if g.writer, err = c.writerOf(app); err != nil {
		return nil, err
	}
	source := c.source(ctx, app, g)
	g.kinds = c.lookUp(ctx, app, g.manifests, m.kinds)
	c.watches.Need(app.UID, g.kinds.resources(), namespacesOf(app, g.manifests))
	g.input = plan.Input{
		Application: app, Kinds: g.kinds, Memory: &m.plan, Rules: c.options.Rules, Now: now,
		Live: map[manifest.ID]map[string]any{}, Blocked: m.blocked(now),
		Source: source, Hooks: c.options.Hooks, Callback: c.callback(),
	}
	c.collect(app, g)
	g.addFound(now)
	if g.waiting {
		return g, nil
	}
	g.block()
	return g, c.addUnwatched(ctx, g)
}

// writerOf writes with the rights of the Application's ServiceAccount.
func (c *Controller) writerOf(app *v1alpha1.Application) (*cluster.Writer, error) {
	account := app.Spec.ServiceAccountName
	if account == "" {
		account = c.options.DefaultServiceAccount
	}
	return c.client.As(app.Namespace, account)
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
		store, err := c.watches.Store(app.UID, kind.Resource)
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

// addUnwatched reads what may exist, is no longer desired and is in no store. An object
// that has lost our label is not gone until a read says so; one whose create had no
// answer may be on its way to the watch.
func (c *Controller) addUnwatched(ctx context.Context, g *gathered) error {
	app := g.input.Application
	recorded := map[manifest.ID]bool{}
	for _, status := range app.Status.Resources {
		id := plan.IDOf(status.ResourceReference)
		recorded[id] = true
		existed := status.UID != "" || status.Reason == v1alpha1.ReasonRetrying
		if existed && !g.memory.gone[status.UID] && !g.memory.unsure[id] {
			if problem := c.addLeft(ctx, g, id); problem != nil {
				g.input.Blocked[id] = problem
			}
		}
	}
	for id := range g.memory.unsure {
		problem := c.addLeft(ctx, g, id)
		switch {
		case problem == nil:
		case recorded[id]:
			g.input.Blocked[id] = problem
		default:
			return problem
		}
	}
	return nil
}

// addLeft reads an object unless it is desired, or there is nothing to find out. It
// returns why that is not possible now.
func (c *Controller) addLeft(ctx context.Context, g *gathered, id manifest.ID) *plan.Problem {
	if g.input.Live[id] != nil {
		delete(g.memory.unsure, id)
		return nil
	}
	kind := g.kinds.known[id.GroupKind()]
	if readable := kind != nil && kind.problem == nil; !readable || g.wanted()[id] {
		return nil
	}
	if blocked := g.input.Blocked[id]; blocked != nil {
		return blocked
	}
	at := cluster.Location{ID: id, Mapping: kind.Mapping}
	object, err := g.writer.Get(ctx, at)
	switch {
	case err == nil:
		g.input.Live[id] = object
	case apierrors.IsNotFound(err):
		delete(g.memory.unsure, id)
	default:
		return g.memory.failed(id, problemOf(err, at, "get", g.writer), g.input.Now)
	}
	return nil
}

// wanted are the identities of what is to be created, and so found if it exists.
func (g *gathered) wanted() map[manifest.ID]bool {
	app := g.input.Application
	if g.ids == nil && app.DeletionTimestamp == nil {
		g.ids = desiredIDs(g.manifests, app.Namespace, g.kinds)
	}
	return g.ids
}

// desiredIDs are the identities in the manifests, as far as they can be read.
func desiredIDs(manifests []map[string]any, namespace string, scopes manifest.Scopes) map[manifest.ID]bool {
	ids := map[manifest.ID]bool{}
	for _, content := range manifests {
		if id, ok := plan.Identify(content, namespace, scopes); ok {
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

// resources are the kinds to watch, and whether each is namespaced.
func (k *knownKinds) resources() map[schema.GroupVersionResource]bool {
	resources := map[schema.GroupVersionResource]bool{}
	for _, kind := range k.known {
		if kind.problem == nil {
			resources[kind.Resource] = kind.Mapping.Namespaced
		}
	}
	return resources
}

// lookUp finds the kinds of the manifests, of the inventory, of the write-ahead
// annotation, and more.
func (c *Controller) lookUp(ctx context.Context, app *v1alpha1.Application, manifests []map[string]any, more []schema.GroupVersionKind) *knownKinds {
	k := &knownKinds{builtin: manifest.BuiltinScopes(), known: map[schema.GroupKind]*knownKind{}}
	for _, gvk := range slices.Concat(kindsIn(app, manifests), more) {
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

// kindsOf are the kinds that an Application with spec.manifest may have objects of.
func kindsOf(app *v1alpha1.Application) []schema.GroupVersionKind {
	return kindsIn(app, manifestsOf(app))
}

// kindsIn are the kinds that an Application may have objects of: of its manifests
// first, in the version that they use.
func kindsIn(app *v1alpha1.Application, manifests []map[string]any) []schema.GroupVersionKind {
	var gvks []schema.GroupVersionKind
	add := func(apiVersion, kind string) {
		gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
		if kind != "" && apiVersion != "" && !slices.Contains(gvks, gvk) {
			gvks = append(gvks, gvk)
		}
	}
	for _, content := range manifests {
		apiVersion, _ := content["apiVersion"].(string)
		kind, _ := content["kind"].(string)
		add(apiVersion, kind)
	}
	for _, r := range app.Status.Resources {
		add(r.APIVersion, r.Kind)
	}
	for _, gvk := range announced(app) {
		add(gvk.GroupVersion().String(), gvk.Kind)
	}
	return gvks
}

// announced is the write-ahead inventory of kinds.
func announced(app *v1alpha1.Application) []schema.GroupVersionKind {
	var gvks []schema.GroupVersionKind
	for _, text := range strings.Split(app.Annotations[v1alpha1.AnnotationKinds], ",") {
		if gvk, _ := schema.ParseKindArg(text); gvk != nil {
			gvks = append(gvks, *gvk)
		}
	}
	return gvks
}

// unseen is why objects of a kind that was announced, and of which nothing is on record,
// cannot be looked for now; nil if there is no such kind. A process before this one may
// have created them.
func (g *gathered) unseen() *plan.Problem {
	for _, gvk := range announced(g.input.Application) {
		kind := g.kinds.known[gvk.GroupKind()]
		if kind != nil && kind.problem != nil && kind.problem.Reason == v1alpha1.ReasonRetrying {
			return kind.problem
		}
	}
	return nil
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
	for gk, kind := range g.kinds.known {
		if kind.problem == nil && kind.unserved == nil {
			continue
		}
		for id := range g.wanted() {
			if id.GroupKind() == gk {
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
