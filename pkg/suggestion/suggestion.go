package suggestion

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/writer"
)

// Proposal is a proposed manifest and schema for a live object that has neither.
type Proposal struct {
	// Entry is an observer schema, as a JSON object.
	Entry map[string]any
	// Manifest contains the values of the held fields, and the other values that are needed to create the object
	// again. With Free, its default schema holds the same fields as Entry.
	Manifest map[string]any
	// Free lists the paths in the manifest that must not be held. They are in the manifest because a create
	// needs an initial value.
	Free []string
	// LeftOut lists the fields that are not in the schema, because controllers write them.
	LeftOut []WrittenField
}

// WrittenField is the path of a live field, with its last writer.
type WrittenField struct {
	Path   string
	Writer writer.Writer
}

// Empty reports whether the proposal holds no field, because controllers write all fields of the object.
func (p Proposal) Empty() bool {
	if len(p.LeftOut) == 0 {
		return false // the object has only a name
	}
	for name, value := range p.Entry {
		metadata, _ := value.(map[string]any)
		if name != "apiVersion" && name != "kind" && (name != "metadata" || len(metadata) > 1) {
			return false
		}
	}
	return true
}

// For proposes an observer schema and a manifest from an object's managedFields. It includes the fields that
// users and their tools wrote. It excludes fields that controllers and autoscalers write, defaults, and fields
// without a field manager. kind may be nil. An object without managedFields gets a schema without fields. The result
// contains the values of a Secret: the caller decides who reads them.
func For(live map[string]any, kind *kinds.Node) Proposal {
	s := &suggester{live: live, writers: writer.NewIndex(nil, live)}
	apiVersion, _ := live["apiVersion"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	// Groups of built-in kinds, such as apps or networking.k8s.io. Only their defaults are known.
	s.kubernetes = !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
	applied := appliedOf(live)
	s.result.Entry, s.result.Manifest = map[string]any{}, map[string]any{}
	take := func(name string, p valueProposal, ok bool) {
		if ok {
			s.result.Entry[name], s.result.Manifest[name] = p.schema, p.value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(live)) {
		switch name {
		case "apiVersion", "kind":
			take(name, valueProposal{live[name], live[name]}, true)
		case "status":
		case "metadata":
			take(name, s.metadata(live[name], delta.Member(applied, name)), true)
		default:
			p, ok := s.node(liveNode{
				live: live[name], applied: delta.Member(applied, name), t: kind.Field(name), path: (*observer.Path)(nil).Field(name), siblings: live,
			})
			take(name, p, ok)
		}
	}
	return s.result
}

// suggester builds one Proposal in a walk of the live object.
type suggester struct {
	live       map[string]any
	kubernetes bool // the kind is built into Kubernetes
	writers    *writer.Index
	result     Proposal // so far
}

// liveNode is a value of the live object, with the value from kubectl apply and the type at its path.
type liveNode struct {
	live any
	// applied is not set if kubectl apply did not set the field, or was not used.
	applied delta.Value
	// t is the type of the value, or nil.
	t    *kinds.Node
	path *observer.Path
	// parent is the name of the map that contains the value, and siblings is that map.
	parent   string
	siblings map[string]any
}

// valueProposal is the proposed schema at one path, and the value for the manifest.
type valueProposal struct{ schema, value any }

// clientSideApply is the field manager of kubectl apply, which stores its input in an annotation.
const clientSideApply = "kubectl-client-side-apply"

// appliedOf returns the last input of client-side kubectl apply, or nil. Any client can write the annotation.
func appliedOf(live map[string]any) map[string]any {
	var applied map[string]any
	if json.Unmarshal([]byte(manifest.NestedString(live, "metadata", "annotations", manifest.LastApplied)), &applied) != nil {
		return nil
	}
	return applied
}

// metadata proposes the name, the labels and the annotations. The schema omits the namespace, because it is
// usually that of the Application.
func (s *suggester) metadata(value any, written delta.Value) valueProposal {
	metadata, _ := value.(map[string]any)
	applied, _ := written.Any.(map[string]any)
	schema, values := map[string]any{"name": metadata["name"]}, map[string]any{"name": metadata["name"]}
	if metadata["namespace"] != nil {
		values["namespace"] = metadata["namespace"]
	}
	path := (*observer.Path)(nil).Field("metadata")
	for _, name := range []string{"labels", "annotations"} {
		child, ok := s.node(liveNode{live: metadata[name], applied: delta.Member(applied, name), path: path.Field(name), parent: "metadata", siblings: metadata})
		if ok && metadata[name] != nil {
			schema[name], values[name] = child.schema, child.value
		}
	}
	return valueProposal{schema, values}
}

// node returns the proposal for a value, and false if no part of it is proposed.
func (s *suggester) node(at liveNode) (valueProposal, bool) {
	if m, isMap := at.live.(map[string]any); isMap && len(m) > 0 {
		return s.fields(m, at)
	}
	if l, isList := at.live.([]any); isList {
		return s.list(l, at)
	}
	return valueProposal{observer.LeafText, at.live}, s.take(at)
}

// fields proposes those fields of a map that have a proposal. The manifest contains an atomic map, such as a
// selector, as a whole.
func (s *suggester) fields(m map[string]any, at liveNode) (valueProposal, bool) {
	applied, _ := at.applied.Any.(map[string]any)
	schema, values := map[string]any{}, map[string]any{}
	parent := at.path.Name()
	if at.path.IsElement() {
		parent = at.parent
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		below := liveNode{m[name], delta.Member(applied, name), at.t.Field(name), at.path.Field(name), parent, m}
		if isOurs(below.path) {
			continue
		}
		if child, ok := s.node(below); ok {
			schema[name], values[name] = child.schema, child.value
			// The manifest needs an initial value, although clients change it through the subresource scale.
		} else if s.writer(below.path).Subresource == "scale" {
			values[name] = m[name]
			s.result.Free = append(s.result.Free, below.path.String())
		}
	}
	if at.t.IsOneValue() {
		values = m
	}
	return valueProposal{schema, values}, len(schema) > 0
}

// list proposes the elements that have a proposal, and no upper limit, so that other clients can add elements.
// If only their positions identify elements, it proposes all elements up to the last one with a proposal. The
// placeholders among them are free. The minimum is the number of proposed elements.
func (s *suggester) list(elements []any, at liveNode) (valueProposal, bool) {
	list := &observer.List{}
	byIdentity, labels := list.ByIdentity(at.t), list.Labels(at.t, elements)
	applied, _ := at.applied.Any.([]any)
	sameAs := list.Identities(at.t, elements, applied)
	var nodes, values []any
	var placeholders []string // elements without a proposal, after the last one with a proposal
	// kept is the length up to the last element with a proposal.
	kept := 0
	for i, element := range elements {
		below := liveNode{element, delta.Item(applied, sameAs[i]), at.t.Elem(), at.path.Element(labels[i], i), at.path.Name(), at.siblings}
		child, ok := s.node(below)
		switch {
		case ok:
			nodes, values = append(nodes, child.schema), append(values, withKeys(child.value, element, at.t))
			kept = len(nodes)
			s.result.Free, placeholders = append(s.result.Free, placeholders...), nil
		// A later element keeps its position only if this one is in the schema, too.
		case !byIdentity:
			nodes, values = append(nodes, map[string]any{}), append(values, element)
			placeholders = append(placeholders, below.path.String())
		}
	}
	if kept == 0 {
		return valueProposal{}, false
	}
	return valueProposal{append(nodes[:kept:kept], map[string]any{
		observer.KeyMinLength: int64(kept), observer.KeyMaxLength: int64(0),
	}), values[:kept:kept]}, true
}

// withKeys returns a list element for the manifest with its list-map keys. It omits keys that have their default
// values.
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

// take reports whether to hold a field. It adds a field to LeftOut if a controller writes it, or if it only records
// an action.
func (s *suggester) take(at liveNode) bool {
	last := s.writer(at.path)
	// If the writer applied a field around this one as one value, such as a list without keys, this field may be a default.
	applied := at.applied.Set || last.Operation == metav1.ManagedFieldsOperationApply && s.writers.Owns(last, at.path)
	switch {
	case last.Manager == "" || at.live == nil:
		return false
	case last.Manager == clientSideApply && !at.applied.Set:
		return false // a default; managedFields attributes it to the client that created the object
	case !applied && s.kubernetes && writer.IsServerDefault(at.parent, at.path.Name(), at.siblings):
		return false
	case !last.IsController() && !isAct(at.path):
		return true
	}
	s.result.LeftOut = append(s.result.LeftOut, WrittenField{at.path.String(), last})
	return false
}

// writer returns the last writer of a field.
func (s *suggester) writer(path *observer.Path) writer.Writer {
	last, _ := s.writers.OfValue(path)
	return last
}

// isOurs reports whether a field is tracking metadata of Holdfast, or bookkeeping of a tool or the API server.
func isOurs(path *observer.Path) bool {
	name := path.String()
	for _, own := range []string{
		"['holdfast.dev/", manifest.LastApplied, "['meta.helm.sh/", "metadata.labels['kubernetes.io/metadata.name']", "['deprecated.daemonset.template.generation']",
	} {
		if strings.Contains(name, own) {
			return true
		}
	}
	return false
}

// isAct reports whether a field only records a completed action, such as a restart.
func isAct(path *observer.Path) bool {
	return strings.HasSuffix(path.String(), "annotations['kubectl.kubernetes.io/restartedAt']")
}
