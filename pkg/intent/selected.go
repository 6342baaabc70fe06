package intent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// selectedObjects returns the manifests that are equivalent to spec.select: for each matched object, the held fields,
// as a shared object. They are sorted by ID. The error is a *Problem if too many objects match. So a selected object
// goes through the same steps as a shared object with a manifest.
func selectedObjects(in Input, options manifest.Options) (objects []manifest.Object, warnings []string, err error) {
	app := in.Application
	entries, faults := Selections(app)
	warnings, checked := validateSelection(entries, options)
	if faults = append(faults, checked...); len(faults) > 0 {
		return nil, nil, errors.Join(faults...)
	}
	selected := Selected(in, entries)
	if err := tooMany(app, entries, selected); err != nil {
		return nil, nil, err
	}
	ids := manifest.SortedIDs(selected)
	raw := make([]map[string]any, len(ids))
	for i, id := range ids {
		var overlaps []error
		raw[i], overlaps = mergeSelections(id, in.Live[id], selected[id], in.Kinds)
		faults = append(faults, overlaps...)
	}
	if len(faults) > 0 {
		return nil, nil, errors.Join(faults...)
	}
	options.Field = manifest.Path{"spec", "select"}
	objects, _, err = manifest.Normalize(raw, options)
	for i := range objects {
		// Errors about the object must name the item of spec.select, and not the index among the matched objects.
		objects[i].Position = selected[objects[i].ID][0].Position
	}
	return objects, warnings, err
}

// IsSelected reports whether an object is matched by spec.select. Its position is then the index of the first
// spec.select item that matches it. Messages about it name the item of spec.select, and not a manifest.
func IsSelected(o manifest.Object) bool { return len(o.Field) > 1 && o.Field[1] == "select" }

// validateSelection validates the hold field of each spec.select item, whether or not an object matches. It returns
// warnings about dropped fields. Without it, a mistake would only appear when the first object matches.
func validateSelection(entries []Selection, options manifest.Options) (warnings []string, faults []error) {
	for _, s := range entries {
		// The identity is a placeholder, because no object is needed to validate the fields.
		raw := s.manifestOf(manifest.ID{Group: s.Group, Kind: s.Kind, Name: "name"}, map[string]any{"metadata": map[string]any{"name": "name", "namespace": "name", "uid": "uid"}})
		options.Field = manifest.Path{"spec", "select", s.Position, "hold"}
		objects, dropped, err := manifest.Normalize([]map[string]any{raw}, options)
		for _, w := range dropped {
			warnings = append(warnings, selectFault(s.Position, w.Message, append([]any{"hold"}, w.Path...)...).Error())
		}
		for _, err := range manifest.Unjoin[error](err) {
			if fault, ok := errors.AsType[*manifest.ValidationError](err); ok {
				err = selectFault(s.Position, fault.Message, append([]any{"hold"}, fault.Path...)...)
			}
			faults = append(faults, err)
		}
		if len(objects) == 1 && len(observer.PartialEntry(objects[0], nil).Root.Fields) == 0 {
			faults = append(faults, selectFault(s.Position, "sets no field, so nothing would be held", "hold"))
		}
	}
	return warnings, faults
}

// tooMany returns a *Problem if spec.select matches more objects than spec.maxObjects. A pattern that is too wide would
// otherwise change many objects of other owners at once.
func tooMany(app *v1alpha1.Application, entries []Selection, selected map[manifest.ID][]Selection) error {
	if len(selected) <= mostObjects(app) {
		return nil
	}
	counts := make([]string, len(entries))
	for i, s := range entries {
		n := 0
		for _, by := range selected {
			if slices.ContainsFunc(by, func(other Selection) bool { return other.Position == s.Position }) {
				n++
			}
		}
		counts[i] = fmt.Sprintf("spec.select[%d]: %d of kind %s", s.Position, n, s.Kind)
	}
	return Problemf(v1alpha1.ReasonTooManyObjects,
		"spec.select matches %d objects, but spec.maxObjects allows %d, so nothing is written or released: match fewer objects, or raise spec.maxObjects (%s)",
		len(selected), mostObjects(app), FirstNames(counts))
}

// manifestOf returns the manifest of one object, with the fields that the selection holds. It is a new map, with
// references resolved, identity, and the annotation for a shared object. If the metadata is not a map, the manifest has
// no identity, and its validation fails. For hold: {metadata: {labels: {owner: $(metadata.name)}}} and the Service web,
// it is
//
//	{apiVersion: v1, kind: Service,
//	 metadata: {name: web, namespace: shop, labels: {owner: web}, annotations: {holdfast.dev/ownership: Share}}}
func (s Selection) manifestOf(id manifest.ID, live map[string]any) map[string]any {
	content, _ := resolve(s.hold, live).(map[string]any)
	content["apiVersion"], content["kind"] = s.GroupVersion().String(), s.Kind
	if _, isMap := content["metadata"].(map[string]any); !isMap && content["metadata"] != nil {
		return content // validation rejects it
	}
	metadata := manifest.EnsureMap(content, "metadata")
	metadata["name"] = id.Name
	if id.Namespace != "" {
		metadata["namespace"] = id.Namespace
	}
	if _, isMap := metadata["annotations"].(map[string]any); isMap || metadata["annotations"] == nil {
		manifest.EnsureMap(metadata, "annotations")[v1alpha1.AnnotationOwnership] = string(v1alpha1.OwnershipShare)
	}
	return content
}

// mergeSelections returns the manifest of an object that several spec.select items match. It is a validation error if
// two items set the same field, or select the object in two versions. For example, one item holds a label of all
// Deployments, and another one the replicas of those with a name.
func mergeSelections(id manifest.ID, live map[string]any, by []Selection, known Kinds) (content map[string]any, faults []error) {
	content = by[0].manifestOf(id, live)
	for i, s := range by[1:] {
		more := s.manifestOf(id, live)
		if s.GroupVersionKind != by[0].GroupVersionKind {
			faults = append(faults, selectFault(s.Position, fmt.Sprintf("selects %s in %s, and spec.select[%d] in %s: use one version for both",
				id, s.Version, by[0].Position, by[0].Version), "apiVersion"))
			continue
		}
		// Each manifest has these fields, so they are not overlaps.
		for _, field := range []string{"apiVersion", "kind"} {
			delete(more, field)
		}
		metadata := manifest.NestedMap(more, "metadata")
		delete(metadata, "name")
		delete(metadata, "namespace")
		delete(manifest.NestedMap(metadata, "annotations"), v1alpha1.AnnotationOwnership)
		u := union{kind: known.Type(s.GroupVersionKind)}
		u.maps(nil, u.kind, content, more)
		for _, path := range u.overlaps {
			first := slices.IndexFunc(by[:i+1], func(one Selection) bool {
				_, has := observer.ValueAt(one.manifestOf(id, live), path)
				return has
			})
			faults = append(faults, selectFault(s.Position, fmt.Sprintf("holds %s of %s, which spec.select[%d] also holds: remove it from one of them",
				path, id, by[max(first, 0)].Position), "hold"))
		}
	}
	return content, faults
}

// union merges parts of one object. Fields that both parts set are overlaps. kind is the type of the object, or nil.
type union struct {
	kind *kinds.Node
	// overlaps are the paths of fields that both parts set.
	overlaps []*observer.Path
}

// maps adds the fields of from to into, which it changes. An atomic map that both have is an overlap.
func (u *union) maps(path *observer.Path, t *kinds.Node, into, from map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		at, there := path.Field(name), into[name]
		switch more := from[name].(type) {
		case map[string]any:
			if below, isMap := there.(map[string]any); isMap && !t.Field(name).IsOneValue() {
				u.maps(at, t.Field(name), below, more)
				continue
			}
		case []any:
			if list, isList := there.([]any); isList {
				into[name] = u.lists(at, t.Field(name), list, more)
				continue
			}
		}
		if there != nil {
			u.overlaps = append(u.overlaps, at)
			continue
		}
		into[name] = from[name]
	}
}

// lists merges elements with the same keys, and appends the others. It returns the merged list, and changes the
// elements of both lists. Elements without keys are the same if their values are equal. Two items can hold different
// fields of one container, which has its name in both.
func (u *union) lists(path *observer.Path, t *kinds.Node, into, from []any) []any {
	list := observer.List{}
	list.ByValue = !list.ByIdentity(t)
	same := list.Identities(t, from, into)
	labels := list.Labels(t, from)
	for i, element := range from {
		at := path.Element(labels[i], -1)
		if same[i] < 0 {
			into = append(into, element)
			continue
		}
		below, isMap := into[same[i]].(map[string]any)
		more, areMaps := element.(map[string]any)
		if !isMap || !areMaps || t == nil || t.List != kinds.Map {
			u.overlaps = append(u.overlaps, at)
			continue
		}
		// The keys are equal in both elements, and would be overlaps.
		for _, key := range t.Keys {
			delete(more, key)
		}
		u.maps(at, t.Elem(), below, more)
	}
	return into
}

// referable are the fields of an object that references can name. They never change. If another client could write a
// referenced field, it could derive that field from the held value, so that both change without end. They are the
// fields of the Downward API that identify an object.
var referable = []string{"metadata.name", "metadata.namespace", "metadata.uid"}

// resolve returns a copy of a value in which references to fields of the object are replaced. A reference to a
// missing field becomes "". Keys of maps are not resolved.
//
//	$(metadata.name).example.com     web.example.com
//	$$(metadata.name)                $(metadata.name)
//	$(metadata.name                  unchanged
func resolve(value any, object map[string]any) any {
	text, isText := value.(string)
	if !isText {
		return manifest.MapChildren(value, func(child any) any { return resolve(child, object) })
	}
	var b strings.Builder
	references(text, func(plain string) { b.WriteString(plain) }, func(path string) {
		b.WriteString(manifest.NestedString(object, strings.Split(path, ".")...))
	})
	return b.String()
}

// references splits a string into plain text and references, and calls the functions for them in order. $$( escapes
// $(. A reference without a closing parenthesis is plain text.
func references(value string, plain, reference func(string)) {
	for value != "" {
		before, rest, found := strings.Cut(value, "$(")
		path, after, ends := strings.Cut(rest, ")")
		switch {
		case !found || !ends:
			plain(value)
			return
		case strings.HasSuffix(before, "$"):
			plain(before[:len(before)-1] + "$(")
			value = rest
		default:
			plain(before)
			reference(path)
			value = after
		}
	}
}

// hasReference reports whether the value of a string depends on the object.
func hasReference(value string) (has bool) {
	references(value, func(string) {}, func(string) { has = true })
	return has
}

// unknownReferences returns the references that are not allowed.
func unknownReferences(value any) (unknown []string) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			unknown = append(unknown, unknownReferences(value[name])...)
		}
	case []any:
		for _, child := range value {
			unknown = append(unknown, unknownReferences(child)...)
		}
	case string:
		references(value, func(string) {}, func(path string) {
			if !slices.Contains(referable, path) {
				unknown = append(unknown, path)
			}
		})
	}
	return unknown
}
