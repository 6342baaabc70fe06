package controller

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/store"
)

// applicationChanged handles an event of the watch of Applications: before is nil for a new one, after for a deleted
// one. It runs on a goroutine of the watch, and must not block. Writes of this process usually cause no event,
// because the store already has them.
//
// An Application that was deleted and created again has another UID: its earlier state is dropped.
func (c *Controller) applicationChanged(before, after *store.Object) {
	c.target.profiles.ApplicationChanged()
	if before != nil && (after == nil || before.UID != after.UID) {
		c.forget(before.UID)
	}
	if after == nil {
		// Its slices may remain, or a custom resource may need the Application again.
		c.registry.queue.Add(before.Key)
		return
	}
	c.registry.noteOrphan(after)
	c.sharers.sees(before, after)
	if before != nil && before.UID == after.UID && after.Newer(before) && sameDesiredSpec(before, after) {
		return // only the status has changed; an older version is from a backup, and may lack later changes
	}
	c.target.waits.end(after.Key) // the next reconcile waits again for the kinds that the new version still needs
	c.registry.add(after)
}

// sameDesiredSpec reports whether two versions of an Application request the same: they differ only in
// their status or their managedFields. It returns false if after names no slices any more, because another
// client removed the names.
func sameDesiredSpec(before, after *store.Object) bool {
	var a, b metav1.PartialObjectMetadata
	// The field is in the status, but without it the inventory is lost.
	recorded := []byte(`"recordSlices"`)
	if before.Generation != after.Generation || bytes.Contains(before.JSON(), recorded) && !bytes.Contains(after.JSON(), recorded) ||
		json.Unmarshal(before.JSON(), &a) != nil || json.Unmarshal(after.JSON(), &b) != nil {
		return false
	}
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) &&
		slices.Equal(a.Finalizers, b.Finalizers) && a.DeletionTimestamp.Equal(b.DeletionTimestamp)
}

// forget drops all state of an Application that was deleted or is no longer selected. A reconcile of it may be
// running: see forgetMissing.
func (c *Controller) forget(uid types.UID) {
	c.sharers.forget(uid)
	c.target.drop(uid)
	c.calls.forget(uid)
	c.target.waits.end(c.registry.drop(uid))
}

// forgetMissing drops the state of an Application that was deleted or replaced during its reconcile, because the
// reconcile added state again. The deletion may have dropped its name already, so the waits end by key.
func (c *Controller) forgetMissing(key types.NamespacedName, uid types.UID) {
	if object := c.applications.store.Get(key); object == nil || object.UID != uid {
		c.forget(uid)
		c.target.waits.end(key)
	}
}

// watchHandler handles the events of the watches of objects. It implements cluster.Handler.
type watchHandler struct {
	*registry

	mapper *cluster.Mapper
}

// KindGone drops the cached results of the group of a kind that the API server no longer serves.
func (h watchHandler) KindGone(resource schema.GroupVersionResource) {
	h.mapper.Forget(resource.Group)
}

// definitionChanged handles the creation, change or deletion of a CustomResourceDefinition. It queues the
// Applications that use the group or wait for it, because their watches may not notice the change for
// minutes.
func (c *Controller) definitionChanged(definition schema.GroupResource) {
	users, waiting := c.target.changed(definition)
	c.templates.DefinitionChanged(definition.Group)
	c.registry.addLater(users, waiting)
}
