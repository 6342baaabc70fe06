package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// renderedInput is the input, understood: the objects after hooks, the objects
// before them, and the entry of each.
type renderedInput struct {
	objects  []manifest.Object
	entries  []*observer.Schema
	written  []map[string]any // the manifests before hooks
	warnings []string
}

// render turns the source and the schema of an Application into objects and
// their entries. It is all or nothing: one fault refuses the whole input, so
// that nothing is applied by halves and nothing is deleted by mistake.
func (p *Plan) render() (renderedInput, *Problem) {
	app := p.in.Application
	if problem := nullsDropped(app); problem != nil {
		return renderedInput{}, problem
	}
	objects, warnings, err := objectsOf(p.in)
	var problem *Problem
	if errors.As(err, &problem) {
		return renderedInput{}, problem
	}
	e := readEntries(p.in)
	if err != nil {
		return renderedInput{}, problemf(v1alpha1.ReasonManifestInvalid, "%s", Summary(errors.Join(append([]error{err}, e.unread...)...)))
	}
	e.assign(p.in, objects)
	faults, late := e.validate(app)
	if len(faults) > 0 {
		return renderedInput{}, problemf(v1alpha1.ReasonObserverSchemaInvalid, "%s", Summary(errors.Join(faults...)))
	}
	r := renderedInput{objects: objects, entries: e.assigned, warnings: slices.Concat(warnings, late, freed(e.written), e.warnings)}
	if faults := p.shareEntries(&r); len(faults) > 0 {
		return renderedInput{}, problemf(v1alpha1.ReasonObserverSchemaInvalid, "%s", Summary(errors.Join(faults...)))
	}
	for _, fault := range UnknownFields(objects, e.assigned, p.in.Kinds, p.in.Live) {
		r.warnings = append(r.warnings, fault.Error())
	}
	if err := p.mangle(&r); err != nil {
		problem := problemf(v1alpha1.ReasonHookFailed, "%s", Summary(err))
		problem.As = v1alpha1.DispositionStall
		return renderedInput{}, problem
	}
	return r, nil
}

// shareEntries gives the shared objects their entries: one without an entry of the user is
// held in what its manifest sets. It returns what is wrong with those of the user, and with
// the manifests.
func (p *Plan) shareEntries(r *renderedInput) (faults []error) {
	for i, o := range r.objects {
		if !IsShared(p.in.Application, o.Ownership) {
			continue
		}
		kind := p.in.Kinds.Type(o.GVK())
		if r.entries[i].Default && !r.entries[i].FromFields() {
			r.entries[i] = observer.PartialEntry(o, kind)
		}
		r.entries[i].FindByAllKeys()
		if cuts := r.entries[i].TruncatedLists(); len(cuts) > 0 {
			faults = append(faults, fmt.Errorf("%s is shared, and the observer schema would cut what is another owner's of %s: "+
				"give lists the minimum 0 and the maximum 0, and name labels and annotations one by one", o.ID, some(cuts)))
		}
		faults = append(faults, namelessFaults(o.ID, r.entries[i].UnkeyedLists(kind, o.Content))...)
	}
	return faults
}

// namelessFaults returns what to do about list elements of a shared object that nothing but their
// position identifies.
func namelessFaults(id manifest.ID, nameless []observer.Nameless) (faults []error) {
	var lists []string
	for _, of := range nameless {
		if len(of.Keys) == 0 {
			lists = append(lists, of.Path.String())
			continue
		}
		faults = append(faults, fmt.Errorf("%s is shared, and %s does not say which element it is: give it %s", id, of.Path, strings.Join(of.Keys, ", ")))
	}
	if len(lists) > 0 {
		faults = append(faults, fmt.Errorf("%s is shared, and the elements of %s have no keys that identify them: "+
			"name their keys in an entry of spec.observerSchema (%s), or hold the list as a whole there", id, some(lists), observer.KeyMapKeys))
	}
	return faults
}

// mangle runs the hooks. What they add is observed, too; an object that they add
// is held by default. Shared objects are not theirs to change.
func (p *Plan) mangle(r *renderedInput) error {
	m := &hooks.Mangling{
		Application: p.in.Application, Live: p.in.Live,
		Objects: make([]manifest.Object, 0, len(r.objects)), Entries: make(map[manifest.ID]*observer.Schema, len(r.objects)),
	}
	var shared []manifest.Object
	for i, o := range r.objects {
		if IsShared(p.in.Application, o.Ownership) {
			shared = append(shared, o)
			continue
		}
		m.Objects = append(m.Objects, o)
		m.Entries[o.ID] = r.entries[i]
	}
	if err := p.hooks.ApplicationMangling.Run(m); err != nil {
		return err
	}
	m.Objects = append(slices.Clip(m.Objects), shared...)
	entries, written := make([]*observer.Schema, len(m.Objects)), make([]map[string]any, len(m.Objects))
	before := positions{objects: r.objects}
	for i, o := range m.Objects {
		k, had := before.of(o.ID, i)
		if had {
			written[i] = r.objects[k].Content
		}
		switch {
		case !had:
			m.Objects[i].Ownership = v1alpha1.OwnershipOwn // we make it, whatever the manifests are
			entries[i] = observer.DefaultEntry(o)
		case sameContent(r.objects[k].Content, o.Content):
			entries[i] = r.entries[k]
		default:
			entries[i] = r.entries[k].WithHookChanges(r.objects[k], o)
		}
	}
	r.objects, r.entries, r.written, r.warnings = m.Objects, entries, written, append(r.warnings, m.Warnings...)
	return nil
}

// positions are those of objects in a list.
type positions struct {
	objects []manifest.Object
	byID    map[manifest.ID]int // when it was asked for
}

// of is the position of an object: most likely the one that is asked for.
func (p *positions) of(id manifest.ID, likely int) (position int, there bool) {
	if likely < len(p.objects) && p.objects[likely].ID == id {
		return likely, true
	}
	if p.byID == nil {
		p.byID = make(map[manifest.ID]int, len(p.objects))
		for i, o := range p.objects {
			p.byID[o.ID] = i
		}
	}
	position, there = p.byID[id]
	return position, there
}

// sameContent reports whether a hook has left the content alone: it is the very
// same map.
func sameContent(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// nullsDropped refuses a schema that arrived with fewer leaves than the user
// wrote: nothing is held by half in silence.
func nullsDropped(app *v1alpha1.Application) *Problem {
	text, ok := app.Annotations[lastAppliedAnnotation]
	if !ok {
		return nil
	}
	lost := lostLeaves(text, app)
	if len(lost) == 0 {
		return nil
	}
	return problemf(v1alpha1.ReasonObserverSchemaNullsDropped,
		"kubectl apply dropped nulls (%s), so these fields would not be held: "+
			"write %q in place of null, or submit with `kubectl apply --server-side --force-conflicts`",
		some(lost), observer.LeafText)
}

// nullsLost refuses a schema of which one entry has no leaf any more that was written
// as null: that is what a client makes of it that drops nulls, and what hardly anybody
// means.
func nullsLost(r renderedInput, records map[manifest.ID]*record) *Problem {
	var lost []string
	for i, object := range r.objects {
		before := records[object.ID]
		if before == nil || r.entries[i].Default || r.entries[i].FromFields() {
			continue
		}
		if leaves := r.entries[i].Lost(before.nulls()); len(leaves) > 0 {
			lost = append(lost, fmt.Sprintf("%s: %s", object.ID, some(leaves)))
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return problemf(v1alpha1.ReasonObserverSchemaNullsDropped,
		"the observer schema has lost every leaf that was written as null (%s), as kubectl edit, a merge patch and Helm make it: "+
			"write %q for each of them, which every client keeps; or %q, if it is to be held no longer",
		strings.Join(lost, "; "), observer.LeafText, observer.FreeText)
}

// freed warns about leaves that have done their work.
func freed(entries []*observer.Schema) (warnings []string) {
	for i, entry := range entries {
		if paths := entry.Freed(); len(paths) > 0 {
			warnings = append(warnings, fmt.Sprintf("observerSchema[%d] (%s %s): %q has released %s: take it out when you change the schema next",
				i, entry.ID.Kind, entry.ID.Name, observer.FreeText, some(paths)))
		}
	}
	return warnings
}

// lostLeaves compares the schema of an Application, and those of Applications among
// its manifests, with what kubectl apply was given. An annotation that cannot be
// read says nothing.
func lostLeaves(text string, app *v1alpha1.Application) []string {
	var sent struct {
		Spec struct {
			ObserverSchema []any            `json:"observerSchema"`
			Manifest       []map[string]any `json:"manifest"`
		} `json:"spec"`
	}
	if json.Unmarshal([]byte(text), &sent) != nil {
		return nil
	}
	lost := prefixed("spec.observerSchema", observer.DroppedNulls(sent.Spec.ObserverSchema, values(app.Spec.ObserverSchema)))
	for i, inner := range sent.Spec.Manifest {
		if inner["kind"] != v1alpha1.Kind || len(sent.Spec.Manifest) != len(app.Spec.Manifest) { // or others stand there
			continue
		}
		stored, err := decode(app.Spec.Manifest[i])
		if err != nil {
			continue
		}
		was, _, _ := unstructured.NestedSlice(inner, "spec", "observerSchema")
		is, _, _ := unstructured.NestedSlice(stored, "spec", "observerSchema")
		lost = append(lost, prefixed(fmt.Sprintf("spec.manifest[%d].spec.observerSchema", i), observer.DroppedNulls(was, is))...)
	}
	return lost
}

func prefixed(field string, paths []string) []string {
	for i := range paths {
		paths[i] = field + paths[i]
	}
	return paths
}

// Summary is the text of an error, short enough for a condition.
func Summary(err error) string {
	const limit = 4096
	text := err.Error()
	if len(text) <= limit {
		return text
	}
	cut := strings.LastIndexByte(text[:limit], '\n')
	if cut <= 0 {
		cut = limit
	}
	return fmt.Sprintf("%s\n… and %d more lines", strings.ToValidUTF8(text[:cut], ""), strings.Count(text[cut:], "\n"))
}
