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

// applicationChanged is called by the watch of Applications.
func (c *Controller) applicationChanged(before, after *cluster.Object) {
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
		return // who holds it sees the same
	}
	if before != nil && before.UID == after.UID && after.Newer(before) && sameDesiredSpec(before, after) {
		return // a status; an older one is from a backup, and may lack what was done since
	}
	c.mu.Lock()
	c.names[after.UID] = after.Key
	c.changed[after.UID] = struct{}{}
	c.stopWaiting(after.Key) // for what the new one does not have; the rest is awaited again
	c.mu.Unlock()
	c.queue.Add(after.Key)
}

// noteOrphan remembers that the objects of an Application are to stay: the garbage
// collector may take its finalizer off before anybody looks.
func (c *Controller) noteOrphan(o *cluster.Object) {
	if !bytes.Contains(o.JSON(), []byte(`"`+metav1.FinalizerOrphanDependents+`"`)) {
		return // most often: nothing needs to be decoded
	}
	if app, err := cluster.DecodeApplication(o.JSON()); err != nil || !plan.RequestsOrphan(app) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.orphans[o.UID] = struct{}{}
}

// sameDesiredSpec reports whether two versions of an Application ask for the same: they
// differ in their status, or in who manages what. A record that is in slices no more was
// given up by another client.
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

// forget drops what is known of an Application that is gone, or is not looked at any more.
func (c *Controller) forget(uid types.UID) {
	c.sharers.forget(uid)
	c.drop(uid)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.orphans, uid)
}

// drop drops what is remembered of the work on an Application.
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

// stopWaiting ends the waits of an Application for kinds. Of groups for which nobody
// waits any more nothing is remembered. The lock is held.
func (c *Controller) stopWaiting(key types.NamespacedName) {
	for group, keys := range c.waiting {
		if delete(keys, key); len(keys) == 0 {
			delete(c.waiting, group)
			c.target.mapper.ForgetUnserved(group)
		}
	}
}

// forgetMissing forgets an Application that went while it was being handled, and
// so was remembered again.
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

// ObjectChanged is called when an object has changed by another client.
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

// onUserResolved is called when the name of a user has come that an Application waits for.
func (c *Controller) onUserResolved(application types.UID) {
	c.mu.Lock()
	key, known := c.names[application]
	c.mu.Unlock()
	if known {
		c.queue.Add(key)
	}
}

// profilesChanged is called when it has changed what profiles make of these Applications.
func (c *Controller) profilesChanged(applications []types.UID) {
	for _, application := range applications {
		c.onUserResolved(application)
	}
}

// onNamespaceCreated is called when a namespace is there that an Application waits for.
func (c *Controller) onNamespaceCreated(application types.UID) {
	c.mu.Lock()
	c.arrived[application] = struct{}{}
	c.mu.Unlock()
	c.ObjectChanged(application)
}

// WatchChanged is called when a kind's watch has its first list, fails, or
// works again.
func (c *Controller) WatchChanged(applications []types.UID) {
	for _, uid := range applications {
		c.ObjectChanged(uid)
	}
}

// KindGone is called when the API server no longer serves a kind.
func (c *Controller) KindGone(resource schema.GroupVersionResource) {
	c.target.mapper.Forget(resource.Group)
}

// definitionChanged is called when a custom kind has come, changed or gone. Who
// uses it looks again: its watch may not notice for minutes.
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
		// Served, and not served any more, a moment after its definition says so.
		c.queue.AddAfter(key, 100*time.Millisecond)
	}
}

// awaitKind has an Application handled again when a kind of the group changes. It does
// not wait for what can be no group.
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
