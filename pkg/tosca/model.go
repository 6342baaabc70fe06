package tosca

import (
	"cmp"
	"slices"
)

// model contains the inputs and node templates of the entry template. They are read first, and then checked, because
// they refer to each other. checkTopology resolves the references between the nodes. After it, the nodes are not
// changed, except for the values of inputs, which the evaluator caches in them.
type model struct {
	*library

	inputs map[string]*input
	// inputNames and order list the inputs and node templates in the order of the template.
	inputNames []string
	templates  map[string]*template
	order      []*template
}

// newModel returns an empty model. readTopology and readInputs fill it.
func newModel(types *library) *model {
	return &model{library: types, templates: map[string]*template{}, inputs: map[string]*input{}}
}

// input is an input of the template and the value it was given. The embedded schema is the declaration. Its typeName is
// "" if the type is not known.
type input struct {
	*schema
	name string
	// given is the value of the caller; nil if the caller gave none. Then the default applies.
	given *Input
	// value is valid when done is true.
	value value
	// mistakes are the errors in the value. They count if the value was given, or if a manifest needs it.
	mistakes []*Error
	// asked is true when the evaluation has begun, and done when it has ended. Between them, another request is a
	// loop: a default can call for other inputs.
	asked, done bool
}

// template is a node template. A foreign node is one whose kubernetes is false. Its properties can be read by
// get_property, and it makes no manifest.
type template struct {
	name string
	at   fileNode
	// original is the node template that the key copy names; absent without one.
	original fileNode
	// index is the position in model.order.
	index    int
	typeName string
	// line is the type with its ancestors; nil if the type is unknown.
	line []*definition
	// kubernetes is true if the spec of the node is rendered.
	kubernetes bool
	// schemas are the properties that its type declares, by name.
	schemas      map[string]*schema
	requirements []requirement
}

// requirement refers to another node template; to is nil if that is not in the template. at is the key of the
// requirement. Its value is the name of the node or a map, in which capability can be set.
type requirement struct {
	name string
	at   fileNode
	to   *template
}

// get returns a key of a node template, or that of the one it copies.
func (n *template) get(key string) fileNode {
	return cmp.Or(n.at.get(key), n.original.get(key))
}

// requirementsNamed returns the requirements of a name, in their order.
func (n *template) requirementsNamed(name string) []requirement {
	return slices.DeleteFunc(slices.Clone(n.requirements), func(r requirement) bool { return r.name != name })
}

// noTemplate reports the name of a node template that does not exist. others are the other names that are valid there.
func (t *model) noTemplate(p fileNode, others ...string) {
	names := func() []string {
		return append(others, collectNames(t.order, func(n *template) string { return n.name })...)
	}
	t.faults.add(p, UnknownNode, "there is no node template %s%s", quote(p.text()), t.near(p.text(), names))
}
