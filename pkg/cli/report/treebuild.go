package report

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

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
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// Branch is an object with the objects that it owns. The root is the Application.
type Branch struct {
	Resource plan.ViewResource `json:"resource" yaml:"resource"`
	// Health is that of the object; for the root, Ready or "Not ready: REASON".
	Health   string    `json:"health" yaml:"health"`
	Message  string    `json:"message,omitempty" yaml:"message,omitempty"`
	Created  string    `json:"created,omitempty" yaml:"created,omitempty"`
	Children []*Branch `json:"children,omitempty" yaml:"children,omitempty"`

	// name is the name for the text, without the namespace of the Application.
	name    string
	created time.Time
}

// TreeView is the output of `tree -o json`.
type TreeView struct {
	Type   `yaml:",inline"`
	Branch `yaml:",inline"`
}

// View returns the tree in the form that is printed for programs.
func (b *Branch) View() TreeView {
	return TreeView{Type{v1alpha1.GroupVersion.String(), "ApplicationTree"}, *b}
}

// Names returns the names of the branch and of all below it, in the format of `kubectl get -o name`:
//
//	application.holdfast.dev/web
//	service/web
//	deployment.apps/web
func (b *Branch) Names() []string {
	gv, _ := schema.ParseGroupVersion(b.Resource.APIVersion)
	names := []string{strings.TrimSuffix(strings.ToLower(b.Resource.Kind)+"."+gv.Group, ".") + "/" + b.Resource.Name}
	for _, child := range b.Children {
		names = append(names, child.Names()...)
	}
	return names
}

// newBranch returns a branch without children, and with unknown health. home is the namespace that its name omits.
func newBranch(resource plan.ViewResource, home string, created metav1.Time) *Branch {
	return &Branch{Resource: resource, name: files.NameOf(ResourceID(resource), home), Health: "Unknown", Created: timeText(created), created: created.Time}
}

// ResourceID returns the identity of a resource in a view. A malformed apiVersion has no group.
func ResourceID(r plan.ViewResource) manifest.ID {
	gv, _ := schema.ParseGroupVersion(r.APIVersion)
	return manifest.ID{Group: gv.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// TreeOf returns an Application with its resources and the objects that they own, in the namespaces of the
// resources. It leaves out kinds that cannot be listed, and returns a warning for them. It does not find objects in
// other namespaces, such as those that a cluster-scoped resource owns.
//
// It sends one list of metadata for each kind and namespace, and one read for each owned object.
func TreeOf(ctx context.Context, c *connection.Cluster, d files.Decision) (*Branch, []string) {
	ready := connection.ReadyIn(d.Application)
	root := newBranch(plan.ViewResource{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind, Namespace: d.Namespace, Name: d.Name}, "", d.CreationTimestamp)
	if root.Health = "Ready"; ready.Status != "True" {
		root.Health, root.Message = "Not ready: "+ready.Reason, ready.Message
	}
	view := StatusOf(d)
	namespaces := map[string]bool{}
	byUID := map[types.UID]*Branch{}
	for _, r := range view.Resources {
		u := unstructured.Unstructured{Object: d.Live[r.id]}
		b := newBranch(r.Resource, d.Namespace, u.GetCreationTimestamp())
		b.Health, b.Message = r.Health, r.Message
		// Owned objects refer to the UID of a live object.
		if u.Object != nil {
			byUID[u.GetUID()] = b
			if r.id.Namespace != "" {
				namespaces[r.id.Namespace] = true
			}
		}
		root.Children = append(root.Children, b)
	}
	var warnings []string
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		objects, problems := owned(ctx, c, namespace)
		warnings = append(warnings, problems...)
		grow(ctx, c, d.Application, byUID, objects)
	}
	return root, warnings
}

// ownedObject is an object that has an owner.
type ownedObject struct {
	resource schema.GroupVersionResource
	metav1.PartialObjectMetadata
}

// grow adds objects below their owners, generation by generation. An object with several owners is added once, so
// cycles end. It reads each added object, and records it in byUID.
func grow(ctx context.Context, c *connection.Cluster, app *v1alpha1.Application, byUID map[types.UID]*Branch, objects []ownedObject) {
	// The objects are sorted by name, so an owner can follow the objects that it owns.
	for grown := true; grown; {
		grown = false
		for _, o := range objects {
			if byUID[o.UID] != nil {
				continue
			}
			for _, owner := range o.OwnerReferences {
				if parent := byUID[owner.UID]; parent != nil {
					b := branchOf(ctx, c, app, o)
					byUID[o.UID], grown = b, true
					parent.Children = append(parent.Children, b)
					break
				}
			}
		}
	}
}

// branchOf reads an object, and returns a branch with its health.
func branchOf(ctx context.Context, c *connection.Cluster, app *v1alpha1.Application, o ownedObject) *Branch {
	b := newBranch(plan.ViewResource{APIVersion: o.resource.GroupVersion().String(), Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}, app.Namespace, o.CreationTimestamp)
	live, err := c.Own.Resource(o.resource).Namespace(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	if err != nil {
		b.Message = c.Explained(err, "get", b.name).Error()
		return b
	}
	if b.Health, b.Message = plan.Health(app, live.Object); b.Health == "Current" {
		b.Message = ""
	}
	return b
}

// owned returns the objects of a namespace that have an owner, of all kinds that can be listed, sorted by kind and
// name. It transfers only metadata.
func owned(ctx context.Context, c *connection.Cluster, namespace string) (objects []ownedObject, warnings []string) {
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
					objects = append(objects, ownedObject{resource, item})
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
	slices.SortFunc(objects, func(a, b ownedObject) int {
		return strings.Compare(a.Kind+"/"+a.Name, b.Kind+"/"+b.Name)
	})
	return objects, warnings
}
