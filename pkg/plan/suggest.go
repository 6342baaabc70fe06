package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// Suggestion is what to hold of a live object that nobody has written a manifest or a
// schema for.
type Suggestion struct {
	// Entry is an observer schema, as a JSON object.
	Entry map[string]any
	// Manifest has the values of what the schema holds, and no more than is needed to
	// create the object again: under the default schema the same is held.
	Manifest map[string]any
	// Free are paths in the manifest that are not to be held: a create needs a value to
	// begin with.
	Free []string
	// LeftOut are the fields that are not in the schema, because others write them.
	LeftOut []Field
}

// Empty reports whether others write all that the object has.
func (s Suggestion) Empty() bool {
	if len(s.LeftOut) == 0 {
		return false // a name is all that it has
	}
	for name, value := range s.Entry {
		metadata, _ := value.(map[string]any)
		if name != "apiVersion" && name != "kind" && (name != "metadata" || len(metadata) > 1) {
			return false
		}
	}
	return true
}

// Suggest proposes an observer schema from an object's managedFields, and a manifest: the
// fields that people and their tools wrote, without those that controllers and
// autoscalers write, without defaults, and without what nobody is on record for. The kind
// may be nil. An object without managedFields gets a schema without fields.
func Suggest(live map[string]any, kind *kinds.Node) Suggestion {
	s := &suggester{live: live, writers: managersOf(live)}
	apiVersion, _ := live["apiVersion"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	s.kubernetes = !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
	applied := appliedOf(live)
	s.suggestion.Entry, s.suggestion.Manifest = map[string]any{}, map[string]any{}
	take := func(name string, p proposal, ok bool) {
		if ok {
			s.suggestion.Entry[name], s.suggestion.Manifest[name] = p.schema, p.value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(live)) {
		switch name {
		case "apiVersion", "kind":
			take(name, proposal{live[name], live[name]}, true)
		case "status":
		case "metadata":
			take(name, s.metadata(live[name], member(applied, name)), true)
		default:
			p, ok := s.node(suggestionNode{
				live: live[name], applied: member(applied, name), t: kind.Field(name), path: (*observer.Path)(nil).Field(name), siblings: live,
			})
			take(name, p, ok)
		}
	}
	return s.suggestion
}

type suggester struct {
	live       map[string]any
	kubernetes bool // it is a kind of Kubernetes itself
	writers    []managerEntry
	suggestion Suggestion
}

// suggestionNode is one place of the walk: in the live object, in what kubectl apply
// was given, in the schema of the kind.
type suggestionNode struct {
	live    any
	applied delta.Value
	t       *kinds.Node
	path    *observer.Path
	// parent is the name of the map that it is in, and siblings that map.
	parent   string
	siblings map[string]any
}

// proposal is what is held at one place, and the value that it has.
type proposal struct{ schema, value any }

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

// metadata keeps the name, the labels and the annotations. In the schema the namespace is
// left out: it is the Application's, most often.
func (s *suggester) metadata(value any, written delta.Value) proposal {
	metadata, _ := value.(map[string]any)
	applied, _ := written.Any.(map[string]any)
	schema, values := map[string]any{"name": metadata["name"]}, map[string]any{"name": metadata["name"]}
	if metadata["namespace"] != nil {
		values["namespace"] = metadata["namespace"]
	}
	path := (*observer.Path)(nil).Field("metadata")
	for _, name := range []string{"labels", "annotations"} {
		child, ok := s.node(suggestionNode{live: metadata[name], applied: member(applied, name), path: path.Field(name), parent: "metadata", siblings: metadata})
		if ok && metadata[name] != nil {
			schema[name], values[name] = child.schema, child.value
		}
	}
	return proposal{schema, values}
}

// node is what is proposed of a value; false if nothing of it is.
func (s *suggester) node(at suggestionNode) (proposal, bool) {
	switch v := at.live.(type) {
	case map[string]any:
		if len(v) == 0 {
			return proposal{observer.LeafText, v}, s.take(at)
		}
		return s.fields(v, at)
	case []any:
		return s.list(v, at)
	default:
		return proposal{observer.LeafText, v}, s.take(at)
	}
}

// fields proposes those fields of a map that hold something. What is one value, such as a
// selector, is in the manifest as a whole.
func (s *suggester) fields(m map[string]any, at suggestionNode) (proposal, bool) {
	applied, _ := at.applied.Any.(map[string]any)
	schema, values := map[string]any{}, map[string]any{}
	parent := at.path.Name()
	if at.path.IsElement() {
		parent = at.parent
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		below := suggestionNode{m[name], member(applied, name), at.t.Field(name), at.path.Field(name), parent, m}
		if isOurs(below.path) {
			continue
		}
		if child, ok := s.node(below); ok {
			schema[name], values[name] = child.schema, child.value
		} else if s.writer(below.path).Subresource == "scale" {
			values[name] = m[name]
			s.suggestion.Free = append(s.suggestion.Free, below.path.String())
		}
	}
	if at.t.IsOneValue() {
		values = m
	}
	return proposal{schema, values}, len(schema) > 0
}

// list proposes the elements that hold something, and no upper limit, so that
// others may add theirs. A list of which only positions tell elements apart is
// proposed up to the last element that holds something; what keeps a place there is free.
func (s *suggester) list(elements []any, at suggestionNode) (proposal, bool) {
	list := &observer.List{}
	byIdentity, labels := list.ByIdentity(at.t), list.Labels(at.t, elements)
	applied, _ := at.applied.Any.([]any)
	sameAs := list.Identities(at.t, elements, applied)
	var nodes, values []any
	var placeholders []string // that only keep a position, since the last element that holds something
	kept := 0
	for i, element := range elements {
		below := suggestionNode{element, item(applied, sameAs[i]), at.t.Elem(), at.path.Element(labels[i], i), at.path.Name(), at.siblings}
		child, ok := s.node(below)
		switch {
		case ok:
			nodes, values = append(nodes, child.schema), append(values, withKeys(child.value, element, at.t))
			kept = len(nodes)
			s.suggestion.Free, placeholders = append(s.suggestion.Free, placeholders...), nil
		case !byIdentity:
			nodes, values = append(nodes, map[string]any{}), append(values, element)
			placeholders = append(placeholders, below.path.String())
		}
	}
	if kept == 0 {
		return proposal{}, false
	}
	return proposal{append(nodes[:kept:kept], map[string]any{
		observer.KeyMinLength: int64(kept), observer.KeyMaxLength: int64(0),
	}), values[:kept:kept]}, true
}

// withKeys is an element of a manifest with what tells it apart, but for a key that has its
// default.
func withKeys(value, element any, t *kinds.Node) any {
	fields, isMap := value.(map[string]any)
	live, _ := element.(map[string]any)
	if !isMap || t == nil {
		return value
	}
	for _, key := range t.Keys {
		if v, has := live[key]; has && (t.Defaults[key] == nil || !observer.Equal(v, t.Defaults[key])) {
			fields[key] = v
		}
	}
	return fields
}

// take reports whether a field is one to hold, and notes one that is left out.
func (s *suggester) take(at suggestionNode) bool {
	writer := s.writer(at.path)
	applied := at.applied.Set || s.hasApplied(writer, at.path)
	switch {
	case writer.Manager == "" || at.live == nil:
		return false
	case writer.Manager == clientSideApply && !at.applied.Set:
		return false // a default, which is on record for whoever created the object
	case !applied && s.kubernetes && isDefault(at.parent, at.path.Name(), at.siblings):
		return false
	case !isController(writer) && !isAct(at.path):
		return true
	}
	f := Field{Path: at.path.String(), Parent: at.path.Parent().String(), State: FieldFree, Writer: writer}
	s.suggestion.LeftOut = append(s.suggestion.LeftOut, f)
	return false
}

// writer returns who wrote a field.
func (s *suggester) writer(path *observer.Path) Writer {
	writer, _ := (&writerIndex{live: s.live, entries: s.writers}).managerOfValue(path)
	return writer
}

// hasApplied reports whether another client has applied this very field. Of what was applied as
// one value, such as a list without keys, the API server has filled in defaults.
func (s *suggester) hasApplied(writer Writer, path *observer.Path) bool {
	if writer.Operation != metav1.ManagedFieldsOperationApply {
		return false
	}
	steps := path.Steps(s.live)
	return slices.ContainsFunc(s.writers, func(m managerEntry) bool { return m.Writer == writer && reachOf(m.leaves, steps) == reachSelf })
}

// isOurs leaves out the marks of Holdfast, and what tools and API servers write of themselves.
func isOurs(path *observer.Path) bool {
	name := path.String()
	for _, own := range []string{
		"['holdfast.dev/", lastAppliedAnnotation, "['meta.helm.sh/", "metadata.labels['kubernetes.io/metadata.name']", "['deprecated.daemonset.template.generation']",
	} {
		if strings.Contains(name, own) {
			return true
		}
	}
	return false
}

// isAct reports whether a field says that another client has done something, which is over.
func isAct(path *observer.Path) bool {
	return strings.HasSuffix(path.String(), "annotations['kubectl.kubernetes.io/restartedAt']")
}

// appliers are parts of the names of programs that write what people have written
// elsewhere.
var appliers = []string{"argocd", "kustomize-controller", "helm-controller", "fleet"}

// isController reports whether a field is written by a program that keeps writing
// it: by its name, or because it wrote through a subresource such as scale.
func isController(w Writer) bool {
	if w.Subresource != "" {
		return true
	}
	name := strings.ToLower(w.Manager)
	has := func(part string) bool { return strings.Contains(name, part) }
	if slices.ContainsFunc(appliers, has) {
		return false
	}
	return slices.ContainsFunc(controllerNames, has) || name == "manager" || name == "kube-apiserver"
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
