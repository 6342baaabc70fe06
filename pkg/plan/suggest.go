package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// Suggestion is an observer schema for a live object that nobody has written one
// for.
type Suggestion struct {
	// Entry is the schema, as a JSON object.
	Entry map[string]any
	// LeftOut are the fields that are not in it, because others write them.
	LeftOut []Field
}

// Suggest proposes an observer schema from an object's managedFields: the fields
// that people and their tools wrote, without those that controllers and
// autoscalers write, and without what nobody is on record for. The kind may be
// nil. An object without managedFields gets a schema without fields.
func Suggest(live map[string]any, kind *kinds.Node) Suggestion {
	s := &suggester{live: live, writers: managersOf(live)}
	applied := appliedOf(live)
	entry := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(live)) {
		switch name {
		case "apiVersion", "kind":
			entry[name] = live[name]
		case "status":
		case "metadata":
			entry[name] = s.metadata(live[name], member(applied, name))
		default:
			at := suggested{live[name], member(applied, name), kind.Field(name), (*observer.Path)(nil).Field(name)}
			if node, ok := s.node(at); ok {
				entry[name] = node
			}
		}
	}
	return Suggestion{Entry: entry, LeftOut: s.leftOut}
}

type suggester struct {
	live    map[string]any
	writers []managerEntry
	leftOut []Field
}

// suggested is one place of the walk: in the live object, in what kubectl apply
// was given, in the schema of the kind.
type suggested struct {
	live    any
	applied delta.Value
	t       *kinds.Node
	path    *observer.Path
}

// clientSideApply is the field manager of kubectl apply, which keeps what it was
// given in an annotation.
const clientSideApply = "kubectl-client-side-apply"

// appliedOf is what kubectl apply was given, or nil.
func appliedOf(live map[string]any) map[string]any {
	var applied map[string]any
	if json.Unmarshal([]byte(text(live, "metadata", "annotations", lastAppliedAnnotation)), &applied) != nil {
		return nil
	}
	return applied
}

// metadata keeps the name, the labels and the annotations. The namespace is the
// Application's, most often, and is left out.
func (s *suggester) metadata(value any, written delta.Value) map[string]any {
	metadata, _ := value.(map[string]any)
	applied, _ := written.Any.(map[string]any)
	node := map[string]any{"name": metadata["name"]}
	path := (*observer.Path)(nil).Field("metadata")
	for _, name := range []string{"labels", "annotations"} {
		child, ok := s.node(suggested{metadata[name], member(applied, name), nil, path.Field(name)})
		if ok && metadata[name] != nil {
			node[name] = child
		}
	}
	return node
}

// node is the schema of a value; false if nothing of it is proposed.
func (s *suggester) node(at suggested) (any, bool) {
	switch v := at.live.(type) {
	case map[string]any:
		if len(v) == 0 {
			return observer.LeafText, s.considers(at)
		}
		applied, _ := at.applied.Any.(map[string]any)
		node := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := suggested{v[name], member(applied, name), at.t.Field(name), at.path.Field(name)}
			if isOurs(below.path) {
				continue
			}
			if child, ok := s.node(below); ok {
				node[name] = child
			}
		}
		return node, len(node) > 0
	case []any:
		return s.list(v, at)
	default:
		return observer.LeafText, s.considers(at)
	}
}

// list proposes the elements that hold something, and no upper limit, so that
// others may add theirs. A list of which only positions tell elements apart is
// proposed up to the last element that holds something.
func (s *suggester) list(elements []any, at suggested) (any, bool) {
	list := &observer.List{}
	byIdentity, labels := list.ByIdentity(at.t), list.Labels(at.t, elements)
	applied, _ := at.applied.Any.([]any)
	sameAs := list.Identities(at.t, elements, applied)
	var nodes []any
	kept := 0
	for i, element := range elements {
		node, ok := s.node(suggested{element, item(applied, sameAs[i]), at.t.Elem(), at.path.Element(labels[i], i)})
		switch {
		case ok:
			nodes = append(nodes, node)
			kept = len(nodes)
		case !byIdentity:
			nodes = append(nodes, map[string]any{}) // keeps the place
		}
	}
	if kept == 0 {
		return nil, false
	}
	return append(nodes[:kept:kept], map[string]any{
		observer.KeyMinLength: int64(kept), observer.KeyMaxLength: int64(0),
	}), true
}

// considers reports whether a field is one to hold. One that is not is noted as left out.
func (s *suggester) considers(at suggested) bool {
	e := &explainer{live: s.live, writers: s.writers}
	writer := e.writer(delta.Field{Path: at.path, Live: delta.Some(nil)})
	switch {
	case writer.Manager == "":
		return false
	case writer.Manager == clientSideApply && !at.applied.Set:
		return false // a default, which is on record for whoever created the object
	case !isController(writer):
		return true
	}
	f := Field{Path: at.path.String(), Parent: at.path.Parent().String(), State: FieldFree, Writer: writer}
	s.leftOut = append(s.leftOut, f)
	return false
}

// isOurs leaves out the marks of Holdfast and what kubectl apply keeps.
func isOurs(path *observer.Path) bool {
	name := path.String()
	return strings.Contains(name, "['holdfast.dev/") || strings.Contains(name, lastAppliedAnnotation)
}

// controllerNames are parts of the names of field managers that are programs
// which follow a cluster, and not people and their tools.
var controllerNames = []string{
	"controller", "autoscaler", "operator", "kubelet", "scheduler", "injector", "webhook", "recommender", "admission",
}

// isController reports whether a field is written by a program that keeps writing
// it: by its name, or because it wrote through a subresource such as scale.
func isController(w Writer) bool {
	if w.Subresource != "" {
		return true
	}
	return slices.ContainsFunc(controllerNames, func(part string) bool { return strings.Contains(strings.ToLower(w.Manager), part) })
}

func member(m map[string]any, name string) delta.Value {
	v, has := m[name]
	return delta.Value{Set: has, Any: v}
}

func item(l []any, i int) delta.Value {
	if i < 0 || i >= len(l) {
		return delta.Value{}
	}
	return delta.Some(l[i])
}
