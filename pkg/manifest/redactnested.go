package manifest

import (
	"encoding/json"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// HasManifests reports whether objects of the kind contain manifests, some of which can be Secrets.
// Applications do.
func HasManifests(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: v1alpha1.Kind}
}

// RedactNested redacts an object for output. In Applications it also redacts the manifests, and in lists
// the items, at any depth. The input is not modified; the result shares the parts that are not masked.
func RedactNested(content map[string]any) map[string]any {
	return redaction{mark: Masked}.shown(content, nil)
}

// RedactPart is like RedactNested for a part of an object that lacks some of its fields. A manifest without a kind may
// be a Secret, so its values are masked. A part without an apiVersion may be an Application.
func RedactPart(content map[string]any) map[string]any {
	return redaction{mark: Masked, partial: true}.shown(content, nil)
}

// RedactNestedChange redacts two states of one object like kubectl diff: changed values become "*** (before)" and "***
// (after)", others "***". Either state can be nil. If neither has changed a value, both show "***". A value that only
// one of them has is "***" there.
func RedactNestedChange(before, after map[string]any) (shownBefore, shownAfter map[string]any) {
	return redaction{mark: changeMark(after, maskedBefore)}.shown(before, after), redaction{mark: changeMark(before, maskedAfter)}.shown(after, before)
}

// changeMark returns the mark for values that differ from those of another state. Without another state, nothing has
// changed.
func changeMark(other map[string]any, mark string) string {
	if other == nil {
		return Masked
	}
	return mark
}

// redaction redacts objects for output.
type redaction struct {
	// mark replaces values that differ from those of the other state.
	mark string
	// partial is true if fields can be missing: see RedactPart.
	partial bool
}

// shown redacts an object, and everything in it that is a manifest. other is the other state, or nil. It returns nil
// for nil. The copy of kubectl in an Application is redacted, and not masked, because it shows what the user applied.
func (r redaction) shown(content, other map[string]any) map[string]any {
	if content == nil {
		return nil
	}
	apiVersion, _ := content["apiVersion"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	kind, isKnown := content["kind"].(string)
	if items, is := content["items"].([]any); is && strings.HasSuffix(kind, "List") {
		visible := maps.Clone(content)
		others, _ := other["items"].([]any)
		visible["items"] = MapList(items, others, r.shown)
		if kind == "SecretList" { // items of a SecretList can omit their kind
			visible["items"] = Masked
		}
		return visible
	}
	if r.partial && !isKnown {
		visible := maps.Clone(content)
		for field := range content {
			if SecretField(field) {
				visible[field] = Masked
			}
		}
		return visible
	}
	if r.partial && apiVersion == "" {
		group = v1alpha1.GroupVersion.Group
	}
	if !HasManifests(schema.GroupKind{Group: group, Kind: kind}) {
		return redact(content, other, r.mark)
	}
	visible := maps.Clone(MapManifests(content, other, r.shown))
	if copied, is := annotationsOf(content)[LastApplied].(string); is {
		visible["metadata"] = withLastApplied(content, shownCopy(copied))
	}
	return visible
}

// MapManifests returns a copy of an Application with the results of replace for its manifests, and for the parts of
// objects in spec.select[].hold. These parts get the apiVersion and kind of their item for the call. other is the other
// state of the Application, or nil; replace also gets the manifest at the same index there, or nil. replace must not
// change its arguments. The copy shares all other values with app.
func MapManifests(app, other map[string]any, replace func(part, other map[string]any) map[string]any) map[string]any {
	spec, is := app["spec"].(map[string]any)
	if !is {
		return app
	}
	visible, spec, others := maps.Clone(app), maps.Clone(spec), NestedMap(other, "spec")
	visible["spec"] = spec
	for field, mapped := range map[string]func(part, other map[string]any) map[string]any{
		"manifest": replace,
		"select": func(item, other map[string]any) map[string]any {
			return mapSelection(item, other, replace)
		},
	} {
		if list, is := spec[field].([]any); is {
			there, _ := others[field].([]any)
			spec[field] = MapList(list, there, mapped)
		}
	}
	return visible
}

// mapSelection returns a copy of an item of spec.select with the result of replace for the part of an object that it
// holds.
func mapSelection(item, other map[string]any, replace func(part, other map[string]any) map[string]any) map[string]any {
	hold, is := item["hold"].(map[string]any)
	if !is {
		return item
	}
	part := maps.Clone(hold)
	for _, field := range identifying {
		delete(part, field)
		if value, has := item[field]; has {
			part[field] = value
		}
	}
	visible := maps.Clone(item)
	part = maps.Clone(replace(part, NestedMap(other, "hold")))
	for _, field := range identifying {
		delete(part, field)
		if value, has := hold[field]; has {
			part[field] = value
		}
	}
	visible["hold"] = part
	return visible
}

// identifying are the fields of an object that name its kind.
var identifying = []string{"apiVersion", "kind"}

// MapList returns a copy of a list with the results of replace for its maps, each with the one at the same index of
// others. Elements that have moved are compared with others, so that an unchanged value can be marked as changed. It is
// never shown.
func MapList(list, others []any, replace func(part, other map[string]any) map[string]any) []any {
	visible := make([]any, len(list))
	for i, item := range list {
		visible[i] = item
		if content, is := item.(map[string]any); is {
			var other map[string]any
			if i < len(others) {
				other, _ = others[i].(map[string]any)
			}
			visible[i] = replace(content, other)
		}
	}
	return visible
}

// shownCopy redacts the copy that kubectl apply keeps of an Application. A copy that is not JSON is masked
// completely.
func shownCopy(text string) string {
	var applied map[string]any
	if json.Unmarshal([]byte(text), &applied) != nil {
		return Masked
	}
	raw, err := json.Marshal(RedactNested(applied))
	if err != nil {
		return Masked
	}
	return string(raw)
}
