package reconcile_test

import (
	"fmt"
	"slices"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// checkAtRest compares the live state with the desired state.
func (c *cluster) checkAtRest() {
	c.r.Helper()
	c.decided = c.wanted
	listed := map[manifest.ID]string{}
	for _, r := range c.status().Resources {
		listed[manifest.IDFromReference(r.ResourceReference)] = string(r.UID)
	}
	held := true
	for _, id := range c.names {
		d, live := c.wanted.resources[id], c.server.objects[id]
		if d == nil {
			continue
		}
		if uid, has := listed[id]; !has || live == nil || uid != uidOf(live) && claim.IsTrackedBy(c.app, id, live) {
			c.fail("%s should be there and in the inventory: %s", id, jsonOf(live))
		}
		if claim.IsTrackedBy(c.app, id, live) {
			c.checkHeld(id, d, live)
			continue
		}
		held = false // another client owns it
		if c.mayAdopt(live) || c.isOurs(id, live) && listed[id] == uidOf(live) {
			c.fail("%s should be ours: %s", id, jsonOf(live))
		}
	}
	if condition := c.held(); (condition == "True") != held || len(c.status().Contested) > 0 {
		c.fail("Held is %s and should be %t: %s", condition, held, jsonOf(c.app.Status.Conditions))
	}
	for _, id := range c.names {
		live := c.server.objects[id]
		_, has := listed[id]
		marked := live != nil && claim.IsTrackedBy(c.app, id, live)
		if c.wanted.resources[id] == nil && (marked && !has || held && has) { // objects are deleted after all others are in sync
			c.fail("%s is not desired (inventory: %t): %s", id, has, jsonOf(live))
		}
	}
}

func (c *cluster) held() string {
	for _, condition := range c.app.Status.Conditions {
		if condition.Type == v1alpha1.ConditionHeld {
			return string(condition.Status)
		}
	}
	return "unknown"
}

func (c *cluster) checkHeld(id manifest.ID, d *desire, live map[string]any) {
	c.r.Helper()
	object := folded(d.manifest)
	if d.entry != nil {
		c.holds(short(id), "", folded(d.entry), object, live)
		return
	}
	parsed := manifest.Object{ID: id, APIVersion: d.manifest["apiVersion"].(string), Content: object}
	c.holds(short(id), "", observer.DefaultEntry(parsed).Raw(), object, live)
	if why := c.special[uidOf(live)]; why != "" {
		return
	}
	fresh := newCluster(c.t, c.r, c.server.Server, []manifest.ID{id})
	fresh.submit(desires{resources: map[manifest.ID]*desire{id: d}})
	fresh.rest()
	got, want := c.asFresh(live), c.asFresh(fresh.server.objects[id])
	if !observer.Equal(got, want) {
		c.fail("%s is not as it would be if it was made today:\nit is     %s\nit would be %s", id, jsonOf(got), jsonOf(want))
	}
}

// asFresh returns an object without the fields that differ when it is recreated.
func (c *cluster) asFresh(object map[string]any) map[string]any {
	object = unmarked(object)
	metadata := object["metadata"].(map[string]any)
	delete(metadata, "uid")
	delete(metadata, "finalizers")
	if spec, is := object["spec"].(map[string]any); is {
		delete(spec, "vip")
		object["spec"] = c.server.Comparable("m", spec)
	}
	if m, _ := object["data"].(map[string]any); len(m) == 0 {
		delete(object, "data")
	}
	return object
}

// holds fails unless a live object has all observed values of a manifest, in the form in which the API
// server stores them.
func (c *cluster) holds(path, name string, node, want, live any) {
	c.r.Helper()
	switch node := node.(type) {
	case map[string]any:
		wanted, isMap := want.(map[string]any)
		there, _ := live.(map[string]any)
		if !isMap {
			c.fail("%s is %s", path, jsonOf(want))
		}
		for _, field := range keys(node) {
			child := node[field]
			value, isSet := wanted[field]
			if !isSet || field == "apiVersion" || field == "kind" {
				continue
			}
			c.holds(path+"."+field, field, child, value, there[field])
		}
	case []any:
		c.holdsList(path, name, node, listOf(want), listOf(live))
	default:
		if name == "" {
			name = "element"
		}
		if spec, isMap := live.(map[string]any); isMap && name == "spec" && get(map[string]any{"spec": want}, "spec", "vip") == nil {
			live = without(spec, "vip") // the API server's own
		}
		made := map[string]any{name: observer.Copy(want)}
		c.server.Serve(made)
		made = observertest.WithoutEmptyLists(made).(map[string]any)
		if !observer.Equal(made[name], live) {
			c.fail("%s should be %s and is %s", path, jsonOf(want), jsonOf(live))
		}
	}
}

func (c *cluster) holdsList(path, name string, node, want, live []any) {
	c.r.Helper()
	control := node[len(node)-1].(map[string]any)
	keyed := name[0] == 'k' && (c.server.Typed || control[observer.KeyMapKeys] != nil)
	for i, element := range node[:len(node)-1] {
		if i >= len(want) || empty(element) {
			continue
		}
		at := i
		if keyed || name[0] == 's' && c.server.Typed {
			at = slices.IndexFunc(live, func(e any) bool { return observertest.IdentityOf(e) == observertest.IdentityOf(want[i]) })
		}
		if at < 0 || at >= len(live) {
			c.fail("%s lacks %s: %s", path, jsonOf(want[i]), jsonOf(live))
		}
		c.holds(fmt.Sprintf("%s[%d]", path, i), "", element, want[i], live[at])
	}
}

// empty reports whether a schema observes nothing, and is only a placeholder in a list.
func empty(node any) bool {
	switch node := node.(type) {
	case map[string]any:
		for _, child := range node {
			if !empty(child) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(node[:len(node)-1], func(child any) bool { return !empty(child) })
	}
	return false
}

// checkGone checks that a deleted Application has left no objects.
func (c *cluster) checkGone() {
	c.r.Helper()
	if !c.over {
		c.fail("the Application is not gone: %s", jsonOf(c.app.Status.Conditions))
	}
	for _, id := range c.server.ids() {
		if object := c.server.objects[id]; claim.IsTrackedBy(c.app, id, object) {
			c.fail("%s is left: %s", id, jsonOf(object))
		}
	}
}
