package reconcile_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// sharing is a cluster in which other clients created all objects. The Application shares or adopts them.
type sharing struct {
	*cluster
	// were contains the objects as their owners created them; nil if an object does not exist.
	were map[manifest.ID]map[string]any
	// settled is true when the spec no longer changes.
	settled bool
	// selecting is true if the parts are in spec.select instead of the manifests.
	selecting bool
	// owns is true if the objects are adopted. The controller then recreates an object that its owner
	// deletes.
	owns bool
	// cut contains the adopted objects from which list elements were removed while they were held. No
	// baseline records this.
	cut map[manifest.ID]bool
	// letsGo is true after the Application has released all objects.
	letsGo bool
	// parts contains the manifests of the first spec. Later ones have other values for its fields, or lack some.
	parts []map[string]any
}

// TestHoldThenReleaseWhateverHappens holds random parts of random objects and releases them. Meanwhile
// requests fail, responses are lost, the controller dies, watches lag and owners recreate their objects.
// Afterwards all objects have their original content. The controller never creates or deletes one.
func TestHoldThenReleaseWhateverHappens(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) { holdThenRelease(t, r, false) })
}

// TestAdoptThenReleaseWhateverHappens does the same with adopted objects, under spec.onRelease Restore. The
// controller creates and deletes the objects that no other client has created.
func TestAdoptThenReleaseWhateverHappens(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) { holdThenRelease(t, r, true) })
}

// newSharing returns a cluster in which other clients own all objects. No object exists yet.
func newSharing(t *testing.T, r *rapid.T, owns bool) *sharing {
	t.Helper()
	names := slices.DeleteFunc(drawNames(r), func(id manifest.ID) bool { return id.Kind == "Secret" })
	s := &sharing{newCluster(t, r, observertest.Server{Typed: rapid.Bool().Draw(r, "typed")}, names), map[manifest.ID]map[string]any{}, false, !owns && rapid.Bool().Draw(r, "selecting"), owns, map[manifest.ID]bool{}, false, nil}
	s.cluster.share = s
	s.server.admitted = func(manifest.ID, map[string]any) {}
	s.server.judge = func(verb string, id manifest.ID, before, after map[string]any) {
		if owns && !s.letsGo && verb == "patch" && isCut(before["spec"], after["spec"]) {
			s.cut[id] = true
		}
		if after != nil {
			s.note("  %s of %s: %s", verb, short(id), jsonOf(bare(after)))
		}
		if verb != "patch" && (!owns || verb == "delete" && s.were[id] != nil) {
			s.fail("%s of %s, which belongs to another owner", verb, id)
		}
	}
	if s.app.Spec.Ownership = v1alpha1.OwnershipShare; owns {
		s.app.Spec.Ownership, s.app.Spec.Adoption, s.app.Spec.OnRelease = "", v1alpha1.AdoptIfUnowned, v1alpha1.ReleaseRestore
	}
	return s
}

func holdThenRelease(t *testing.T, r *rapid.T, owns bool) {
	t.Helper()
	s := newSharing(t, r, owns)
	names := s.names
	for _, id := range names {
		s.make(id)
	}
	s.edit()
	s.settled = true
	s.storm = true
	r.Repeat(map[string]func(*rapid.T){
		"the process dies":   func(*rapid.T) { s.die() },
		"a watch lags":       func(*rapid.T) { s.lag(rapid.SampledFrom(names).Draw(r, "name")) },
		"its owner is there": func(*rapid.T) { s.make(rapid.SampledFrom(names).Draw(r, "name")) },
		"a label changes":    func(*rapid.T) { s.label(rapid.SampledFrom(names).Draw(r, "name")) },
		"the spec changes":   func(*rapid.T) { s.again() },
		"a round":            func(*rapid.T) { s.round() },
		"a death, a round":   func(*rapid.T) { s.die(); s.round() },
	})
	s.calm()
	s.rest()
	s.checkHeld()
	for range rapid.IntRange(0, 3).Draw(r, "drifts") {
		s.drift(rapid.SampledFrom(names).Draw(r, "name"))
		s.rest()
		s.checkHeld()
	}
	s.storm = rapid.Bool().Draw(r, "faults at the end")
	s.letsGo = true
	if rapid.Bool().Draw(r, "it leaves the manifests") {
		s.submit(nil)
	} else {
		s.remove()
	}
	s.round()
	s.calm()
	s.rest()
	s.checkAsBefore()
}

// drift lets another client change a held value, or remove or forge the tracking annotation, or both. After
// the release, the object must contain no trace of it.
func (s *sharing) drift(id manifest.ID) {
	if s.server.objects[id] == nil {
		return
	}
	part := s.partOf(id)
	value := rapid.Bool().Draw(s.r, "a value")
	marks := rapid.SampledFrom([]string{"are kept", "are removed", "are forged"}).Draw(s.r, "marks")
	s.server.edit(id, func(o map[string]any) {
		path := append([]string{"spec"}, s.heldValue(part)...)
		if _, isText := get(o, path...).(string); value && isText { // otherwise another Application holds a map there
			set(o, "drifted", path...)
		}
		annotations, _ := get(o, "metadata", "annotations").(map[string]any)
		if _, marked := annotations[v1alpha1.AnnotationHolders]; !marked || s.owns {
			return
		}
		switch marks {
		case "are removed":
			delete(annotations, v1alpha1.AnnotationHolders)
		case "are forged":
			annotations[v1alpha1.AnnotationHolders] = `{"default/shop":{"uid":"app-1","leaves":["spec.v9"]},"default/other":null}`
		}
	})
	s.note("another client changes %s: %s", short(id), jsonOf(bare(s.server.objects[id])))
}

// partOf returns the desired spec of an object, or nil if the Application does not hold the object.
func (s *sharing) partOf(id manifest.ID) map[string]any {
	for _, item := range s.app.Spec.Manifest {
		var part map[string]any
		if err := json.Unmarshal(item.Raw, &part); err != nil {
			s.fail("%v", err)
		}
		if get(part, "kind") == id.Kind && get(part, "metadata", "name") == id.Name {
			spec, _ := part["spec"].(map[string]any)
			return spec
		}
	}
	return nil
}

// heldValue draws the path of a text in the maps of a part, or returns nil if there is none.
func (s *sharing) heldValue(part map[string]any) []string {
	var paths [][]string
	var walk func(at map[string]any, path []string)
	walk = func(at map[string]any, path []string) {
		for _, name := range keys(at) {
			switch v := at[name].(type) {
			case map[string]any:
				walk(v, append(slices.Clone(path), name))
			case string:
				paths = append(paths, append(slices.Clone(path), name))
			}
		}
	}
	if walk(part, nil); len(paths) == 0 {
		return nil
	}
	return rapid.SampledFrom(paths).Draw(s.r, "held value")
}

// checkAsBefore checks that all objects have their original content.
func (s *sharing) checkAsBefore() {
	s.r.Helper()
	for _, id := range s.names {
		is, was := settled(s.server.objects[id]), s.were[id]
		if !s.cut[id] && jsonOf(is) != jsonOf(was) {
			s.fail("%s is not what it was:\n%s\n%s", id, jsonOf(was), jsonOf(is))
		}
	}
}

// isCut reports whether a list has fewer elements than before.
func isCut(before, after any) bool {
	switch before := before.(type) {
	case map[string]any:
		after, _ := after.(map[string]any)
		for name, child := range before {
			if isCut(child, after[name]) {
				return true
			}
		}
	case []any:
		after, _ := after.([]any)
		for i, child := range before {
			if i >= len(after) || isCut(child, after[i]) {
				return true
			}
		}
	}
	return false
}

// settled returns an object without its resourceVersion. Like an API server, it drops empty labels and
// annotations.
func settled(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	object = observer.CopyMap(object)
	metadata := object["metadata"].(map[string]any)
	delete(metadata, "resourceVersion")
	for _, field := range []string{"labels", "annotations"} {
		if m, isMap := metadata[field].(map[string]any); isMap && len(m) == 0 {
			delete(metadata, field)
		}
	}
	return object
}

// make lets the owner of an object delete or recreate it.
func (s *sharing) make(id manifest.ID) {
	s.server.remove(id)
	delete(s.were, id)
	if s.chance("it goes", 6) {
		s.note("%s is gone", short(id))
		return
	}
	object := map[string]any{
		"apiVersion": observertest.GVK.GroupVersion().String(), "kind": id.Kind, "metadata": map[string]any{}, "spec": observertest.Spec(s.r),
	}
	for _, field := range []string{"labels", "annotations"} {
		if s.chance(field, 2) {
			set(object, "theirs", "metadata", field, "theirs")
		}
	}
	s.server.born(id, object, "somebody")
	s.were[id] = settled(s.server.objects[id])
	s.note("%s is made: %s", short(id), jsonOf(s.were[id]))
}

// label lets the owner of an object add or remove the label by which Applications select it.
func (s *sharing) label(id manifest.ID) {
	if s.server.objects[id] == nil || s.were[id] == nil {
		return
	}
	change := func(object map[string]any) {
		labels, _ := get(object, "metadata", "labels").(map[string]any)
		if _, has := labels["theirs"]; has {
			delete(labels, "theirs")
			return
		}
		set(object, "theirs", "metadata", "labels", "theirs")
	}
	s.server.edit(id, change)
	change(s.were[id])
	s.were[id] = settled(s.were[id])
	s.note("the label of %s changes", short(id))
}

// again submits another spec.
func (s *sharing) again() {
	var manifests []map[string]any
	for _, part := range s.parts {
		if s.chance("it leaves", 4) {
			continue
		}
		part = observer.CopyMap(part)
		if s.chance("another one", 3) {
			part["spec"] = s.holdable(observertest.Spec(s.r))
		} else {
			s.vary(part["spec"].(map[string]any))
		}
		set(part, s.word(), "metadata", "labels", "ours")
		manifests = append(manifests, part)
	}
	s.submit(manifests)
}

// vary removes some fields of a map and changes the values of others, but not their types.
func (s *sharing) vary(m map[string]any) {
	for _, name := range keys(m) {
		if child, isMap := m[name].(map[string]any); isMap {
			s.vary(child)
			continue
		}
		_, isText := m[name].(string)
		switch rapid.SampledFrom([]string{"stays", "stays", "changes", "leaves"}).Draw(s.r, name) {
		case "changes":
			if isText {
				m[name] = s.word()
			}
		case "leaves":
			delete(m, name)
		}
	}
}

// touch changes only the resourceVersion.
func (s *sharing) touch(id manifest.ID) {
	if object := s.server.objects[id]; object != nil {
		s.server.store(id, observer.CopyMap(object), "")
	}
}

// edit submits a spec with other parts of the objects.
func (s *sharing) edit() {
	if s.settled {
		return
	}
	var manifests []map[string]any
	for _, id := range s.names {
		if s.chance("without "+short(id), 4) {
			continue
		}
		spec := observertest.Spec(s.r)
		if live, ok := get(s.server.objects[id], "spec").(map[string]any); ok && s.chance("like the live one", 2) {
			spec = observertest.Mutate(s.r, live)
			delete(spec, "vip")
		}
		part := map[string]any{
			"apiVersion": observertest.GVK.GroupVersion().String(), "kind": id.Kind,
			"metadata": map[string]any{"name": id.Name, "labels": map[string]any{"ours": s.word()}}, "spec": s.holdable(spec),
		}
		if s.chance("annotations", 2) {
			set(part, s.word(), "metadata", "annotations", "theirs")
		}
		manifests = append(manifests, part)
	}
	s.submit(manifests)
}

func (s *sharing) word() string { return rapid.SampledFrom([]string{"a", "b"}).Draw(s.r, "word") }

// holdable returns a part without nulls, lists of maps without keys, and duplicate keys.
func (s *sharing) holdable(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			v[name] = s.holdable(child)
			l, isList := child.([]any)
			if child == nil || isList && !s.distinct(name, l) {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = s.holdable(v[i])
		}
	}
	return v
}

// distinct reports whether each element of a list is identified by its key, or by its value. A typed list
// of maps requires keys.
func (s *sharing) distinct(name string, list []any) bool {
	seen := map[any]bool{}
	for _, element := range list {
		key := element
		m, isMap := element.(map[string]any)
		if isMap {
			key = m["name"]
		}
		text, isText := key.(string)
		if !isText || seen[text] || isMap != (name[0] == 'k' && s.server.Typed) {
			return false
		}
		seen[text] = true
	}
	return true
}

func (s *sharing) submit(manifests []map[string]any) {
	if !s.settled {
		s.parts = manifests
	}
	s.app.Spec.Manifest, s.app.Spec.Select = []runtime.RawExtension{}, nil
	for _, part := range manifests {
		if s.selecting {
			s.app.Spec.Select = append(s.app.Spec.Select, s.selection(part))
			continue
		}
		s.app.Spec.Manifest = append(s.app.Spec.Manifest, raws(part)...)
	}
	s.app.Generation++
	s.newVersion()
	s.changed = true
	s.note("the spec is %s", jsonOf(manifests))
}

// selection returns the spec.select item that matches only the object of a part, in some cases only while it has the
// label of its owner.
func (s *sharing) selection(part map[string]any) v1alpha1.ObjectSelection {
	hold := observer.CopyMap(part)
	metadata := hold["metadata"].(map[string]any)
	name := metadata["name"].(string)
	delete(metadata, "name")
	delete(hold, "apiVersion")
	delete(hold, "kind")
	item := v1alpha1.ObjectSelection{
		APIVersion: part["apiVersion"].(string), Kind: part["kind"].(string), Names: []string{name}, Hold: raws(hold)[0],
	}
	if rapid.Bool().Draw(s.r, "by label") {
		item.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"theirs": "theirs"}}
	}
	return item
}

// checkHeld checks that all existing objects are held.
func (s *sharing) checkHeld() {
	s.r.Helper()
	if !apimeta.IsStatusConditionTrue(s.app.Status.Conditions, v1alpha1.ConditionRendered) {
		return // the selected parts cannot be distinguished from other clients' fields
	}
	for _, row := range s.app.Status.Resources {
		there := maps.Clone(s.server.objects)
		id := manifest.ID{Group: "example.com", Kind: row.Kind, Namespace: row.Namespace, Name: row.Name}
		if there[id] != nil && row.Reason != "" && !v1alpha1.InfoForReason(row.Reason).Health {
			s.fail("%s is not held: %s", id, row.Message)
		}
	}
}
