package report

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/health"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// AddOwned adds the objects that the resources own, in the namespaces of the resources. It leaves out kinds that cannot
// be listed, and returns a warning for them. It does not find objects in other namespaces, such as those that a
// cluster-scoped resource owns.
//
// It sends one list of metadata for each kind and namespace, and one read for each owned object.
func (v *StatusView) AddOwned(ctx context.Context, c *connection.Cluster, d files.Decision) (warnings []string) {
	namespaces := map[string]bool{}
	owners := map[types.UID]*[]*OwnedObject{}
	for i := range v.Resources {
		r := &v.Resources[i]
		live := unstructured.Unstructured{Object: d.Live[r.id]}
		if live.Object == nil { // owned objects refer to the UID of a live object
			continue
		}
		owners[live.GetUID()] = &r.Owned
		if r.id.Namespace != "" {
			namespaces[r.id.Namespace] = true
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		objects, problems := owned(ctx, c, namespace)
		warnings = append(warnings, problems...)
		addOwned(ctx, c, d.Application, owners, objects)
	}
	return warnings
}

// ownedMetadata is the metadata of an object that has an owner.
type ownedMetadata struct {
	resource schema.GroupVersionResource
	metav1.PartialObjectMetadata
}

// addOwned adds objects to the lists of their owners, generation by generation, and reads each of them. An object with
// several owners is added once, so cycles end.
func addOwned(ctx context.Context, c *connection.Cluster, app *v1alpha1.Application, owners map[types.UID]*[]*OwnedObject, objects []ownedMetadata) {
	var reads errgroup.Group
	reads.SetLimit(reconcile.ReadsAtOnce)
	// The objects are sorted by name, so an owner can follow the objects that it owns.
	for grown := true; grown; {
		grown = false
		for _, o := range objects {
			if owners[o.UID] != nil {
				continue
			}
			for _, reference := range o.OwnerReferences {
				list := owners[reference.UID]
				if list == nil {
					continue
				}
				added := &OwnedObject{
					Resource: explain.ViewResource{APIVersion: o.resource.GroupVersion().String(), Kind: o.Kind, Namespace: o.Namespace, Name: o.Name},
					Created:  timeText(o.CreationTimestamp),
				}
				owners[o.UID], grown = &added.Owned, true
				*list = append(*list, added)
				reads.Go(func() error {
					added.addHealth(ctx, c, app, o.resource)
					return nil
				})
				break
			}
		}
	}
	_ = reads.Wait() // the errors are messages of the objects
}

// addHealth reads an object, and adds its health. It adds the error instead if the object cannot be read.
func (o *OwnedObject) addHealth(ctx context.Context, c *connection.Cluster, app *v1alpha1.Application, resource schema.GroupVersionResource) {
	live, err := c.Own.Resource(resource).Namespace(o.Resource.Namespace).Get(ctx, o.Resource.Name, metav1.GetOptions{})
	if err != nil {
		o.Health, o.Message = health.Unknown, c.Explained(err, "get", files.NameOf(ResourceID(o.Resource), app.Namespace)).Error()
		return
	}
	if o.Health, o.Message = health.Compute(app, live.Object); o.Health == health.Current {
		o.Message = ""
	}
}

// owned returns the objects of a namespace that have an owner, of all kinds that can be listed, sorted by kind and
// name. It transfers only metadata.
func owned(ctx context.Context, c *connection.Cluster, namespace string) (objects []ownedMetadata, warnings []string) {
	lists, err := discovery.ServerPreferredNamespacedResources(c.Discovery)
	if err != nil {
		warnings = append(warnings, "the list of kinds is incomplete: "+err.Error())
	}
	var mu sync.Mutex
	var refused, failed []string
	var reads errgroup.Group
	reads.SetLimit(reconcile.ReadsAtOnce)
	for gv, r := range connection.Resources(lists, "list") {
		// There are too many Events, and metrics have no owners.
		if r.Kind == "Event" || gv.Group == "metrics.k8s.io" {
			continue
		}
		reads.Go(func() error {
			resource := gv.WithResource(r.Name)
			list, err := c.Metadata.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case apierrors.IsForbidden(err):
				refused = append(refused, resource.GroupResource().String())
				return nil
			case err != nil:
				failed = append(failed, c.Explained(err, "list", resource.GroupResource().String()+" in the namespace "+namespace).Error())
				return nil
			}
			for _, item := range list.Items {
				if len(item.OwnerReferences) > 0 {
					item.Kind = r.Kind
					objects = append(objects, ownedMetadata{resource, item})
				}
			}
			return nil
		})
	}
	_ = reads.Wait() // the errors are recorded in refused and failed
	slices.Sort(failed)
	for _, text := range slices.Compact(failed) { // an API server that cannot be reached fails all lists
		warnings = append(warnings, "not shown: "+text)
	}
	if len(refused) > 0 {
		slices.Sort(refused)
		warnings = append(warnings, fmt.Sprintf("not shown, because you cannot list them in the namespace %s: %s", namespace, strings.Join(refused, ", ")))
	}
	slices.SortFunc(objects, func(a, b ownedMetadata) int {
		return strings.Compare(a.Kind+"/"+a.Name, b.Kind+"/"+b.Name)
	})
	return objects, warnings
}
