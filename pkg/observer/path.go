package observer

import (
	"strconv"
	"strings"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Path leads from the root of an object to one of its values. It carries two
// names for each step: the one people read (`containers[name=web]`, which does
// not change when the list is reordered) and the one a JSON Pointer needs (the
// index in the live list). The nil Path is the root.
//
// Paths share their prefixes and are rendered only when they are asked for, since
// most of them are walked and never shown.
type Path struct {
	parent *Path
	field  string // set for a map key
	label  string // set for a list element, with its brackets
	index  int    // live index of a list element; -1 if it is not live
	nth    int    // of the elements of the desired list; -1 if it is not one
}

// Field is the path of a map's key.
func (p *Path) Field(name string) *Path { return &Path{parent: p, field: name} }

// Fields are the paths of a map's keys, made at once: to walk a map makes little garbage.
func (p *Path) Fields(of []Field) []Path {
	paths := make([]Path, len(of))
	for i, f := range of {
		paths[i] = Path{parent: p, field: f.Name}
	}
	return paths
}

// Element is the path of a list's element: label is what people read, in
// brackets; index is its place in the live list, or -1.
func (p *Path) Element(label string, index int) *Path {
	return &Path{parent: p, label: label, index: index, nth: -1}
}

// Desired says which element of the desired list it is that the path leads to.
func (p *Path) Desired(nth int) *Path {
	p.nth = nth
	return p
}

// DesiredIndex is which element of the desired list the last step leads to, or -1.
func (p *Path) DesiredIndex() int { return p.nth }

// Set sets the value of a field in a desired state, with the maps on the way to it
// that are not there. Elements on the way must be.
func (p *Path) Set(desired map[string]any, value any) {
	if m, ok := p.parent.in(desired).(map[string]any); ok {
		m[p.field] = value
	}
}

// Delete takes the value of a field out of a desired state, if it is there.
func (p *Path) Delete(desired map[string]any) {
	if m, ok := p.parent.in(desired).(map[string]any); ok {
		delete(m, p.field)
	}
}

// Of returns the value that the path leads to in a desired state, or in another with the same
// lists.
func (p *Path) Of(desired any) (value any, ok bool) {
	if p == nil {
		return desired, true
	}
	parent, _ := p.parent.Of(desired)
	if p.label != "" {
		l, _ := parent.([]any)
		return at(l, p.nth), p.nth >= 0 && p.nth < len(l)
	}
	m, _ := parent.(map[string]any)
	value, ok = m[p.field]
	return value, ok
}

func (p *Path) in(desired map[string]any) any {
	if p == nil {
		return desired
	}
	parent := p.parent.in(desired)
	if p.label != "" {
		l, _ := parent.([]any)
		return at(l, p.nth)
	}
	m, ok := parent.(map[string]any)
	if !ok {
		return nil
	}
	if _, ok := m[p.field]; !ok {
		m[p.field] = map[string]any{}
	}
	return m[p.field]
}

// Parent is the path one step up; nil for the root and its fields.
func (p *Path) Parent() *Path { return p.parent }

// Name is the key of the last step, for a field of a map.
func (p *Path) Name() string { return p.field }

// Label is what people read for the last step, in brackets, for an element of a list.
func (p *Path) Label() string { return p.label }

// Chain are the paths of all steps, from the root's field to the path itself.
func (p *Path) Chain() []*Path {
	if p == nil {
		return nil
	}
	return append(p.parent.Chain(), p)
}

// IsElement reports whether the last step is an element of a list.
func (p *Path) IsElement() bool { return p != nil && p.label != "" }

// Index is the live index of a list element, -1 for one that is not live.
func (p *Path) Index() int { return p.index }

// String is the path for people: spec.ports[port=80,protocol=TCP].targetPort,
// metadata.labels['app.kubernetes.io/name'].
func (p *Path) String() string {
	var b strings.Builder
	p.write(&b)
	return b.String()
}

func (p *Path) write(b *strings.Builder) {
	if p == nil {
		return
	}
	p.parent.write(b)
	switch {
	case p.label != "":
		b.WriteString(p.label)
	case manifest.IsPlain(p.field):
		if p.parent != nil {
			b.WriteByte('.')
		}
		b.WriteString(p.field)
	default:
		b.WriteString("['" + fieldEscaper.Replace(p.field) + "']")
	}
}

// Pointer is the JSON Pointer (RFC 6901) of the path in the live object.
func (p *Path) Pointer() string {
	var b strings.Builder
	p.point(&b)
	return b.String()
}

func (p *Path) point(b *strings.Builder) {
	if p == nil {
		return
	}
	p.parent.point(b)
	b.WriteByte('/')
	if p.label != "" {
		b.WriteString(strconv.Itoa(p.index))
		return
	}
	b.WriteString(pointerEscaper.Replace(p.field))
}

var fieldEscaper = strings.NewReplacer(`\`, `\\`, "'", `\'`)

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// IsUnder reports whether path is prefix or lies below it, both as String gives
// them.
func IsUnder(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Live returns the value that the path leads to in the live object; nil if there is none.
func (p *Path) Live(live map[string]any) any {
	_, value := p.steps(live)
	return value
}

// Step is one step of a path in an object: a map's field, or an element of a
// list with its value.
type Step struct {
	Field     string
	IsElement bool
	Index     int
	Element   any
}

// Steps are the steps from the root of a live object to the path.
func (p *Path) Steps(live map[string]any) []Step {
	steps, _ := p.steps(live)
	return steps
}

func (p *Path) steps(live any) ([]Step, any) {
	if p == nil {
		return nil, live
	}
	steps, parent := p.parent.steps(live)
	if p.label == "" {
		m, _ := parent.(map[string]any)
		return append(steps, Step{Field: p.field}), m[p.field]
	}
	l, _ := parent.([]any)
	element := at(l, p.index)
	return append(steps, Step{IsElement: true, Index: p.index, Element: element}), element
}
