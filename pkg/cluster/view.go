package cluster

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// View is the objects of one kind where one Application needs it: in all
// namespaces, or in some.
type View struct {
	stores map[string]*Store
	shared []sharedStore
	pulses []*pulse
	// application is whose view it is; others are told of what it writes.
	application types.UID
	watches     *Watches
}

// Silent is since when nothing has been heard of these objects, no list, no event and
// no bookmark, and why: what is in the view may not be so any more. There is no error
// if that is not too long, or if the API server cannot be reached at all.
func (v *View) Silent(now time.Time) (since time.Time, err error) {
	for _, p := range v.pulses {
		if since, err = p.silent(now); err != nil {
			return since, err
		}
	}
	return since, nil
}

// Ready reports whether the first lists are complete.
func (v *View) Ready() bool {
	for _, store := range v.stores {
		if !store.Ready() {
			return false
		}
	}
	return true
}

// Contents is Store.Contents.
func (v *View) Contents(application types.UID) map[types.NamespacedName]map[string]any {
	contents := map[types.NamespacedName]map[string]any{}
	for _, store := range v.stores {
		maps.Copy(contents, store.Contents(application))
	}
	return contents
}

// Ended is Store.Ended.
func (v *View) Ended(application types.UID) (jobs []*Object) {
	for _, store := range v.stores {
		jobs = append(jobs, store.Ended(application)...)
	}
	return jobs
}

// Written is Store.Written.
func (v *View) Written(application types.UID) map[types.NamespacedName]Written {
	var all map[types.NamespacedName]Written
	for _, store := range v.stores {
		written := store.Written(application)
		if all == nil {
			all = written
			continue
		}
		maps.Copy(all, written)
	}
	return all
}

// Processed is Store.Processed.
func (v *View) Processed(application types.UID, key types.NamespacedName, at Written) {
	if store := v.at(key.Namespace); store != nil {
		store.Processed(application, key, at)
	}
}

// Wrote is Store.Wrote, and tells the other Applications that look at the object: no watch
// will, for it is known.
func (v *View) Wrote(content map[string]any) {
	u := unstructured.Unstructured{Object: content}
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	owner := types.UID(u.GetLabels()[v1alpha1.LabelApplicationUID])
	if store := v.at(key.Namespace); store != nil && (owner != "" || store.Get(key) != nil) {
		if store.Wrote(content) && owner != "" && owner != v.application {
			v.watches.handler.ObjectChanged(owner)
		}
	}
	for _, s := range v.shared {
		if s.mayHave(key) && s.store.Wrote(content) {
			v.watches.tellSharers(s.watched, key, v.application)
		}
	}
}

// Deleted is Store.Deleted.
func (v *View) Deleted(key types.NamespacedName, uid types.UID) {
	if store := v.at(key.Namespace); store != nil {
		store.Deleted(key, uid)
	}
	for _, s := range v.shared {
		if s.keeps(key) {
			s.store.Deleted(key, uid)
			v.watches.tellSharers(s.watched, key, v.application)
		}
	}
}

// at is the store that has the objects of a namespace, if there is one.
func (v *View) at(namespace string) *Store {
	if store := v.stores[""]; store != nil {
		return store
	}
	return v.stores[namespace]
}
