package observer

import (
	"strconv"
	"strings"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Path leads from the root of an object to one of its values. It has two names for each path element. One
// is for users: `containers[name=web]` does not change when the list is reordered. The other is for a JSON
// Pointer: the index in the live list. The nil Path is the root.
//
// Paths share their prefixes. They are rendered only on demand, because most of them are never printed.
type Path struct {
	// parent is nil for a field of the root.
	parent *Path
	field  string // set for a map key
	label  string // set for a list element, with its brackets
	index  int    // live index of a list element; -1 if it is not live
	nth    int    // index in the desired list; -1 if it is not an element of it
}

// Field returns the path of a key of a map.
func (p *Path) Field(name string) *Path { return &Path{parent: p, field: name} }

// Element returns the path of a list element. label is its name for users, in brackets; index is its index
// in the live list, or -1.
func (p *Path) Element(label string, index int) *Path {
	return &Path{parent: p, label: label, index: index, nth: -1}
}

// Desired sets the index of the list element in the desired list, and returns the path. Call it only for a new path,
// because other paths may share this one.
func (p *Path) Desired(nth int) *Path {
	p.nth = nth
	return p
}

// DesiredIndex returns the index of the last path element in the desired list, or -1.
func (p *Path) DesiredIndex() int { return p.nth }

// Set sets the value of a field in a desired state. It adds missing maps above the field. List elements above the field
// must exist. It does nothing if a value above the field has another type. The last path element must be a field. It
// changes desired, which must be a copy.
func (p *Path) Set(desired map[string]any, value any) {
	if m, ok := p.parent.lookup(desired).(map[string]any); ok {
		m[p.field] = value
	}
}

// Delete removes a field from a desired state, if it exists. Unlike Set, it adds no maps above the field.
func (p *Path) Delete(desired map[string]any) {
	parent, _ := p.parent.Of(desired)
	if m, ok := parent.(map[string]any); ok {
		delete(m, p.field)
	}
}

// Of returns the value at the path in a desired state, or in another state with the same lists. It finds list
// elements by DesiredIndex, and not by their keys.
func (p *Path) Of(desired any) (value any, ok bool) {
	if p == nil {
		return desired, true
	}
	parent, _ := p.parent.Of(desired)
	if p.label != "" {
		l, _ := parent.([]any)
		return elementAt(l, p.nth), p.nth >= 0 && p.nth < len(l)
	}
	m, _ := parent.(map[string]any)
	value, ok = m[p.field]
	return value, ok
}

// lookup returns the value at the path in a desired state. It adds each missing map on the way. It returns nil if a
// value has another type, or a list element does not exist.
func (p *Path) lookup(desired map[string]any) any {
	if p == nil {
		return desired
	}
	parent := p.parent.lookup(desired)
	if p.label != "" {
		l, _ := parent.([]any)
		return elementAt(l, p.nth)
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

// Parent returns the path of the value that contains the path's value; nil for a field of the root. Do not
// call it for the root.
func (p *Path) Parent() *Path { return p.parent }

// Name returns the key of the last path element, if it is a field of a map.
func (p *Path) Name() string { return p.field }

// Label returns the readable name of the last path element, in brackets, if it is a list element.
func (p *Path) Label() string { return p.label }

// Chain returns the paths of all path elements, from the field of the root to the path itself.
func (p *Path) Chain() []*Path {
	if p == nil {
		return nil
	}
	return append(p.parent.Chain(), p)
}

// IsElement reports whether the last path element is a list element.
func (p *Path) IsElement() bool { return p != nil && p.label != "" }

// Index returns the live index of a list element, or -1 if it is not live.
func (p *Path) Index() int { return p.index }

// String returns the readable path: spec.ports[port=80,protocol=TCP].targetPort,
// metadata.labels['app.kubernetes.io/name'].
func (p *Path) String() string {
	var b strings.Builder
	p.write(&b)
	return b.String()
}

// write appends the readable path. It is recursive, because a path knows only the elements above it.
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

// Pointer returns the JSON Pointer (RFC 6901) of the path in the live object. It is valid only if all list elements in
// the path are live. For example, /spec/template/spec/containers/0/image.
func (p *Path) Pointer() string {
	if p == nil {
		return ""
	}
	step := pointerEscaper.Replace(p.field)
	if p.label != "" {
		step = strconv.Itoa(p.index)
	}
	return p.parent.Pointer() + "/" + step
}

// fieldEscaper escapes a key in single quotes, and quotedField reverses it.
var fieldEscaper = strings.NewReplacer(`\`, `\\`, "'", `\'`)

// pointerEscaper escapes a key for a JSON Pointer. A Replacer does not replace its own results, so ~ remains correct.
var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// IsUnder reports whether path equals prefix or is below it. Both are in the syntax of String.
func IsUnder(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Live returns the value at the path in the live object, or nil.
func (p *Path) Live(live map[string]any) any {
	_, value := p.steps(live)
	return value
}

// Step is one path element in an object: a field of a map, or a list element with its value. For a field, only Field
// is set. For an element, Index is its live index.
type Step struct {
	Field     string
	IsElement bool
	Index     int
	Element   any
}

// Steps returns the path elements from the root of a live object to the path.
func (p *Path) Steps(live map[string]any) []Step {
	steps, _ := p.steps(live)
	return steps
}

// steps returns the path elements, and the value at the path; nil if it does not exist.
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
	element := elementAt(l, p.index)
	return append(steps, Step{IsElement: true, Index: p.index, Element: element}), element
}

// maxDepth limits the nesting of a schema. No Kubernetes kind is nested that deeply.
const maxDepth = 500

// elementAt returns the element with index i, or nil if there is none.
func elementAt(l []any, i int) any {
	if i < 0 || i >= len(l) {
		return nil
	}
	return l[i]
}
