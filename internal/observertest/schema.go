package observertest

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// GVK is the kind of all drawn objects.
var GVK = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

// ID is the identity of all drawn objects.
var ID = manifest.ID{Group: GVK.Group, Kind: GVK.Kind, Namespace: "default", Name: "thing"}

// Object returns the object with that spec.
func Object(spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": GVK.GroupVersion().String(), "kind": GVK.Kind,
		"metadata": map[string]any{"name": ID.Name, "namespace": ID.Namespace, "uid": "u-1", "resourceVersion": "1"},
		"spec":     spec,
	}
}

// Manifest returns the manifest with that spec.
func Manifest(spec map[string]any) manifest.Object {
	return manifest.Object{ID: ID, APIVersion: GVK.GroupVersion().String(), Content: map[string]any{
		"apiVersion": GVK.GroupVersion().String(), "kind": GVK.Kind,
		"metadata": map[string]any{"name": ID.Name}, "spec": spec,
	}}
}

// Options restricts the drawn schemas.
type Options struct {
	// Known schemas name no elements beyond the manifest's lists.
	Known bool
	// Keys are observed in every observed element.
	Keys bool
	// Walked schemas have leaves only over scalars.
	Walked bool
	// Bounded lists have maxima, which always allow the manifest.
	Bounded bool
	// Rules replace some leaves over scalars.
	Rules bool
}

// Entry draws a schema that matches the spec of a manifest.
func Entry(t *rapid.T, spec map[string]any, o Options) *observer.Schema {
	raw := map[string]any{
		"apiVersion": GVK.GroupVersion().String(), "kind": GVK.Kind,
		"metadata": map[string]any{"name": ID.Name},
		"spec":     o.mapping(t, spec, 0),
	}
	prune(raw)
	entry, err := observer.ParseRecorded(raw) // which can have rules
	if err != nil {
		t.Fatalf("%v\n%v", err, raw)
	}
	assigned, err := observer.Assign([]*observer.Schema{entry}, []manifest.Object{Manifest(spec)})
	if err != nil {
		t.Fatalf("%v\n%v", err, raw)
	}
	return assigned[0]
}

// prune removes maps without leaves, which are validation errors unless they are elements.
func prune(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			prune(child)
			if m, ok := child.(map[string]any); ok && len(m) == 0 {
				delete(v, name)
			}
		}
	case []any:
		for _, child := range v {
			prune(child)
		}
	}
}

func (o Options) node(t *rapid.T, name string, v any, depth int) any {
	if !o.Walked && rapid.IntRange(0, 4).Draw(t, "leaf") == 0 {
		return observer.LeafText
	}
	switch v := v.(type) {
	case map[string]any:
		return o.mapping(t, v, depth)
	case []any:
		return o.sequence(t, name, v, depth)
	default:
		if o.Rules && name != "name" && rapid.Bool().Draw(t, "rule") {
			return o.rule(t, v, true)
		}
		return observer.LeafText
	}
}

// rule draws a rule that allows the value in the manifest, if it has one.
func (o Options) rule(t *rapid.T, v any, set bool) any {
	rules := []map[string]any{
		{observer.KeyMode: "push"}, {observer.KeyMode: "report"},
	}
	if !set {
		rules = append(rules, map[string]any{observer.KeyMode: "absent"}, map[string]any{observer.KeyRule: matches("[a-z]+")})
		v = int64(1)
	}
	switch v.(type) {
	case string:
		rules = append(rules, map[string]any{observer.KeyRule: matches("[a-z0-9]*")})
	case int64, float64:
		rules = append(rules,
			map[string]any{observer.KeyMinimum: int64(0), observer.KeyMaximum: int64(2)},
			map[string]any{observer.KeyMaximum: "2500m"},
		)
	}
	rules = append(rules, map[string]any{observer.KeyRule: `self in [dyn("b"), dyn(` + string(manifest.EncodeJSON(v)) + ")]"})
	return rapid.SampledFrom(rules).Draw(t, "rule")
}

// matches returns a CEL rule for whole strings that match a pattern.
func matches(pattern string) string {
	return "type(self) == string && self.matches('^(?:" + pattern + ")$')"
}

func (o Options) mapping(t *rapid.T, m map[string]any, depth int) map[string]any {
	node := map[string]any{}
	for _, name := range sorted(m) {
		if rapid.Bool().Draw(t, "observes "+name) {
			node[name] = o.node(t, name, m[name], depth+1)
		}
	}
	for _, name := range fieldNames {
		if _, has := m[name]; !has && rapid.IntRange(0, 5).Draw(t, "learns "+name) == 0 {
			node[name] = o.unset(t, name, depth)
		}
	}
	return node
}

// unset observes a field that the manifest does not set.
func (o Options) unset(t *rapid.T, name string, depth int) any {
	if o.Rules && rapid.Bool().Draw(t, "rule") {
		return o.rule(t, nil, false)
	}
	if depth >= maxDepth || !o.Walked && rapid.Bool().Draw(t, "leaf") {
		return observer.LeafText
	}
	switch {
	case name[0] == 'm':
		return o.mapping(t, nil, depth+1)
	case name[0] != 'v' && (!o.Known || o.Walked):
		return o.sequence(t, name, nil, depth)
	}
	return observer.LeafText
}

func (o Options) sequence(t *rapid.T, name string, l []any, depth int) []any {
	n := len(l)
	if !o.Known {
		n += rapid.IntRange(0, 2).Draw(t, "beyond")
	}
	elements := []any{}
	for i := range rapid.IntRange(0, n).Draw(t, "elements") {
		elements = append(elements, o.element(t, name, l, i, depth))
	}
	lowest := rapid.IntRange(0, len(l)).Draw(t, "min")
	highest := 0
	if o.Bounded && rapid.Bool().Draw(t, "bounded") {
		highest = max(1, lowest, len(l), len(elements)) + rapid.IntRange(0, 1).Draw(t, "room")
	}
	control := map[string]any{observer.KeyMinLength: int64(lowest), observer.KeyMaxLength: int64(highest)}
	if name[0] == 'k' {
		control[observer.KeyMapKeys] = []any{"name"}
	}
	return append(elements, control)
}

func (o Options) element(t *rapid.T, name string, l []any, i, depth int) any {
	var v any = map[string]any{}
	if name[0] == 's' {
		v = ""
	}
	if i < len(l) {
		v = l[i]
	}
	if _, isMap := v.(map[string]any); !isMap {
		o.Rules = false // an element cannot have a mode
	}
	node := o.node(t, name, v, depth+1)
	if m, ok := node.(map[string]any); ok && name[0] == 'k' && (o.Keys || i >= len(l)) {
		m["name"] = observer.LeafText
	}
	return node
}

// Type returns the typed schema of the kind: it defines which lists are sets, and the keys of list-maps.
func Type() *kinds.Node {
	crd := map[string]any{"spec": map[string]any{
		"group": GVK.Group, "names": map[string]any{"kind": GVK.Kind},
		"versions": []any{map[string]any{"name": GVK.Version, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": typeOf(0)}},
		}}},
	}}
	return kinds.FromCRD(crd, GVK)
}

func typeOf(depth int) map[string]any {
	properties := map[string]any{"name": map[string]any{"type": "string"}, "vip": map[string]any{"type": "string"}}
	if depth <= maxDepth {
		for _, name := range fieldNames {
			properties[name] = fieldType(name, depth)
		}
	}
	return map[string]any{"type": "object", "properties": properties}
}

func fieldType(name string, depth int) map[string]any {
	switch name[0] {
	case 'm':
		return typeOf(depth + 1)
	case 'k':
		return map[string]any{"type": "array", "items": typeOf(depth + 1),
			"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"name"}}
	case 'l':
		return map[string]any{"type": "array", "items": typeOf(depth + 1)}
	case 's':
		return map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "x-kubernetes-list-type": "set"}
	default:
		return map[string]any{"type": "string"}
	}
}
