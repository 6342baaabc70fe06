package observer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/manifest"
)

// ValidationError is one validation error in an observer schema. It is comparable, and has no value of a Secret.
type ValidationError struct {
	// Entry is the index in spec.observerSchema.
	Entry int
	// Name is the kind and name of the schema's resource, if known ("Service echo-demo").
	Name string
	// Path of the field inside the schema; empty for the whole schema.
	Path    string
	Message string
	// Late is true for an error that is only a warning if this generation of the spec was accepted before.
	Late bool
}

// Error returns "observerSchema[0] (Service echo-demo): spec.ports: …".
func (f *ValidationError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "observerSchema[%d]", f.Entry)
	if f.Name != "" {
		fmt.Fprintf(&b, " (%s)", f.Name)
	}
	b.WriteString(": ")
	if f.Path != "" {
		b.WriteString(shorten(f.Path) + ": ")
	}
	b.WriteString(f.Message)
	return b.String()
}

// ParseAll parses spec.observerSchema, in Krake's grammar: leaves, control dictionaries and list-map keys. The error joins one *ValidationError for every error. If there are errors, the
// result contains only the valid parts. Pass it to Assign to find further errors, and use it for nothing else. The
// result is parallel to raw. A nil map is an error like a map without apiVersion.
func ParseAll(raw []map[string]any) ([]*Schema, error) {
	entries := make([]*Schema, len(raw))
	var faults []error
	for i, r := range raw {
		entry, errs := parseEntry(i, r)
		faults = manifest.Collect(faults, errs...)
		entries[i] = entry
	}
	return entries, errors.Join(faults...)
}

// ParseRecorded parses a schema in the form of Schema.Raw, which also has rules, types and closed maps. It is only for
// schemas that the controller recorded in a status.
func ParseRecorded(raw map[string]any) (*Schema, error) {
	entry, faults := (&parser{recorded: true}).parse(raw)
	return entry, errors.Join(faults...)
}

// parser reads one schema, and collects all its validation errors.
type parser struct {
	position int
	name     string
	secret   bool // an invalid value can be a secret
	// recorded is true for a schema in a status, which can have rules, types and closed maps.
	recorded bool
	// resource contains the fields that identify the resource in spec.fields, for messages.
	resource map[string]any
	// faults are *ValidationErrors, also in AddRule, which converts them.
	faults []error
}

// parseEntry parses the schema of one resource in spec.observerSchema.
func parseEntry(position int, raw map[string]any) (*Schema, []error) {
	return (&parser{position: position, name: nameOf(raw), secret: raw["kind"] == "Secret"}).parse(raw)
}

// parse parses the schema of one resource. It never returns nil. The nodes of invalid fields are missing. stringData in
// the schema of a Secret becomes data, and the recorded schema has data.
func (p *parser) parse(raw map[string]any) (*Schema, []error) {
	entry := p.identity(raw)
	if len(p.faults) > 0 {
		entry.ID = manifest.ID{} // so that Assign ignores it
	}
	entry.Root = p.fields(nil, raw, 1, func(_ *Path, name string) bool {
		return name == "apiVersion" || name == "kind"
	})
	if manifest.IsSecret(entry.ID.GroupKind()) {
		foldStringData(entry.Root)
	}
	entry.Position = p.position
	return entry, p.faults
}

// nameOf returns the kind and name of a schema for messages. It returns "" if the schema has neither.
func nameOf(raw map[string]any) string {
	kind, _ := raw["kind"].(string)
	return shorten(strings.TrimSpace(kind + " " + manifest.NestedString(raw, "metadata", "name")))
}

// fault adds a validation error, up to those that are reported. A nil path is the whole schema.
func (p *parser) fault(path *Path, format string, args ...any) {
	if len(p.faults) > manifest.MaxFaults {
		return
	}
	p.faults = append(p.faults, &ValidationError{
		Entry: p.position, Name: p.name, Path: path.String(), Message: fmt.Sprintf(format, args...),
	})
}

// identity reads the fields that identify the resource. After an error, the fields that are valid are set. The version
// of apiVersion is kept, and does not identify the resource.
func (p *parser) identity(raw map[string]any) *Schema {
	entry := &Schema{}
	entry.APIVersion = p.text(nil, raw, "apiVersion")
	entry.ID.Kind = p.text(nil, raw, "kind")
	gv, err := schema.ParseGroupVersion(entry.APIVersion)
	if err != nil {
		p.fault((*Path)(nil).Field("apiVersion"), "%q is not group/version", shorten(entry.APIVersion))
	}
	entry.ID.Group = gv.Group
	metadata, ok := raw["metadata"].(map[string]any)
	if !ok {
		p.fault((*Path)(nil).Field("metadata"), "must be a map with the name of the resource, which identifies it")
		return entry
	}
	entry.ID.Name = p.text((*Path)(nil).Field("metadata"), metadata, "name")
	if namespace, ok := metadata["namespace"].(string); ok && namespace != LeafText {
		entry.namespace, entry.ID.Namespace = namespace, namespace
	}
	p.resource = map[string]any{"kind": entry.ID.Kind, "name": entry.ID.Name}
	if entry.namespace != "" {
		p.resource["namespace"] = entry.namespace
	}
	return entry
}

// text reads a string that identifies the resource.
func (p *parser) text(parent *Path, m map[string]any, name string) string {
	s, ok := m[name].(string)
	if !ok || s == "" {
		p.fault(parent.Field(name), "must be a string, and not null: it identifies the resource")
	}
	return s
}

// metadata reads the observed fields of metadata. It returns nil if metadata is not a map. The value of the namespace
// identifies the resource, and is not a leaf.
func (p *parser) metadata(path *Path, raw any) *Node {
	m, ok := raw.(map[string]any)
	if !ok {
		return nil // identity has reported it
	}
	return p.fields(path, m, 2, func(path *Path, name string) bool {
		switch {
		case name == "name":
		// A string is the namespace of the resource. The leaf observes the namespace of the manifest.
		case name == "namespace" && m[name] != nil && m[name] != LeafText:
			if _, ok := m[name].(string); !ok {
				p.fault(path, "must be a string or %q", LeafText)
			}
		case serverOwned(name):
			p.fault(path, "belongs to the API server and cannot be observed")
		default:
			return false
		}
		return true
	})
}

// fields reads a map, except for the keys that isOther returns true for. isOther reports the errors about these keys.
// depth is the level of the values.
func (p *parser) fields(path *Path, m map[string]any, depth int, isOther func(path *Path, name string) bool) *Node {
	node := &Node{Shape: Map}
	for _, name := range sortedKeys(m) {
		var child *Node
		switch at := path.Field(name); {
		case isOther(at, name):
		case name == KeyKeys && p.recorded:
			node.Keys = p.keyLists(at, m[name])
		case path == nil && name == "metadata":
			child = p.metadata(at, m[name])
		default:
			child = p.node(at, m[name], depth)
		}
		if child != nil {
			node.set(name, child)
		}
	}
	return node
}

// node reads the value of a field or list element. It returns nil if nothing is observed there: the value is invalid,
// or a map without leaves. depth counts the levels from the object.
//
//	observed              a leaf
//	learned               a leaf, which is learned in a recorded schema: effective schemas can be copied
//	null                  an error, and a leaf: files are read with ReplaceNulls
//	{rule keys}           a leaf with a rule or a type, in a recorded schema
//	{…}                   a map, or nil if it has keys and no leaf
//	[…, control]          a list
//	any other             an error
func (p *parser) node(path *Path, raw any, depth int) *Node {
	if depth > maxDepth {
		p.fault(nil, "nested deeper than %d levels", maxDepth)
		return nil
	}
	switch v := raw.(type) {
	case nil:
		p.fault(path, "is null, which many clients drop: write %q", LeafText)
		return &Node{Shape: Leaf}
	case map[string]any:
		if p.recorded && hasRuleKey(v) {
			return p.recordedRule(path, v)
		}
		fields := p.withoutRules(path, v)
		if len(fields) == 0 && len(v) > 0 {
			return &Node{Shape: Leaf} // the error about its rule is enough
		}
		return p.mapping(path, fields, depth)
	case []any:
		return p.sequence(path, v, depth)
	case string:
		if v == LeafText || v == learnedText {
			return &Node{Shape: Leaf, Learned: p.recorded && v == learnedText}
		}
	}
	p.fault(path, "must be %q, not %s: a schema contains fields, but no values", LeafText, p.describe(raw))
	return nil
}

// mapping reads a map. It returns nil if the map has keys and observes none of them. An empty map is a placeholder.
func (p *parser) mapping(path *Path, m map[string]any, depth int) *Node {
	node := p.fields(path, m, depth+1, func(path *Path, name string) bool {
		isControl := slices.Contains(controlKeys, name)
		if isControl {
			p.fault(path, "belongs in the control dictionary, the last element of a list")
		}
		return isControl
	})
	if len(m) > 0 && node.IsPlaceholder() {
		return nil
	}
	return node
}

// sequence reads a list, and the control dictionary at its end. It returns nil only for an empty list. Without a
// control dictionary, it adds an error and reads the elements anyway, to report all errors at once. Messages have
// positions of the schema, because list elements of a schema have no keys.
func (p *parser) sequence(path *Path, l []any, depth int) *Node {
	if len(l) == 0 {
		p.fault(path, "is an empty list: its last element must be a control dictionary, such as %s", controlExample(0))
		return nil
	}
	elements, list := l, &List{}
	var closed *Keys
	if last, ok := l[len(l)-1].(map[string]any); ok && hasControlKey(last) {
		at := path.Element(positionLabel(len(l)-1), -1)
		elements, list = l[:len(l)-1], p.control(at, p.withoutRules(path, last), len(l)-1)
		if raw, given := last[KeyKeys]; given && p.recorded {
			closed = p.keyLists(at.Field(KeyKeys), raw)
		}
	} else {
		p.fault(path, "has no control dictionary: add one after its last element, such as %s; 0 means no upper limit", controlExample(len(l)))
	}
	for i, raw := range elements {
		at := path.Element(positionLabel(i), -1)
		if m, ok := raw.(map[string]any); ok && hasControlKey(m) {
			p.fault(at, "is a control dictionary, which must be the last element of the list")
			continue
		}
		child := p.node(at, raw, depth+1)
		if child == nil {
			child = &Node{Shape: Map} // keeps the index of a free or invalid element
		}
		list.Elements = append(list.Elements, child)
	}
	return &Node{Shape: Sequence, List: list, Keys: closed}
}

// describe describes an invalid value in a message. For a Secret, it names only the type, because a user may have
// copied a value into the schema.
func (p *parser) describe(v any) string {
	if p.secret {
		return describeShape(v)
	}
	return describe(v)
}

// foldStringData moves the stringData of a Secret's schema to data, where the API server stores it. If both name a
// key, the node of stringData has precedence, as its value has in the API server.
func foldStringData(root *Node) {
	text := root.Field("stringData")
	if text == nil {
		return
	}
	root.Fields = slices.DeleteFunc(root.Fields, func(f Field) bool { return f.Name == "stringData" })
	switch data := root.Field("data"); {
	case data == nil, text.Shape != Map:
		root.set("data", text) // a leaf over all of stringData observes all of data
	case data.Shape == Map:
		for _, f := range text.Fields {
			data.set(f.Name, f.Node)
		}
		if data.Keys == nil {
			data.Keys = text.Keys
		}
	}
}
