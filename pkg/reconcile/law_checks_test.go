package reconcile_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// judge checks every write before it is executed. The controller must not write or delete objects that it
// does not own, or write free fields.
func (c *cluster) judge(verb string, id manifest.ID, before, after map[string]any) {
	c.r.Helper()
	c.note("  %s %s %s", verb, short(id), uidOf(before))
	if c.decided.observe {
		c.fail("%s of %s, while it only observes", verb, id)
	}
	d := c.decided.resources[id]
	if verb == "create" {
		if d == nil {
			c.fail("%s is created, but is not desired", id)
		}
		return
	}
	seen := c.seen[id]
	adopts := verb == "patch" && d != nil && (c.mayAdopt(before) || uidOf(seen) == uidOf(before) && c.mayAdopt(seen))
	if !adopts && !c.isOurs(id, before) && (uidOf(seen) != uidOf(before) || !c.isOurs(id, seen)) {
		c.fail("%s of %s, which is not ours: %s", verb, id, jsonOf(before))
	}
	onRecord := func(r v1alpha1.ResourceStatus) bool {
		return manifest.IDFromReference(r.ResourceReference) == id && string(r.UID) == uidOf(before)
	}
	known := claim.IsTrackedBy(c.app, id, before) || slices.ContainsFunc(c.basis.Resources, onRecord)
	switch {
	case !adopts && (d == nil || known), adopts && known && c.isOurs(id, before):
	case get(before, "metadata", "annotations", v1alpha1.AnnotationTrackingID) == claim.TrackingID(c.app, id),
		c.ours[uidOf(before)] && c.special[uidOf(before)] == "":
		// The process died before it recorded the new object, or the object was released.
		c.special[uidOf(before)] = "taken back"
	default:
		c.special[uidOf(before)] = "adopted"
	}
	if verb == "delete" {
		switch {
		case d != nil:
			c.fail("%s is deleted, and is wanted", id)
		case c.special[uidOf(before)] == "adopted":
			c.fail("%s is deleted, and was adopted", id)
		}
		return
	}
	c.note("    to %s", jsonOf(bare(after)))
	was, is := unmarked(before), unmarked(after)
	switch {
	case d == nil:
		c.special[uidOf(before)] = "released"
		if !observer.Equal(was, is) {
			c.fail("%s is released, and more than its marks is written:\n%s\n%s", id, jsonOf(was), jsonOf(is))
		}
	case c.refusedOnce[id] && c.isLast(id, was, is):
	case d.entry != nil:
		c.freeOfUser("", "", folded(d.entry), folded(d.manifest), was, is)
	default:
		c.freeOfDefault("", "", folded(d.manifest), c.ever[id], was, is)
	}
	theirs := c.server.theirs[uidOf(before)]
	c.kept("", theirs, slices.Concat(c.ever[id], []any{d.entryOrNil()}), was, is)
}

// isLast reports whether a patch only sets values of the object's last-applied state.
func (c *cluster) isLast(id manifest.ID, was, is any) bool {
	for _, raw := range c.basis.LastAppliedManifest {
		var last map[string]any
		decode(raw, &last)
		if of, ok := manifest.Identify(last, c.app.Namespace, c.kinds); ok && of == id {
			return becomes(last, was, is)
		}
	}
	return false
}

// becomes reports whether all changes between two states lead to the values of a third one.
func becomes(last, was, is any) bool {
	if observer.Equal(was, is) {
		return true
	}
	before, _ := was.(map[string]any)
	after, ok := is.(map[string]any)
	desired, known := last.(map[string]any)
	if !ok || !known || before == nil {
		return last != nil && observer.Covers(is, last)
	}
	for _, name := range fieldsOf(before, after) {
		if !becomes(desired[name], before[name], after[name]) {
			return false
		}
	}
	return true
}

func (d *desire) entryOrNil() any {
	if d == nil || d.entry == nil {
		return nil
	}
	return folded(d.entry)
}

// isOurs reports whether an object has the tracking metadata of the Application, or has lost it without
// being claimed by another Application.
func (c *cluster) isOurs(id manifest.ID, object map[string]any) bool {
	return claim.IsTrackedBy(c.app, id, object) || c.ours[uidOf(object)] && (labelOf(object) == "" || labelOf(object) == string(c.app.UID))
}

func (c *cluster) mayAdopt(object map[string]any) bool {
	switch c.decided.adoption {
	case "Always":
		return true
	case "IfUnowned":
		return labelOf(object) == "" && get(object, "metadata", "annotations", v1alpha1.AnnotationTrackingID) == nil
	}
	return false
}

// unmarked returns an object without tracking metadata and without its resourceVersion.
func unmarked(object map[string]any) map[string]any {
	object = observer.CopyMap(object)
	metadata := object["metadata"].(map[string]any)
	delete(metadata, "resourceVersion")
	for field, marks := range map[string][]string{
		"labels": {v1alpha1.LabelApplicationUID}, "annotations": {v1alpha1.AnnotationTrackingID, v1alpha1.AnnotationAdopted},
	} {
		m, has := metadata[field].(map[string]any)
		maps.DeleteFunc(m, func(key string, _ any) bool { return slices.Contains(marks, key) })
		if has && len(m) == 0 {
			delete(metadata, field)
		}
	}
	return object
}

// folded moves stringData of a manifest or schema to data, as the API server does.
func folded(object map[string]any) map[string]any {
	object = observer.CopyMap(object)
	values, has := object["stringData"].(map[string]any)
	if !has {
		return object
	}
	delete(object, "stringData")
	object["data"] = values
	for key, value := range values {
		if text, isText := value.(string); isText {
			values[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	return object
}

// freeOfUser fails if a write changes a field that the user's schema does not observe.
func (c *cluster) freeOfUser(path, name string, node, want, before, after any) {
	c.r.Helper()
	switch node := node.(type) {
	case map[string]any:
		was, ok1 := before.(map[string]any)
		is, ok2 := after.(map[string]any)
		if !ok1 || !ok2 {
			return // a value that did not exist is written as a whole
		}
		wanted, _ := want.(map[string]any)
		for _, field := range fieldsOf(was, is) {
			child, observed := node[field]
			if identity := path == "" && (field == "apiVersion" || field == "kind") || path == ".metadata" && field == "name"; identity {
				continue
			}
			if path == ".metadata" && (field == "labels" || field == "annotations") && !observed {
				child, observed = map[string]any{}, true // they contain the tracking metadata
			}
			if !observed {
				c.same(path+"."+field, was, is, field)
				continue
			}
			c.freeOfUser(path+"."+field, field, child, wanted[field], was[field], is[field])
		}
	case []any:
		c.eachKeyed(name, before, after, func(key string, was, is any) {
			i := slices.IndexFunc(listOf(want), func(e any) bool { return observertest.IdentityOf(e) == key })
			elements := node[:len(node)-1]
			if i >= 0 && i < len(elements) {
				c.freeOfUser(path+"["+key+"]", "", elements[i], listOf(want)[i], was, is)
			}
			if i >= len(elements) && !observer.Equal(was, is) {
				c.fail("%s[%s] is free and was written: %s to %s", path, key, jsonOf(was), jsonOf(is))
			}
		})
	}
}

// freeOfDefault fails if a write changes a field that no manifest has ever set.
func (c *cluster) freeOfDefault(path, name string, want any, ever []any, before, after any) {
	c.r.Helper()
	switch want := want.(type) {
	case map[string]any:
		was, ok1 := before.(map[string]any)
		is, ok2 := after.(map[string]any)
		if !ok1 || !ok2 {
			return
		}
		for _, field := range fieldsOf(was, is) {
			child, wanted := want[field]
			once := parts(ever, field)
			switch {
			case wanted:
				c.freeOfDefault(path+"."+field, field, child, once, was[field], is[field])
			case len(once) == 0 && (path != ".metadata" || field != "labels" && field != "annotations"):
				c.same(path+"."+field, was, is, field)
			}
		}
	case []any:
		c.eachKeyed(name, before, after, func(key string, was, is any) {
			i := slices.IndexFunc(want, func(e any) bool { return observertest.IdentityOf(e) == key })
			if i >= 0 {
				c.freeOfDefault(path+"["+key+"]", "", want[i], elements(ever, key), was, is)
			}
		})
	}
}

// kept fails if a write removes a map field that another client wrote and no manifest has set.
func (c *cluster) kept(path string, fields map[string]any, ever []any, before, after any) {
	c.r.Helper()
	was, ok := before.(map[string]any)
	is, _ := after.(map[string]any)
	if !ok {
		return
	}
	for _, name := range keys(fields) {
		child, field := fields[name], strings.TrimPrefix(name, "f:")
		value, has := was[field]
		if !has || path == ".metadata" && field == "finalizers" {
			continue
		}
		once := parts(ever, field)
		if len(once) == 0 && path+"."+field != ".metadata.labels" && path+"."+field != ".metadata.annotations" {
			if now, still := is[field]; !still || !observer.Equal(value, now) {
				c.fail("%s.%s of another client was written: %s to %s", path, field, jsonOf(value), jsonOf(now))
			}
			continue
		}
		if slices.ContainsFunc(once, func(v any) bool { _, isMap := v.(map[string]any); return !isMap }) {
			continue // a manifest has set the whole value
		}
		c.kept(path+"."+field, child.(map[string]any), once, value, is[field])
	}
}

func (c *cluster) same(path string, was, is map[string]any, field string) {
	c.r.Helper()
	a, had := was[field]
	b, has := is[field]
	if had != has || !observer.Equal(a, b) {
		c.fail("%s is free and was written: %s to %s", path, jsonOf(a), jsonOf(b))
	}
}

// eachKeyed calls a function for each element that a list of maps with keys has before and after a write.
func (c *cluster) eachKeyed(name string, before, after any, each func(key string, was, is any)) {
	if !c.server.Typed || name == "" || name[0] != 'k' {
		return
	}
	for _, was := range listOf(before) {
		key := observertest.IdentityOf(was)
		if i := slices.IndexFunc(listOf(after), func(e any) bool { return observertest.IdentityOf(e) == key }); i >= 0 {
			each(key, was, listOf(after)[i])
		}
	}
}

func listOf(v any) []any {
	l, _ := v.([]any)
	return l
}

// parts returns all values of a field in a list of maps.
func parts(values []any, field string) []any {
	var found []any
	for _, v := range values {
		m, _ := v.(map[string]any)
		if child, has := m[field]; has {
			found = append(found, child)
		}
		if child, has := m["stringData"]; has && field == "data" {
			found = append(found, child)
		}
	}
	return found
}

func elements(values []any, key string) []any {
	var found []any
	for _, v := range values {
		for _, e := range listOf(v) {
			if observertest.IdentityOf(e) == key {
				found = append(found, e)
			}
		}
	}
	return found
}

func fieldsOf(objects ...map[string]any) []string {
	var names []string
	for _, m := range objects {
		names = append(names, keys(m)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// told checks that values learned earlier have not changed in the status.
func (c *cluster) told(before, after v1alpha1.ApplicationStatus) {
	c.r.Helper()
	was, is := applied(before), applied(after)
	for _, id := range sortedIDs(maps.Keys(c.decided.resources)) {
		if d := c.decided.resources[id]; d.entry != nil && was[id].user && is[id].user && !c.relearned[id] && !c.decided.faulty {
			entry := folded(d.entry)
			delete(entry, "data") // values of Secrets are not learned
			c.learned(short(id), entry, folded(d.manifest), was[id].desired, is[id].desired)
		}
	}
	clear(c.relearned)
}

func leaks(text string) bool {
	return strings.Contains(text, "canary") || strings.Contains(text, "Y2FuYXJ5")
}

// record stores a status like an API server.
func (c *cluster) record(status v1alpha1.ApplicationStatus) {
	c.r.Helper()
	raw, err := json.Marshal(status)
	if err != nil {
		c.fail("%v", err)
	}
	if leaks(string(raw)) || slices.ContainsFunc([]string{c.app.Annotations[v1alpha1.AnnotationCreating]}, c.leaksPacked) {
		c.fail("a value of a Secret is on record: %s", raw)
	}
	var stored v1alpha1.ApplicationStatus
	if err := json.Unmarshal(raw, &stored); err != nil || jsonOf(stored) != string(raw) {
		c.fail("the status does not survive being stored: %v\n%s\n%s", err, raw, jsonOf(stored))
	}
	c.app.Status = stored
	c.note("status stored: %s", c.summary())
}

func (c *cluster) leaksPacked(text string) bool {
	return text != "" && leaks(observertest.Unpacked(c.t, text))
}

func (c *cluster) summary() string {
	words := []string{fmt.Sprint(c.app.Status.ObservedGeneration)}
	for _, r := range c.status().Resources {
		one := fmt.Sprintf("%s/%s %s %s", r.Kind, r.Name, r.UID, r.Reason)
		if r.BaselineUID != "" {
			one += " before " + string(r.BaselineUID)
		}
		if len(r.Baseline) > 0 {
			one += " originals"
		}
		for _, b := range r.Baseline {
			one += " " + b.Path + "=" + jsonOf(b.Value)
			if b.Holder != "" {
				one += " of " + b.Holder
			}
		}
		words = append(words, one)
	}
	return strings.Join(words, ", ")
}

// onRecord is the last-applied state of a resource in a status.
type onRecord struct {
	desired map[string]any
	user    bool
}

func applied(status v1alpha1.ApplicationStatus) map[manifest.ID]onRecord {
	records := map[manifest.ID]onRecord{}
	for _, item := range status.LastAppliedManifest {
		content, err := manifest.DecodeJSON(item.Raw)
		if err != nil {
			panic(err)
		}
		id, _ := manifest.Identify(content, "default", intent.Offline())
		records[id] = onRecord{desired: content}
	}
	for _, r := range status.Resources {
		id := manifest.IDFromReference(r.ResourceReference)
		if was, has := records[id]; has {
			records[id] = onRecord{was.desired, r.Schema == v1alpha1.SchemaUser}
		}
	}
	return records
}

// learned fails if the recorded value of a learned field has changed.
func (c *cluster) learned(path string, node, want, was, is any) {
	c.r.Helper()
	fields, isMap := node.(map[string]any)
	before, ok := was.(map[string]any)
	after, _ := is.(map[string]any)
	wanted, _ := want.(map[string]any)
	if !isMap || !ok {
		return
	}
	for _, name := range keys(fields) {
		child := fields[name]
		value, known := before[name]
		if _, isSet := wanted[name]; isSet || !known {
			if isSet {
				c.learned(path+"."+name, child, wanted[name], before[name], after[name])
			}
			continue
		}
		now, still := after[name]
		if child == nil || child == observer.LeafText {
			if !still || !observer.Equal(value, now) {
				c.fail("%s.%s was learned as %s, and is %s now", path, name, jsonOf(value), jsonOf(now))
			}
			continue
		}
		c.learned(path+"."+name, child, nil, value, now)
	}
}
