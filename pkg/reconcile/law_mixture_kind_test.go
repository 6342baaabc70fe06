package reconcile_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// shape is the type of a part.
type shape string

const (
	scalar  shape = "scalar"
	mapping shape = "map"
	keyed   shape = "keyed" // a list of maps with x-kubernetes-list-type: map
	list    shape = "list"  // a list of maps without keys
	args    shape = "args"  // a list of scalars without keys
	setOf   shape = "set"
)

// habit describes how the API server treats a part or a unit.
type habit string

const (
	plain      habit = ""
	fixed      habit = "fixed"   // is immutable
	grows      habit = "grows"   // can only become larger
	defaulted  habit = "default" // is filled in
	sticky     habit = "sticky"  // keeps its value when a client removes it
	amount     habit = "amount"  // has a normal form
	zero       habit = "zero"    // is dropped if it is zero
	oneOf      habit = "one"     // at most one member
	alias      habit = "name"    // a field and its old name
	switchable habit = "type"    // type A sets a default strategy, type B forbids one
)

// A part is a field of a generated kind, or its spec.
type part struct {
	name  string
	shape shape
	habit habit
	// blunt is true if the rejection message only names spec.
	blunt bool
	// twice is true for a list that can contain a key twice, like the env of a container.
	twice bool
	// units of a map, or of the elements of a list of maps.
	units []*unit
}

// A unit is one part, or several that depend on each other.
type unit struct {
	habit habit
	blunt bool
	parts []*part
}

// deepest is the depth of the maps in a generated kind.
const deepest = 2

var (
	simpleWords = []string{"text", "text", "default", "amount", "zero", "one", "name", "type", "args", "set"}
	// The API server cannot correlate an element of a list without keys with an earlier one.
	stableWords = []string{"fixed", "grows", "sticky"}
	nestedWords = []string{"map", "keyed", "env", "list", "list"}
)

// kindDrawing numbers the fields of a kind while it is drawn.
type kindDrawing struct {
	r      *rapid.T
	serial int
}

// drawKind returns the spec of a random kind. Its first fields have the given words.
func drawKind(r *rapid.T, words ...string) *part {
	d := &kindDrawing{r: r}
	spec := &part{name: "spec", shape: mapping}
	for _, word := range words {
		spec.units = append(spec.units, d.unit(word, 0, false))
	}
	spec.units = append(spec.units, d.units(0, false)...)
	return spec
}

// once makes all list keys unique. If a manifest changes one of several elements with the same key, it is
// unknown which of them has changed.
func (p *part) once() *part {
	p.twice = false
	for _, u := range p.units {
		for _, below := range u.parts {
			below.once()
		}
	}
	return p
}

func (d *kindDrawing) units(depth int, inList bool) (units []*unit) {
	words := slices.Clone(simpleWords)
	if !inList {
		words = append(words, stableWords...)
	}
	if depth < deepest {
		words = append(words, nestedWords...)
	}
	for range rapid.IntRange(1, 4).Draw(d.r, "fields") {
		units = append(units, d.unit(rapid.SampledFrom(words).Draw(d.r, "field"), depth, inList))
	}
	return units
}

func (d *kindDrawing) unit(word string, depth int, inList bool) *unit {
	d.serial++
	name := fmt.Sprint(word, d.serial)
	blunt := rapid.IntRange(0, 3).Draw(d.r, "blunt") == 0
	text := func(name string) *part { return &part{name: name, shape: scalar} }
	switch word {
	case "map", "keyed", "env", "list":
		p := &part{name: name, shape: shape(word), twice: word == "env"}
		if p.twice {
			p.shape = keyed
		}
		p.units = d.units(depth+1, inList || p.twice || p.shape == list)
		return &unit{parts: []*part{p}}
	case "args", "set":
		return &unit{parts: []*part{{name: name, shape: shape(word)}}}
	case "one":
		return &unit{habit: oneOf, blunt: blunt, parts: d.members(name, depth)}
	case "name":
		return &unit{habit: alias, parts: []*part{text(name), text("old" + name)}}
	case "type":
		strategy := &part{name: fmt.Sprint("strategy", d.serial), shape: mapping}
		strategy.units = []*unit{{parts: []*part{{name: fmt.Sprint("default", d.serial), shape: scalar, habit: defaulted}}}}
		return &unit{habit: switchable, blunt: blunt, parts: []*part{text(name), strategy}}
	case "text":
		return &unit{parts: []*part{text(name)}}
	}
	return &unit{parts: []*part{{name: name, shape: scalar, habit: habit(word), blunt: blunt}}}
}

// members returns the two or three members of a one-of group: texts, and maps of texts.
func (d *kindDrawing) members(name string, depth int) (members []*part) {
	for _, letter := range []string{"a", "b", "c"}[:rapid.IntRange(2, 3).Draw(d.r, "members")] {
		p := &part{name: name + letter, shape: scalar}
		if depth < deepest && rapid.Bool().Draw(d.r, "a map") {
			p.shape = mapping
			p.units = []*unit{{parts: []*part{{name: "key", shape: scalar}}}, {parts: []*part{{name: "mode", shape: scalar, habit: defaulted}}}}
		}
		members = append(members, p)
	}
	return members
}

// part returns the field of a map with the given name, or nil.
func (p *part) part(name string) *part {
	for _, u := range p.units {
		for _, member := range u.parts {
			if member.name == name {
				return member
			}
		}
	}
	return nil
}

// element returns the type of the elements of a list of maps.
func (p *part) element() *part { return &part{shape: mapping, units: p.units} }

// String describes a kind in one line.
func (p *part) String() string {
	text := p.name
	if p.blunt && (p.habit == fixed || p.habit == grows) {
		text += "(names spec)"
	}
	if len(p.units) == 0 {
		return text
	}
	var units []string
	for _, u := range p.units {
		var names []string
		for _, member := range u.parts {
			names = append(names, member.String())
		}
		word := strings.Join(names, map[habit]string{oneOf: "|", alias: "=", switchable: ":"}[u.habit])
		if u.blunt && (u.habit == oneOf || u.habit == switchable) {
			word += "(names spec)"
		}
		units = append(units, word)
	}
	return text + "{" + strings.Join(units, ", ") + "}"
}

// openAPI returns the structural schema of a part, as in a CustomResourceDefinition.
func (p *part) openAPI() map[string]any {
	properties := map[string]any{}
	for _, u := range p.units {
		for _, member := range u.parts {
			properties[member.name] = member.openAPI()
		}
	}
	object := map[string]any{"type": "object", "properties": properties}
	switch p.shape {
	case mapping:
		return object
	case keyed:
		properties["name"] = map[string]any{"type": "string"}
		return map[string]any{"type": "array", "items": object, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"name"}}
	case list:
		return map[string]any{"type": "array", "items": object}
	case args, setOf:
		of := map[shape]string{args: "atomic", setOf: "set"}[p.shape]
		return map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "x-kubernetes-list-type": of}
	}
	if p.habit == grows || p.habit == zero {
		return map[string]any{"type": "integer"}
	}
	return map[string]any{"type": "string"}
}

// merged returns the type of a part in structured-merge-diff.
func (p *part) merged() smd.TypeRef {
	untyped := smd.Untyped
	text := smd.TypeRef{Inlined: smd.Atom{Scalar: &untyped}}
	fields := &smd.Map{}
	if p.shape == keyed {
		fields.Fields = append(fields.Fields, smd.StructField{Name: "name", Type: text})
	}
	for _, u := range p.units {
		for _, member := range u.parts {
			fields.Fields = append(fields.Fields, smd.StructField{Name: member.name, Type: member.merged()})
		}
	}
	elements := smd.TypeRef{Inlined: smd.Atom{Map: fields}}
	switch p.shape {
	case mapping:
		return elements
	case keyed:
		return smd.TypeRef{Inlined: smd.Atom{List: &smd.List{ElementType: elements, ElementRelationship: smd.Associative, Keys: []string{"name"}}}}
	case list:
		return smd.TypeRef{Inlined: smd.Atom{List: &smd.List{ElementType: elements, ElementRelationship: smd.Atomic}}}
	case args:
		return smd.TypeRef{Inlined: smd.Atom{List: &smd.List{ElementType: text, ElementRelationship: smd.Atomic}}}
	case setOf:
		return smd.TypeRef{Inlined: smd.Atom{List: &smd.List{ElementType: text, ElementRelationship: smd.Associative}}}
	}
	return text
}
