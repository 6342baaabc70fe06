package connection

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// ReadsAtOnce bounds how many objects are read at the same time.
const ReadsAtOnce = 16

// ServedKinds is what the API server says of the kinds of an Application.
type ServedKinds struct {
	plan.Kinds
	mappings map[schema.GroupKind]cluster.Mapping
	problems map[schema.GroupKind]*plan.Problem
}

// Namespaced implements manifest.Scopes.
func (k *ServedKinds) Namespaced(gk schema.GroupKind) (namespaced, known bool) {
	if mapping, ok := k.mappings[gk]; ok {
		return mapping.Namespaced, true
	}
	return k.Kinds.Namespaced(gk)
}

// Type implements plan.Kinds.
func (k *ServedKinds) Type(gvk schema.GroupVersionKind) *kinds.Node {
	if mapping, ok := k.mappings[gvk.GroupKind()]; ok && mapping.Resource.Version == gvk.Version {
		return mapping.Type
	}
	return k.Kinds.Type(gvk)
}

// decide reads the live objects of an Application, as the user may, and decides
// about it as the controller does. unreadable are the objects that could not be
// read: nothing can be said of them.
func (c *Cluster) decide(ctx context.Context, app files.Subject, now time.Time) (d files.Decision, unreadable error) {
	app, made := app.Translated(ctx, c.Reader(app.Namespace), !app.NewSource)
	known := app.With(made).Application
	served := c.LookUp(ctx, known)
	live, blocked, unreadable := c.readAll(ctx, known, served)
	in := plan.Input{Application: app.Application, Live: live, Blocked: blocked, Kinds: served, Source: made, Memory: app.Memory(), Now: now}
	d = files.Decision{Subject: app, Live: live, Kinds: served}
	if app.DeletionTimestamp != nil {
		d.Plan = plan.Retire(in)
		return d, unreadable
	}
	d.Plan = plan.Decide(in)
	d.Faults = slices.Concat(plan.Faults(in), app.SourceFaults(made))
	return d, unreadable
}

// LookUp asks where the kinds of the manifests and of the inventory are served.
func (c *Cluster) LookUp(ctx context.Context, app *v1alpha1.Application) *ServedKinds {
	k := &ServedKinds{
		Kinds: plan.Offline(), mappings: map[schema.GroupKind]cluster.Mapping{}, problems: map[schema.GroupKind]*plan.Problem{},
	}
	for _, gvk := range kindsIn(app) {
		if _, done := k.mappings[gvk.GroupKind()]; done || k.problems[gvk.GroupKind()] != nil {
			continue
		}
		mapping, err := c.Kinds.Mapping(ctx, gvk)
		switch {
		case err == nil:
			k.mappings[gvk.GroupKind()] = mapping
		case errors.Is(err, cluster.ErrKindUnknown):
			k.problems[gvk.GroupKind()] = &plan.Problem{
				Reason: v1alpha1.ReasonKindUnknown, Message: err.Error() + "; its resources wait for it" + c.nearest(gvk),
			}
		default:
			k.problems[gvk.GroupKind()] = &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: err.Error()}
		}
	}
	return k
}

// Unknown are messages about kinds that nothing serves and that the Application does
// not define itself: most often their names are mistyped.
func (k *ServedKinds) Unknown(app *v1alpha1.Application) []string {
	var messages []string
	for gk, problem := range k.problems {
		if problem.Reason == v1alpha1.ReasonKindUnknown && !defines(app, gk) {
			messages = append(messages, problem.Message)
		}
	}
	slices.Sort(messages)
	return messages
}

// defines tells whether the definition of a kind is among the manifests.
func defines(app *v1alpha1.Application, gk schema.GroupKind) bool {
	return slices.ContainsFunc(app.Spec.Manifest, func(item runtime.RawExtension) bool {
		var d struct {
			Kind string
			Spec struct {
				Group string
				Names struct{ Kind string }
			}
		}
		err := json.Unmarshal(item.Raw, &d)
		return err == nil && d.Kind == "CustomResourceDefinition" && d.Spec.Group == gk.Group && d.Spec.Names.Kind == gk.Kind
	})
}

// nearest suggests the kind that one which is not served may be.
func (c *Cluster) nearest(gvk schema.GroupVersionKind) string {
	var kinds []string
	if list, err := c.Discovery.ServerResourcesForGroupVersion(gvk.GroupVersion().String()); err == nil {
		for i := range list.APIResources {
			kinds = append(kinds, list.APIResources[i].Kind)
		}
		return suggest.DidYouMean(gvk.Kind, kinds)
	}
	groups, err := c.Discovery.ServerGroups()
	if err != nil {
		return ""
	}
	var versions []string
	for i := range groups.Groups {
		for _, version := range groups.Groups[i].Versions {
			versions = append(versions, version.GroupVersion)
		}
	}
	return suggest.DidYouMean(gvk.GroupVersion().String(), versions)
}

func kindsIn(app *v1alpha1.Application) []schema.GroupVersionKind {
	var gvks []schema.GroupVersionKind
	for _, item := range app.Spec.Manifest {
		if content, err := manifest.DecodeJSON(item.Raw); err == nil {
			apiVersion, _ := content["apiVersion"].(string)
			kind, _ := content["kind"].(string)
			gvks = append(gvks, schema.FromAPIVersionAndKind(apiVersion, kind))
		}
	}
	for _, r := range app.Status.Resources {
		gvks = append(gvks, schema.FromAPIVersionAndKind(r.APIVersion, r.Kind))
	}
	return gvks
}

// resourcesOf are the identities in the manifests and in the inventory.
func resourcesOf(app *v1alpha1.Application, scopes manifest.Scopes) map[manifest.ID]bool {
	ids := map[manifest.ID]bool{}
	for _, item := range app.Spec.Manifest {
		if content, err := manifest.DecodeJSON(item.Raw); err == nil {
			if id, ok := plan.Identify(content, app.Namespace, scopes); ok {
				ids[id] = true
			}
		}
	}
	for _, r := range app.Status.Resources {
		ids[plan.IDOf(r.ResourceReference)] = true
	}
	return ids
}

// readAll reads all resources of an Application, several at a time.
func (c *Cluster) readAll(ctx context.Context, app *v1alpha1.Application, served *ServedKinds) (live map[manifest.ID]map[string]any, blocked map[manifest.ID]*plan.Problem, unreadable error) {
	live, blocked = map[manifest.ID]map[string]any{}, map[manifest.ID]*plan.Problem{}
	var mu sync.Mutex
	var failed []error
	var reads errgroup.Group
	reads.SetLimit(ReadsAtOnce)
	for id := range resourcesOf(app, served) {
		if problem := served.problems[id.GroupKind()]; problem != nil {
			blocked[id] = problem
			continue
		}
		mapping, known := served.mappings[id.GroupKind()]
		if !known {
			continue // a manifest that cannot be read: the plan says so
		}
		reads.Go(func() error {
			object, err := c.Get(ctx, cluster.Location{ID: id, Mapping: mapping})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case apierrors.IsNotFound(err):
			case err != nil:
				err = c.Explained(err, "get", id.String())
				failed = append(failed, err)
				blocked[id] = &plan.Problem{Reason: files.UnreadableReason, Message: err.Error()}
			default:
				live[id] = object
			}
			return nil
		})
	}
	_ = reads.Wait() // the reads keep their errors
	return live, blocked, errors.Join(sortedErrors(failed)...)
}

// Get reads one object with the user's own rights, managedFields included.
func (c *Cluster) Get(ctx context.Context, at cluster.Location) (map[string]any, error) {
	client := c.Own.Resource(at.Mapping.Resource)
	if at.Mapping.Namespaced {
		object, err := client.Namespace(at.ID.Namespace).Get(ctx, at.ID.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return object.Object, nil
	}
	object, err := client.Get(ctx, at.ID.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return object.Object, nil
}
