package controller

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/plan"
)

// applicationChanged handles an event of the watch of Applications.
func (c *Controller) applicationChanged(before, after *cluster.Object) {
	c.profiles.ApplicationChanged()
	if before != nil && (after == nil || before.UID != after.UID) {
		c.forget(before.UID)
	}
	if after == nil {
		c.queue.Add(before.Key)
		return
	}
	c.noteOrphan(after)
	c.sharers.sees(before, after)
	if !c.slots.has(after.UID) {
		return // the process that holds the slot receives the same event
	}
	if before != nil && before.UID == after.UID && after.Newer(before) && sameDesiredSpec(before, after) {
		return // only the status has changed; an older version is from a backup, and may lack later changes
	}
	c.mu.Lock()
	c.names[after.UID] = after.Key
	c.changed[after.UID] = struct{}{}
	c.stopWaiting(after.Key) // the next reconcile waits again for the kinds that the new version still needs
	c.mu.Unlock()
	c.queue.Add(after.Key)
}

// noteOrphan records an Application whose deletion must orphan its objects, because the garbage collector
// may remove its finalizer before the next reconcile.
func (c *Controller) noteOrphan(o *cluster.Object) {
	if !bytes.Contains(o.JSON(), []byte(`"`+metav1.FinalizerOrphanDependents+`"`)) {
		return // the usual case, without decoding
	}
	if app, err := cluster.DecodeApplication(o.JSON()); err != nil || !plan.RequestsOrphan(app) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.orphans[o.UID] = struct{}{}
}

// sameDesiredSpec reports whether two versions of an Application request the same: they differ only in
// their status or their managedFields. It returns false if after names no slices any more, because another
// client removed the names.
func sameDesiredSpec(before, after *cluster.Object) bool {
	var a, b metav1.PartialObjectMetadata
	recorded := []byte(`"recordSlices"`)
	if before.Generation != after.Generation || bytes.Contains(before.JSON(), recorded) && !bytes.Contains(after.JSON(), recorded) ||
		json.Unmarshal(before.JSON(), &a) != nil || json.Unmarshal(after.JSON(), &b) != nil {
		return false
	}
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) &&
		slices.Equal(a.Finalizers, b.Finalizers) && a.DeletionTimestamp.Equal(b.DeletionTimestamp)
}

// forget drops all state of an Application that was deleted or is no longer selected.
func (c *Controller) forget(uid types.UID) {
	c.sharers.forget(uid)
	c.drop(uid)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.orphans, uid)
}

// drop drops the state that is needed to reconcile an Application.
func (c *Controller) drop(uid types.UID) {
	c.target.drop(uid)
	c.calls.forget(uid)
	c.profiles.Forget(uid)
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.names[uid]
	delete(c.names, uid)
	delete(c.memories, uid)
	c.taken(uid)
	delete(c.arrived, uid)
	c.stopWaiting(key)
}

// stopWaiting ends the waits of an Application for kinds. It also drops the cached results of groups for
// which no Application waits any more. The caller holds the lock.
func (c *Controller) stopWaiting(key types.NamespacedName) {
	for group, keys := range c.waiting {
		if delete(keys, key); len(keys) == 0 {
			delete(c.waiting, group)
			c.target.mapper.ForgetUnserved(group)
		}
	}
}

// forgetMissing drops the state of an Application that was deleted during its reconcile, because the
// reconcile added state again.
func (c *Controller) forgetMissing(key types.NamespacedName) {
	if c.applications.Get(key) != nil {
		return
	}
	var gone []types.UID
	c.mu.Lock()
	for uid, of := range c.names {
		if of == key {
			gone = append(gone, uid)
		}
	}
	c.mu.Unlock()
	for _, uid := range gone {
		c.forget(uid)
	}
}

// ObjectChanged queues an Application after another client has changed one of its objects.
func (c *Controller) ObjectChanged(application types.UID) {
	c.mu.Lock()
	key, known := c.names[application]
	if known {
		c.changed[application] = struct{}{}
	}
	c.mu.Unlock()
	if known {
		c.queue.Add(key)
	}
}

// onUserResolved queues an Application that waited for the name of a user.
func (c *Controller) onUserResolved(application types.UID) {
	c.mu.Lock()
	key, known := c.names[application]
	c.mu.Unlock()
	if known {
		c.queue.Add(key)
	}
}

// profilesChanged queues Applications after the effect of profiles on them has changed.
func (c *Controller) profilesChanged(applications []types.UID) {
	for _, application := range applications {
		c.onUserResolved(application)
	}
}

// onNamespaceCreated queues an Application that waited for a namespace which exists now.
func (c *Controller) onNamespaceCreated(application types.UID) {
	c.mu.Lock()
	c.arrived[application] = struct{}{}
	c.mu.Unlock()
	c.ObjectChanged(application)
}

// WatchChanged queues Applications after the watch of a kind has received its first list, failed or
// recovered.
func (c *Controller) WatchChanged(applications []types.UID) {
	for _, uid := range applications {
		c.ObjectChanged(uid)
	}
}

// KindGone drops the cached results of the group of a kind that the API server no longer serves.
func (c *Controller) KindGone(resource schema.GroupVersionResource) {
	c.target.mapper.Forget(resource.Group)
}

// definitionChanged handles the creation, change or deletion of a CustomResourceDefinition. It queues the
// Applications that use the group or wait for it, because their watches may not notice the change for
// minutes.
func (c *Controller) definitionChanged(group string) {
	users := c.target.changed(group)
	c.templates.DefinitionChanged(group)
	c.profiles.DefinitionChanged(group)
	c.mu.Lock()
	keys := c.waiting[group]
	delete(c.waiting, group)
	if keys == nil {
		keys = map[types.NamespacedName]struct{}{}
	}
	for _, uid := range users {
		if key, known := c.names[uid]; known {
			keys[key] = struct{}{}
			c.changed[uid] = struct{}{}
		}
	}
	c.mu.Unlock()
	for key := range keys {
		// The API server starts or stops serving the kind a moment after the definition has changed.
		c.queue.AddAfter(key, 100*time.Millisecond)
	}
}

// awaitKind queues an Application when a kind of the group changes. It ignores names that cannot be a
// group.
func (c *Controller) awaitKind(group string, key types.NamespacedName) {
	if !cluster.IsGroup(group) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[group] == nil {
		c.waiting[group] = map[types.NamespacedName]struct{}{}
	}
	c.waiting[group][key] = struct{}{}
}
