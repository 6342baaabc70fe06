package plan

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// WrittenEntry is the position in spec.observerSchema of the entry of a resource; false if
// it has none.
func (p *Plan) WrittenEntry(id manifest.ID) (position int, is bool) {
	for _, res := range p.resources {
		if res.object.ID == id && isWritten(sourceOf(res.entry)) {
			return res.entry.Position, true
		}
	}
	return 0, false
}

// EditSchema is spec.observerSchema with paths of a resource that has an entry there held
// from now on, or free. What is said already it leaves as it is, with a note.
func (p *Plan) EditSchema(id manifest.ID, edit Edit) (schema []runtime.RawExtension, notes []string, err error) {
	object, position, err := p.entryOf(id)
	if err != nil {
		return nil, nil, err
	}
	schema = p.in.Application.DeepCopy().Spec.ObserverSchema
	entry, err := manifest.DecodeJSON(schema[position].Raw)
	if err != nil {
		return nil, nil, err
	}
	e := &fieldsEditor{plan: p, object: object}
	for _, path := range edit.Paths {
		f, err := fieldsOfEdit(object, edit, path)
		if err != nil {
			return nil, nil, err
		}
		edited, err := observer.EditEntry(entry, f, object, e.context())
		if err != nil {
			return nil, nil, err
		}
		if observer.Equal(entry, edited) {
			notes = append(notes, already(path, edit.Free))
		}
		entry = edited
	}
	schema[position].Raw, err = json.Marshal(entry)
	return schema, notes, err
}

// fieldsOfEdit is a change of one path as an entry of spec.fields says it.
func fieldsOfEdit(object manifest.Object, edit Edit, text string) (*observer.Fields, error) {
	path, err := observer.ParseFieldPath(text)
	if err != nil {
		return nil, err
	}
	f := &observer.Fields{Kind: object.ID.Kind, Name: object.ID.Name, OnlyHold: true}
	if edit.Free {
		f.Free = []*observer.FieldPath{path}
		return f, nil
	}
	f.Hold = []*observer.FieldPath{path}
	if faults := sayOf(f, 0, edit.Rule); len(faults) > 0 {
		return nil, faults[0]
	}
	return f, nil
}

// entryOf is a resource and the position of its entry.
func (p *Plan) entryOf(id manifest.ID) (manifest.Object, int, error) {
	position, is := p.WrittenEntry(id)
	objects, _, err := objectsOf(p.in)
	if err != nil {
		return manifest.Object{}, 0, err
	}
	for _, object := range objects {
		if object.ID == id && is && position < len(p.in.Application.Spec.ObserverSchema) {
			return object, position, nil
		}
	}
	return manifest.Object{}, 0, fmt.Errorf("%s has no entry in spec.observerSchema", id)
}

// WithSchema is the plan for the same Application and the same live objects, with another
// observer schema.
func (p *Plan) WithSchema(schema []runtime.RawExtension) *Plan {
	in := p.in
	in.Application = in.Application.DeepCopy()
	in.Application.Spec.ObserverSchema = schema
	in.Application.Generation++
	return Decide(in)
}

// already says that there is nothing to change.
func already(path string, free bool) string {
	if free {
		return path + " is free already"
	}
	return path + " is held already"
}
