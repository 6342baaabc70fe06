package tosca

// model has the inputs and node templates of the entry template.
type model struct {
	*library

	inputs map[string]*input
	// inputNames and order are as the template has them.
	inputNames []string
	templates  map[string]*template
	order      []*template
}

func newModel(types *library) *model {
	return &model{library: types, templates: map[string]*template{}, inputs: map[string]*input{}}
}

// input is an input of the template and the value it was given.
type input struct {
	*schema
	name  string
	given *Input
	value value
	// mistakes of the value. They count if it was given, or if a manifest
	// needs it.
	mistakes []*Error
	// asked and done tell how far the evaluation is: a default may call for other inputs.
	asked, done bool
}

// template is a node template.
type template struct {
	name string
	at   fileNode
	// original is the template that copy names.
	original fileNode
	index    int
	typeName string
	line     []*definition
	// kubernetes reports whether its spec is rendered.
	kubernetes bool
	// schemas are the properties of its type.
	schemas      map[string]*schema
	requirements []requirement
}

// requirement leads to another node template; to is nil if it does not.
type requirement struct {
	name string
	at   fileNode
	to   *template
}

// get returns a key of a node template, or that of the one it copies.
func (n *template) get(key string) fileNode {
	if own := n.at.get(key); own.exists() {
		return own
	}
	return n.original.get(key)
}

func (n *template) requirementNames() []string {
	names := make([]string, len(n.requirements))
	for i, r := range n.requirements {
		names[i] = r.name
	}
	return names
}

// requirementsNamed returns the requirements of a name, in their order.
func (n *template) requirementsNamed(name string) []requirement {
	var found []requirement
	for _, r := range n.requirements {
		if r.name == name {
			found = append(found, r)
		}
	}
	return found
}

func (t *model) templateNames() []string {
	names := make([]string, len(t.order))
	for i, n := range t.order {
		names[i] = n.name
	}
	return names
}
