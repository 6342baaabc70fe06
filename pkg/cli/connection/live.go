package connection

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/suggestion"
)

// LiveFlags contains the flags that select live objects, by name or by their labels.
type LiveFlags struct {
	// Names are pairs of a kind, in any form that kubectl accepts, and a name.
	Names [][2]string // kind and name
	// Selector is the value of -l; empty for none.
	Selector string
}

// Add adds the flag for labels.
func (f *LiveFlags) Add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.Selector, "selector", "l", "", "`LABELS`: objects of the namespace with these labels, for example app=web, except those that another object controls")
}

// Named adds the objects that arguments name as KIND/NAME. It returns an error for an invalid argument, or
// if the labels of -l are invalid.
func (f *LiveFlags) Named(args []string) error {
	for _, arg := range args {
		kind, name, both := strings.Cut(arg, "/")
		if !both || kind == "" || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("%q is not KIND/NAME, for example deployment/web", arg)
		}
		f.Names = append(f.Names, [2]string{kind, name})
	}
	if _, err := labels.Parse(f.Selector); err != nil {
		return fmt.Errorf("-l needs labels, such as app=web: %w", err)
	}
	return nil
}

// Given reports whether any object is selected.
func (f LiveFlags) Given() bool { return len(f.Names) > 0 || f.Selector != "" }

// LiveObject is an object of the cluster.
type LiveObject struct {
	cluster.Location

	Object map[string]any
}

// Suggest returns which fields of the object to hold. It is computed from managedFields, without a
// request.
func (o LiveObject) Suggest() suggestion.Proposal { return suggestion.For(o.Object, o.Mapping.Type) }

// Live reads the objects that flags and the manifests of files name, and the objects with the labels. An
// object that is named and has the labels is returned once. It is an error if a named object does not
// exist. notes list the objects with the labels that are left out, and the kinds that the user may not
// list.
//
//	holdfast submit shop --from-live deploy/web -l app=shop -f more.yaml
//	Names      {"deploy", "web"}
//	Selector   app=shop
//	documents  those of more.yaml, whose values are not used
func (c *Cluster) Live(ctx context.Context, connection Flags, what LiveFlags, documents []manifest.Document) (found []LiveObject, notes []string, err error) {
	named, err := c.named(ctx, connection, what.Names, documents)
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	add := func(o LiveObject) {
		if uid := manifest.NestedString(o.Object, "metadata", "uid"); !seen[uid] {
			found, seen[uid] = append(found, o), true
		}
	}
	for _, at := range named {
		object, err := c.Get(ctx, at)
		if apierrors.IsNotFound(err) {
			names := namesOf(ctx, c.Metadata.Resource(at.Mapping.Resource).Namespace(at.ID.Namespace))
			return nil, nil, fmt.Errorf("there is no %s%s", at.ID, suggest.DidYouMean(at.ID.Name, names))
		}
		if err != nil {
			return nil, nil, c.Explained(err, "get", at.ID.String())
		}
		add(LiveObject{at, object})
	}
	if what.Selector == "" {
		return found, nil, nil
	}
	selected, notes, err := c.selected(ctx, what.Selector)
	for _, o := range selected {
		add(o)
	}
	return found, notes, err
}

// named returns the locations of objects by their names, and of the manifests in documents. It reads only
// kinds.
func (c *Cluster) named(ctx context.Context, connection Flags, names [][2]string, documents []manifest.Document) ([]cluster.Location, error) {
	var all []cluster.Location
	for _, object := range names {
		kind, name := object[0], object[1]
		gvk, err := connection.KindFor(kind)
		if err != nil {
			return nil, c.unresolved(err, kind)
		}
		mapping, err := c.Kinds.Mapping(ctx, gvk)
		if err != nil {
			return nil, c.Explained(err, "get", kind)
		}
		all = append(all, c.located(manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Name: name}, mapping))
	}
	objects, err := files.Normalized(documents)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		mapping, err := c.Kinds.Mapping(ctx, object.GVK())
		if err != nil {
			return nil, c.Explained(err, "get", object.ID.String())
		}
		all = append(all, c.located(object.ID, mapping))
	}
	return all, nil
}

// located returns the location of an object. Its default namespace is the namespace of the flag or of the
// context.
func (c *Cluster) located(id manifest.ID, mapping cluster.Mapping) cluster.Location {
	switch {
	case !mapping.Namespaced:
		id.Namespace = ""
	case id.Namespace == "":
		id.Namespace = c.Namespace
	}
	return cluster.Location{ID: id, Mapping: mapping}
}

// selected returns the objects of the namespace with the labels, of all kinds that can be held. It sends one list
// request for each kind. Only preferred versions are listed, so that no object is found twice. A group whose
// aggregated API server is unavailable is left out.
func (c *Cluster) selected(ctx context.Context, selector string) (found []LiveObject, notes []string, err error) {
	lists, err := c.Discovery.ServerPreferredNamespacedResources()
	// Discovery returns the other groups if an aggregated API is unavailable.
	if err != nil && len(lists) == 0 {
		return nil, nil, c.Explained(err, "list", "the kinds")
	}
	// Holdfast patches objects.
	for gv, resource := range Resources(lists, "list", "patch") {
		// Events are short-lived, and no user writes them.
		if gv.Group == v1alpha1.GroupVersion.Group || resource.Kind == "Event" {
			continue
		}
		objects, note, err := c.selectedOf(ctx, gv.WithKind(resource.Kind), selector)
		if err != nil {
			return nil, nil, err
		}
		found, notes = append(found, objects...), append(notes, note...)
	}
	return found, notes, nil
}

// selectedOf returns the objects of one kind. It leaves out objects that are being deleted, that have a
// controller, or that only controllers write.
func (c *Cluster) selectedOf(ctx context.Context, gvk schema.GroupVersionKind, selector string) (found []LiveObject, notes []string, err error) {
	mapping, err := c.Kinds.Mapping(ctx, gvk)
	if err != nil {
		return nil, nil, c.Explained(err, "list", gvk.Kind)
	}
	list, err := c.Own.Resource(mapping.Resource).Namespace(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	switch {
	case apierrors.IsForbidden(err):
		return nil, []string{"you may not list " + mapping.Resource.GroupResource().String() + ": they are skipped"}, nil
	// Discovery can list a kind that is not served any more, or that only some versions can list.
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return nil, nil, nil
	case err != nil:
		return nil, nil, c.Explained(err, "list", mapping.Resource.GroupResource().String())
	}
	for i := range list.Items {
		o := LiveObject{c.located(manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Name: list.Items[i].GetName()}, mapping), list.Items[i].Object}
		if why := o.leftOut(); why != "" {
			notes = append(notes, o.ID.String()+" is skipped: "+why)
			continue
		}
		found = append(found, o)
	}
	return found, notes, nil
}

// unresolved returns an error for a kind that is not served, with a similar kind or short name. Other
// errors of the resolution are explained.
//
//	deploymnt  the API server serves no kind "deploymnt": did you mean deployment?
func (c *Cluster) unresolved(err error, kind string) error {
	if !apimeta.IsNoMatchError(err) {
		return c.Explained(err, "get", "the kinds")
	}
	var names []string
	lists, _ := c.Discovery.ServerPreferredResources()
	for _, r := range Resources(lists) {
		names = append(append(names, strings.ToLower(r.Kind)), r.ShortNames...)
	}
	return fmt.Errorf("the API server serves no kind %q%s", kind, suggest.DidYouMean(strings.ToLower(kind), names))
}

// leftOut returns why an object with the labels is not maintained by users; "" if it is.
//
//	Pod of a ReplicaSet                  ReplicaSet web-7d9 controls it
//	ConfigMap kube-root-ca.crt           only controllers write it
//	an object with a deletionTimestamp   it is being deleted
func (o LiveObject) leftOut() string {
	metadata, _ := o.Object["metadata"].(map[string]any)
	switch owner := claim.Controller(o.Object); {
	case owner != "":
		return owner + " controls it"
	case metadata["deletionTimestamp"] != nil:
		return "it is being deleted"
	case o.Suggest().Empty():
		return "only controllers write it"
	}
	return ""
}

// ErrNothingLive is the error if neither names nor labels select an object.
var ErrNothingLive = errors.New("no such objects, or only objects that controllers manage")
