package reconcile_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// point marks a moment at which the process may die.
func (c *cluster) point(when string) {
	if c.storm && !c.dead && c.chance("dies", 12) {
		c.note("the process dies %s", when)
		c.dead = true
	}
}

// request sends a request, or simulates one of its failures.
func (c *cluster) request(verb string, id manifest.ID, body map[string]any, ops any, send func() (map[string]any, error)) (map[string]any, error) {
	defer c.guard()
	if c.dead {
		return nil, errDead
	}
	fault := "is done"
	if c.storm {
		fault = rapid.SampledFrom([]string{
			"is done", "is done", "is done", "is done", "is done", "fails", "loses its answer", "is forbidden", "is refused",
			"finds the process dead", "is the last of its process", "is too slow", "is too slow", "comes with an edit",
		}).Draw(c.r, verb)
	}
	c.note("%s of %s %s", verb, short(id), fault)
	switch fault {
	case "fails":
		return nil, errServer()
	case "loses its answer":
		_, _ = send()
		return nil, errLost
	case "is forbidden":
		return nil, errForbidden(id)
	case "is refused":
		return c.refuse(id, body, ops, send)
	case "finds the process dead":
		c.dead = true
		return nil, errDead
	case "is the last of its process":
		_, _ = send()
		c.dead = true
		return nil, errDead
	case "is too slow":
		c.somebody(id)
	case "comes with an edit":
		c.edit()
	}
	return send()
}

// refuse responds with 422, because of an address that is already in use, one field, or the whole request.
func (c *cluster) refuse(id manifest.ID, body map[string]any, ops any, send func() (map[string]any, error)) (map[string]any, error) {
	if c.share != nil {
		return send() // values that cannot be restored would remain
	}
	vip := get(body, "spec", "vip")
	switch pointers := pointersOf(ops); {
	case vip != nil:
		c.server.taken[vip] = true
		return send()
	case len(pointers) > 0:
		c.refusedOnce[id] = true
		pointer := rapid.SampledFrom(pointers).Draw(c.r, "pointer")
		c.note("%s cannot be changed", pointer)
		c.server.refused[id.String()+pointer] = true
		return send()
	}
	return nil, errRefused(id)
}

// edit submits another spec.
func (c *cluster) edit() {
	if c.share != nil {
		c.share.edit()
		return
	}
	next := c.wanted
	next.resources = maps.Clone(c.wanted.resources)
	if c.chance("policies", 3) {
		next.adoption = rapid.SampledFrom([]string{"", "Never", "IfUnowned", "Always"}).Draw(c.r, "adoption")
		next.deletion = rapid.SampledFrom([]string{"", "Delete", "Orphan"}).Draw(c.r, "deletion")
	}
	next.suspend, next.faulty, next.observe = c.chance("suspend", 15), c.chance("faulty", 15), c.chance("observe", 6)
	for _, id := range c.names {
		switch c.oneOf("what of "+short(id), 0, 1, 2, 3) {
		case 1, 2:
			next.resources[id] = c.desire(id, next.resources[id])
		case 3:
			delete(next.resources, id)
		}
	}
	c.submit(next)
}

// mend replaces a spec under which nothing can be held.
func (c *cluster) mend() {
	if c.wanted.suspend || c.wanted.faulty || c.wanted.observe {
		next := c.wanted
		next.suspend, next.faulty, next.observe = false, false, false
		c.submit(next)
	}
}

func (c *cluster) submit(next desires) {
	if reflect.DeepEqual(c.wanted, next) {
		return
	}
	before := c.wanted
	c.wanted = next
	spec := v1alpha1.ApplicationSpec{
		Adoption: v1alpha1.AdoptionPolicy(next.adoption), DeletionPolicy: v1alpha1.DeletionPolicy(next.deletion), Suspend: next.suspend,
		Fields: next.fields,
	}
	if next.observe {
		spec.Mode = v1alpha1.ModeObserve
	}
	c.app.Generation++
	c.note("spec %d: adoption %q, deletion %q, suspended %t, observes %t, faulty %t", c.app.Generation, next.adoption, next.deletion, next.suspend, next.observe, next.faulty)
	for _, id := range c.names {
		d := next.resources[id]
		if d == nil {
			if before.resources[id] != nil {
				c.note("  no %s", short(id))
			}
			continue
		}
		spec.Manifest = append(spec.Manifest, raws(d.manifest)...)
		schema := "default schema"
		if d.entry != nil {
			spec.ObserverSchema = append(spec.ObserverSchema, raws(d.entry)...)
			schema = jsonOf(bare(d.entry))
			c.special[uidOf(c.server.objects[id])] = "held by a user's schema"
		}
		if !reflect.DeepEqual(d, before.resources[id]) {
			c.ever[id] = append(c.ever[id], d.manifest)
			c.note("  %s %s %s", short(id), jsonOf(bare(d.manifest)), schema)
		}
	}
	if next.faulty {
		spec.ObserverSchema = append(spec.ObserverSchema, runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"none"}}`)})
	}
	c.app.Spec = c.cut(spec)
	c.changed = true
	c.newVersion()
}

// bare returns an object without apiVersion, kind and name.
func bare(object map[string]any) map[string]any {
	rest := maps.Clone(object)
	delete(rest, "apiVersion")
	delete(rest, "kind")
	metadata := maps.Clone(object["metadata"].(map[string]any))
	delete(metadata, "name")
	if rest["metadata"] = metadata; len(metadata) == 0 {
		delete(rest, "metadata")
	}
	return rest
}

// desire draws the desired state of an object.
func (c *cluster) desire(id manifest.ID, before *desire) *desire {
	d := &desire{manifest: map[string]any{"metadata": map[string]any{"name": id.Name}, "kind": id.Kind, "apiVersion": "v1"}}
	if c.chance("labels", 3) {
		set(d.manifest, rapid.SampledFrom([]string{"1", "2"}).Draw(c.r, "label"), "metadata", "labels", rapid.SampledFrom([]string{"x", "y"}).Draw(c.r, "key"))
	}
	if c.chance("keep", 12) {
		set(d.manifest, "Orphan", "metadata", "annotations", v1alpha1.AnnotationDeletionPolicy)
	}
	switch id.Kind {
	case "Secret":
		if d.manifest["stringData"] = c.values(); rapid.Bool().Draw(c.r, "as data") {
			d.manifest = folded(d.manifest)
		}
	default:
		d.manifest["apiVersion"] = observertest.GVK.GroupVersion().String()
		d.manifest["spec"] = c.spec(before)
	}
	if c.plain[id] {
		return d
	}
	switch c.oneOf("schema", 0, 1, 2) {
	case 1:
		d.entry = c.entry(d.manifest)
	case 2:
		if before != nil && before.entry != nil && fits(before.entry, d.manifest) {
			d.entry = before.entry
		}
	}
	return d
}

// spec draws the spec of a Thing. Most specs are small, so that failures are readable.
func (c *cluster) spec(before *desire) map[string]any {
	was := map[string]any{}
	if before != nil {
		was = before.manifest["spec"].(map[string]any)
	}
	if c.chance("any spec", 6) {
		return c.server.Plausible("m", observertest.Spec(c.r)).(map[string]any)
	}
	return c.server.Plausible("m", c.varied(was)).(map[string]any)
}

// varied draws a spec that shares some fields with another one.
func (c *cluster) varied(was map[string]any) map[string]any {
	spec := map[string]any{}
	for _, name := range []string{"v1", "v2", "m1", "k2", "s1", "l2"} {
		value, had := was[name]
		switch c.oneOf(name, 0, 0, 1, 2) {
		case 0:
			if had {
				spec[name] = value
			}
		case 1:
			spec[name] = c.value(name)
		}
	}
	return spec
}

func (c *cluster) value(name string) any {
	some := func(element func(i int) any) []any {
		list := []any{}
		for i := range 3 {
			if rapid.Bool().Draw(c.r, "has") {
				list = append(list, element(i))
			}
		}
		return list
	}
	scalars := func(m map[string]any) map[string]any {
		for _, field := range []string{"v1", "v2"} {
			if rapid.Bool().Draw(c.r, field) {
				m[field] = c.value(field)
			}
		}
		return m
	}
	switch name[0] {
	case 'm':
		return scalars(map[string]any{})
	case 'k':
		return some(func(i int) any { return scalars(map[string]any{"name": fmt.Sprint("n", i)}) })
	case 's':
		return some(func(i int) any { return fmt.Sprint("e", i) })
	case 'l':
		return some(func(int) any { return c.value("v") })
	}
	return rapid.SampledFrom([]any{"a", "b", int64(1), false}).Draw(c.r, "scalar")
}

// values draws the values of a Secret.
func (c *cluster) values() map[string]any {
	values := map[string]any{}
	for _, key := range []string{"p", "q"} {
		if rapid.Bool().Draw(c.r, "has "+key) {
			values[key] = fmt.Sprint("canary", rapid.IntRange(0, 2).Draw(c.r, "value"))
		}
	}
	return values
}

// entry draws the schema that a user writes for an object.
func (c *cluster) entry(object map[string]any) map[string]any {
	raw := map[string]any{"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": map[string]any{"name": get(object, "metadata", "name")}}
	if get(object, "metadata", "labels") != nil && rapid.Bool().Draw(c.r, "observes labels") {
		set(raw, map[string]any{"x": observer.LeafText}, "metadata", "labels")
	}
	if spec, is := object["spec"].(map[string]any); is {
		drawn := observertest.Entry(c.r, spec, observertest.Options{Bounded: c.server.Injects == ""}).Raw()
		if raw["spec"] = drawn["spec"]; raw["spec"] == nil { // a null that is gone later is refused
			raw["spec"] = observer.LeafText
		}
		if rapid.Bool().Draw(c.r, "observes vip") {
			set(raw, observer.LeafText, "spec", "vip")
		}
		return raw
	}
	raw["type"] = observer.LeafText
	field := "data"
	if object[field] == nil {
		field = "stringData"
	}
	keys := map[string]any{}
	for _, key := range []string{"p", "q"} {
		if rapid.Bool().Draw(c.r, "observes "+key) {
			keys[key] = observer.LeafText
		}
	}
	if len(keys) > 0 {
		raw[field] = keys
	}
	return raw
}

// fits reports whether the lists of a manifest are within the bounds of a schema.
func fits(node, value any) bool {
	switch node := node.(type) {
	case map[string]any:
		m, isMap := value.(map[string]any)
		if value != nil && !isMap {
			return false
		}
		for name, child := range node {
			if _, isText := child.(string); !isText && !fits(child, m[name]) {
				return false
			}
		}
	case []any:
		control := node[len(node)-1].(map[string]any)
		l, isList := value.([]any)
		lowest, highest := number(control[observer.KeyMinLength]), number(control[observer.KeyMaxLength])
		if value != nil && !isList || len(l) < lowest || highest > 0 && len(l) > highest {
			return false
		}
		for i, child := range node[:len(node)-1] {
			if i < len(l) && !fits(child, l[i]) {
				return false
			}
		}
	}
	return true
}

func number(v any) int {
	n, _ := v.(int64)
	return int(n)
}

// somebody changes, deletes or creates an object as another client.
func (c *cluster) somebody(id manifest.ID) {
	if c.share != nil {
		c.share.touch(id)
		return
	}
	object := c.server.objects[id]
	if object == nil {
		c.foreign(id)
		return
	}
	deed := rapid.SampledFrom([]string{
		"edits", "edits", "deletes", "recreates", "removes our label", "removes our tracking metadata", "adopts", "adds a finalizer", "removes finalizers",
	}).Draw(c.r, "another client")
	if deed == "edits" && c.plain[id] {
		deed = "removes our label"
	}
	c.note("another client %s %s", deed, short(id))
	metadata := func(change func(metadata map[string]any)) {
		c.server.edit(id, func(o map[string]any) { change(o["metadata"].(map[string]any)) })
	}
	switch deed {
	case "edits":
		c.special[uidOf(object)] = "edited"
		c.server.edit(id, c.meddle)
		c.note("  it is %s now", jsonOf(c.server.objects[id]))
	case "deletes":
		c.server.end(id)
	case "recreates":
		c.server.remove(id)
		c.foreign(id)
	case "removes our label":
		metadata(func(m map[string]any) { m["labels"] = without(m["labels"], v1alpha1.LabelApplicationUID) })
	case "removes our tracking metadata":
		metadata(func(m map[string]any) {
			m["labels"] = without(m["labels"], v1alpha1.LabelApplicationUID)
			m["annotations"] = without(m["annotations"], v1alpha1.AnnotationTrackingID)
		})
	case "adopts":
		c.special[uidOf(object)] = "was another's"
		c.server.edit(id, claimed)
	case "adds a finalizer":
		if get(object, "metadata", "deletionTimestamp") == nil {
			metadata(func(m map[string]any) { m["finalizers"] = []any{"example.com/hold"} })
		}
	case "removes finalizers":
		metadata(func(m map[string]any) { delete(m, "finalizers") })
	}
}

func without(m any, key string) map[string]any {
	rest := map[string]any{}
	if m, is := m.(map[string]any); is {
		maps.Copy(rest, m)
	}
	delete(rest, key)
	return rest
}

// claimed transfers an object to another Application.
func claimed(o map[string]any) {
	set(o, "app-2", "metadata", "labels", v1alpha1.LabelApplicationUID)
	set(o, "default/other", "metadata", "annotations", v1alpha1.AnnotationTrackingID)
}

// meddle edits a random part of an object.
func (c *cluster) meddle(o map[string]any) {
	if c.chance("a label", 4) {
		set(o, "theirs", "metadata", "labels", rapid.SampledFrom([]string{"x", "y", "z"}).Draw(c.r, "key"))
		return
	}
	if spec, is := o["spec"].(map[string]any); is {
		if changed := c.varied(spec); c.chance("anything", 6) {
			o["spec"] = c.server.Plausible("m", observertest.Mutate(c.r, spec))
		} else if o["spec"] = c.server.Plausible("m", changed); rapid.Bool().Draw(c.r, "keeps vip") {
			set(o, spec["vip"], "spec", "vip")
		}
		return
	}
	data, _ := o["data"].(map[string]any)
	data = maps.Clone(data)
	if data == nil {
		data = map[string]any{}
	}
	key := rapid.SampledFrom([]string{"p", "q", "z"}).Draw(c.r, "key")
	if delete(data, key); rapid.Bool().Draw(c.r, "set") {
		data[key] = base64.StdEncoding.EncodeToString([]byte("canary7"))
	}
	o["data"] = data
}

// foreign creates an object that the Application does not own.
func (c *cluster) foreign(id manifest.ID) {
	d := c.desire(id, nil)
	body := folded(d.manifest)
	if c.chance("owned", 3) {
		claimed(body)
	}
	born := c.server.born(id, body, "another client")
	c.special[uidOf(born)] = "foreign"
	c.note("another client creates %s %s %s", short(id), uidOf(born), jsonOf(bare(body)))
}
