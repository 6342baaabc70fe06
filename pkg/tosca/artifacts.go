package tosca

import (
	"strings"
	"unicode/utf8"
)

// artifact is a file that belongs to a node. In a node, an artifact is either the path of a file or a map with the path
// and a type:
//
//	artifacts:
//	  manifest: k8s/web.yaml
//	  script: {file: setup.sh, type: tosca.artifacts.Implementation.Bash}
type artifact struct {
	// at is the artifact in the template.
	at   fileNode
	file fileNode // its path
	// kind is the name of the artifact type; "" if it is not set.
	kind string
	// from is the file that declares the artifact. The path is relative to it.
	from *file
}

// artifactsOf returns the artifacts of a node template and its types, own ones first. A node's artifact replaces the
// inherited one of the same name. They have the order of the template, which becomes the order of the manifests. A node
// without a spec can have several artifacts that are manifests.
func (e *navigator) artifactsOf(n *template) []artifact {
	var all []artifact
	seen := map[string]bool{}
	sources := []fileNode{n.get("artifacts")}
	for _, d := range n.line {
		sources = append(sources, d.at.get("artifacts"))
	}
	for _, source := range sources {
		if !e.faults.wantMap(source) {
			continue
		}
		for _, entry := range source.entries() {
			e.step()
			if a, ok := e.readArtifact(entry); ok && !seen[entry.name()] {
				seen[entry.name()] = true
				all = append(all, a)
			}
		}
	}
	return all
}

// readArtifact reads `name: path` and `name: {file: path, type: …}`. It returns false after an error.
func (e *navigator) readArtifact(p fileNode) (artifact, bool) {
	a := artifact{at: p, file: p, from: p.file}
	if p.isMap() {
		e.known(p, artifactKey)
		a.file, a.kind = p.get("file"), p.get("type").text()
	}
	if !a.file.isScalar() || a.file.isNull() || a.file.text() == "" {
		e.faults.add(p, MissingRequiredKeyname, "the artifact has no file")
		return a, false
	}
	return a, true
}

// isManifest reports whether an artifact is meant to be a manifest of its node. A Kubernetes node can also have scripts
// and images, which are not manifests.
func (a artifact) isManifest() bool {
	switch a.kind {
	case "tosca.artifacts.File", "application/yaml", "application/x-yaml", "text/yaml":
		return true
	case "":
		name := strings.ToLower(a.file.text())
		return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
	default:
		return false
	}
}

// getArtifact evaluates get_artifact: [SELF | node, name]. The result is the content of the file. In TOSCA it is the
// location of the file, which has no meaning in a manifest.
func getArtifact(e *evaluator, args fileNode, s scope) value {
	elements := args.elements()
	if len(elements) < 2 || !elements[0].isScalar() || !elements[1].isScalar() {
		return e.fail(args, InvalidFunction, "get_artifact needs a node and the name of an artifact: [SELF, name]")
	}
	n := e.entity(elements[0], s)
	if n == nil {
		return unknown
	}
	var names []string
	for _, a := range e.artifactsOf(n) {
		if a.at.name() == elements[1].text() {
			return e.contentOf(a, elements[1])
		}
		names = append(names, a.at.name())
	}
	return e.fail(elements[1], UnknownArtifact, "the node %s has no artifact %s%s", n.name, quote(elements[1].text()), e.didYouMean(elements[1].text(), names))
}

// contentOf reads an artifact with the rules of imports. It returns unknown after an error. from is the position for
// errors about the content. The content of a file is not secret. It counts toward the size of all imports, once.
func (e *evaluator) contentOf(a artifact, from fileNode) value {
	to, ok := e.sources.locate(a.from, statement{at: a.at, reference: a.file.text(), repository: a.at.get("repository")})
	if !ok {
		return unknown
	}
	data := e.sources.fetch(a.at, to, false)
	if data == nil {
		return unknown
	}
	text := string(data)
	e.spend(len(text) / textPerStep)
	if !utf8.ValidString(text) || len(text) > maxManifest {
		return e.fail(from, InvalidManifest, "the artifact is not text, or is larger than %d bytes", maxManifest)
	}
	return value{any: text, size: sizeOf(text)}
}
