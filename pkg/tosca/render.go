package tosca

import (
	"cmp"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/manifest"
)

// render returns the manifests of all Kubernetes nodes. It renders also after an error in one node, to find the errors
// of the others. The caller then drops the result.
func (e *evaluator) render() Result {
	r := renderer{evaluator: e}
	for _, n := range e.inOrder() {
		if n.kubernetes {
			r.renderNode(n)
		}
	}
	return r.result
}

// renderer adds the manifests of one node after the other to a result.
type renderer struct {
	*evaluator

	result Result
	size   int // of all manifests
	crowd  int // in all manifests
}

// renderNode renders the spec of a node, or its artifacts if it has none.
//
//	spec               artifacts                 manifests
//	set                any                       those of the spec
//	null               any                       an error: the spec is empty
//	not set            with files of manifests   those of the files
//	not set            without                   an error: the spec is missing
func (r *renderer) renderNode(n *template) {
	at := cmp.Or(n.get("properties").get(specKey), n.at)
	v := r.property(n, specKey, n.at)
	switch {
	case v.unknown:
	// The spec is not assigned, and has no default: the artifacts are the manifests. A null is an empty spec.
	case v.unset && at.node == n.at.node:
		r.artifacts(n)
	default:
		r.renderSpec(n, at, v)
	}
}

// artifacts renders the artifacts of a node that are manifests. Without any, it reports the missing spec.
func (r *renderer) artifacts(n *template) {
	found := false
	for _, a := range r.artifactsOf(n) {
		if !a.isManifest() {
			continue
		}
		found = true
		if v := r.contentOf(a, a.at); !v.unknown {
			r.renderSpec(n, a.at, v)
		}
	}
	if !found {
		r.faults.add(n.at, MissingProperty, "the required property spec is missing: it is the manifest of a Kubernetes object")
	}
}

// renderSpec adds the manifests of an evaluated spec: a string with documents, a map, or a list of maps. A map is the
// usual form. A string is for templates of other tools, which join it with concat. In a map, values keep their types,
// and an input cannot add lines.
func (r *renderer) renderSpec(n *template, at fileNode, v value) {
	// The limit is checked before the copy: one value can be part of many manifests.
	if r.size += v.size; r.size > maxManifests {
		r.halt("the manifests are larger than %d bytes in total", maxManifests)
	}
	if r.options.Raw {
		r.result.Texts = append(r.result.Texts, Text{Node: n.name, Line: at.at.Line, Text: rawText(v)})
		return
	}
	switch content := v.any.(type) {
	case nil:
		r.faults.add(at, EmptySpec, "the spec must not be empty")
	case string:
		r.renderText(at, content, v.secret)
	case map[string]any:
		r.renderObjects(at, []manifest.Document{{Value: runtime.DeepCopyJSON(content)}}, "")
	case []any:
		r.renderList(at, content)
	default:
		r.faults.add(at, InvalidManifest, "the spec must be a manifest, not %s", manifest.Describe(v.any))
	}
}

// rawText returns a spec for Options.Raw: a string unchanged, and other values as YAML.
func rawText(v value) string {
	if text, isText := v.any.(string); isText {
		return text
	}
	text, err := yaml.Marshal(v.any)
	if err != nil {
		return v.text()
	}
	return string(text)
}

// renderList adds the elements of a spec that is a list.
func (r *renderer) renderList(at fileNode, content []any) {
	documents := make([]manifest.Document, 0, len(content))
	for i, element := range content {
		fields, isMap := element.(map[string]any)
		if !isMap {
			r.faults.add(at, InvalidManifest, "element %d of the spec must be a manifest, not %s", i, manifest.Describe(element))
			continue
		}
		documents = append(documents, manifest.Document{Value: runtime.DeepCopyJSON(fields)})
	}
	r.renderObjects(at, documents, "element")
}

// renderText adds the documents of a spec that is a string. Positions in messages are relative to the text, because its
// lines do not exist in the template. The text is parsed as kubectl does: see manifest.Read.
func (r *renderer) renderText(at fileNode, text string, secret bool) {
	if len(text) > maxManifest {
		r.faults.add(at, LimitExceeded, "the spec is larger than %d bytes", maxManifest)
		return
	}
	if r.crowd += crowd([]byte(text)); r.crowd > crowded {
		r.halt("the manifests have too many values in total")
	}
	r.spend(len(text) / textPerStep)
	documents, err := manifest.Read("", []byte(text))
	if err != nil {
		r.unreadable(at, err, secret)
		return
	}
	r.renderObjects(at, documents, "line")
}

// unreadable reports where the manifest is invalid. If secret is set, it omits the messages, because they
// can contain a key that was computed from a sensitive input.
func (r *renderer) unreadable(at fileNode, err error, secret bool) {
	for _, fault := range manifest.Unjoin[*manifest.Error](err) {
		message := fault.Message
		if secret {
			message = "the manifest is not valid, and has sensitive values"
		}
		if fault.Line > 0 {
			message = fmt.Sprintf("line %d of the manifest, column %d: %s", fault.Line, fault.Column, message)
		}
		r.faults.add(at, InvalidManifest, "%s", message)
	}
}

// renderObjects checks that documents are objects, and adds them. unit is "line" or "element", if messages identify a
// document by it, or "". Lists are expanded: a List and its items become several manifests. generateName is accepted
// here, and rejected by manifest.Normalize, because the text is also used without Holdfast.
func (r *renderer) renderObjects(at fileNode, documents []manifest.Document, unit string) {
	expanded, err := manifest.Expand(documents)
	if err != nil {
		r.unreadable(at, err, false)
		return
	}
	if len(expanded) == 0 {
		r.faults.add(at, EmptySpec, "the spec must not be empty: it contains no manifest")
		return
	}
	for i, document := range expanded {
		where := ""
		switch unit {
		case "line":
			where = fmt.Sprintf("line %d of the manifest: ", document.Line)
		case "element":
			where = fmt.Sprintf("element %d of the spec: ", i)
		}
		for _, problem := range problemsOf(document.Value) {
			r.faults.add(at, InvalidManifest, "%s%s", where, problem)
		}
		if len(r.result.Objects) >= maxObjects {
			r.halt("there are more than %d manifests", maxObjects)
		}
		r.result.Objects = append(r.result.Objects, document.Value)
	}
}

// problemsOf returns the problems with the fields that every object must have. The command line prints manifests that
// the user applies with kubectl, so a missing name must be found here.
func problemsOf(object map[string]any) (problems []string) {
	problems = []string{textProblem("apiVersion", object["apiVersion"]), textProblem("kind", object["kind"])}
	metadata, isMap := object["metadata"].(map[string]any)
	switch {
	case object["metadata"] != nil && !isMap:
		problems = append(problems, "metadata must be a map, not "+manifest.Describe(object["metadata"]))
	case metadata["name"] == nil && metadata["generateName"] != nil:
		problems = append(problems, textProblem("metadata.generateName", metadata["generateName"]))
	default:
		problems = append(problems, textProblem("metadata.name", metadata["name"]))
	}
	return slices.DeleteFunc(problems, func(problem string) bool { return problem == "" })
}

// textProblem returns the reason why a required field is not a string, or "".
func textProblem(name string, content any) string {
	text, isText := content.(string)
	switch {
	case content == nil:
		return name + " is missing"
	case !isText:
		return name + " must be text, not " + manifest.Describe(content) + ": put it in quotes"
	case text == "":
		return name + " is empty"
	default:
		return ""
	}
}
