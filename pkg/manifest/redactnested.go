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
	return redaction{}.shown(content)
}

// RedactPart is like RedactNested for a part of an object that lacks some of its fields. A manifest without a kind may
// be a Secret, so its values are masked. A part without an apiVersion may be an Application.
func RedactPart(content map[string]any) map[string]any {
	return redaction{partial: true}.shown(content)
}

// redaction redacts objects for output.
type redaction struct {
	// partial is true if fields can be missing: see RedactPart.
	partial bool
}

// shown redacts an object, and everything in it that is a manifest. It returns nil for nil. The copy of kubectl in an
// Application is redacted, and not masked, because it shows what the user applied.
func (r redaction) shown(content map[string]any) map[string]any {
	if content == nil {
		return nil
	}
	apiVersion, _ := content["apiVersion"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	kind, isKnown := content["kind"].(string)
	if items, is := content["items"].([]any); is && strings.HasSuffix(kind, "List") {
		visible := maps.Clone(content)
		visible["items"] = MapList(items, r.shown)
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
		return Redact(content)
	}
	visible := maps.Clone(MapManifests(content, r.shown))
	if copied, is := annotationsOf(content)[LastApplied].(string); is {
		visible["metadata"] = withLastApplied(content, shownCopy(copied))
	}
	return visible
}

// MapManifests returns a copy of an Application with the results of replace for its manifests, and for the parts of
// objects in spec.select[].hold. These parts get the apiVersion and kind of their item for the call. replace must not
// change its argument. The copy shares all other values with app.
func MapManifests(app map[string]any, replace func(part map[string]any) map[string]any) map[string]any {
	spec, is := app["spec"].(map[string]any)
	if !is {
		return app
	}
	visible, spec := maps.Clone(app), maps.Clone(spec)
	visible["spec"] = spec
	for field, mapped := range map[string]func(part map[string]any) map[string]any{
		"manifest": replace,
		"select":   func(item map[string]any) map[string]any { return mapSelection(item, replace) },
	} {
		if list, is := spec[field].([]any); is {
			spec[field] = MapList(list, mapped)
		}
	}
	return visible
}

// mapSelection returns a copy of an item of spec.select with the result of replace for the part of an object that it
// holds.
func mapSelection(item map[string]any, replace func(part map[string]any) map[string]any) map[string]any {
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
	part = maps.Clone(replace(part))
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

// MapList returns a copy of a list with the results of replace for its maps.
func MapList(list []any, replace func(part map[string]any) map[string]any) []any {
	visible := make([]any, len(list))
	for i, item := range list {
		visible[i] = item
		if content, is := item.(map[string]any); is {
			visible[i] = replace(content)
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
