package tosca

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/holdfast/pkg/manifest"
)

// crowded limits the number of characters that may begin a value, in a template and in all manifests together. The
// YAML library takes up to 200 bytes of memory for each value, and the number is known only afterwards.
const crowded = 280_000

// directive matches the line with the YAML version, which can follow comments.
var directive = regexp.MustCompile(`\A(?:[ \t]*(?:#[^\n]*)?\r?\n)*%YAML 1\.2`)

// parse reads the one document of a YAML or JSON file into f.root. After an error, f.root is absent. The order of the
// checks bounds the memory: the size and the number of possible values are checked before the YAML library allocates
// nodes, and the guard runs before any other walk. A file with errors counts toward a limit of its own, because a
// template can import many of them.
func (t *session) parse(f *file, data []byte) {
	if len(data) > maxTemplate {
		t.faults.add(f.position(0, 0), LimitExceeded, "the file is larger than %d bytes", maxTemplate)
		return
	}
	if crowd(data) > crowded {
		t.faults.add(f.position(1, 1), LimitExceeded, "the file has more than %d values", maxNodes)
		return
	}
	if json.Valid(data) {
		// YAML allows no tabs between the parts of JSON. They are in no text of
		// it, where they are written \t.
		data = bytes.ReplaceAll(data, []byte("\t"), []byte(" "))
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if at := directive.FindIndex(data); at != nil {
		// The library reads YAML 1.2, and refuses its name.
		data = slices.Clone(data)
		data[at[1]-len("%YAML 1.2")] = '#'
	}
	root, more, err := document(data)
	switch {
	case err != nil:
		t.addSyntaxErrors(f, data)
		if t.broken += crowd(data); t.broken > crowded/4 {
			panic(stop{t.faults.err()}) // files that are not valid take as long to read as valid ones
		}
	case root == nil || root.Kind != yaml.MappingNode:
		t.faults.add(f.position(1, 1), InvalidYAML, "must be a template: a map that begins with tosca_definitions_version")
	case more:
		t.faults.add(f.position(1, 1), InvalidYAML, "the file has several documents: a template must be one document")
	default:
		t.guard(f, root)
		f.root = fileNode{file: f, at: root, node: root}
	}
}

// document returns the root of the first document, and whether there are more. It converts a panic of the library to an
// error. The message of a panic can quote the text, so it is dropped. An empty file is an error: io.EOF.
func document(data []byte) (root *yaml.Node, more bool, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the YAML library cannot parse this")
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	if err := decoder.Decode(&first); err != nil {
		return nil, false, err
	}
	more = !errors.Is(decoder.Decode(&second), io.EOF) // one that cannot be read is one, too
	return manifest.Target(first.Content[0]), more, nil
}

// addSyntaxErrors adds the errors of package manifest for the same text: it reports the problems of the YAML library
// with exact positions. It adds at least one. The second reading takes as long as the first, and only happens after an
// error.
func (t *session) addSyntaxErrors(f *file, data []byte) {
	_, err := manifest.Read(f.name, data)
	faults := manifest.Unjoin[*manifest.Error](err)
	if len(faults) == 0 {
		t.faults.add(f.position(1, 1), InvalidYAML, "the file is empty, or not valid YAML")
	}
	for _, fault := range faults {
		t.faults.add(f.position(fault.Line, fault.Column), InvalidYAML, "%s", fault.Message)
	}
}

// crowd counts the characters that may begin a value. It never counts too few. It counts also characters in text and
// comments, so a file with few values can be rejected only if it is near the maximum size and full of them.
func crowd(data []byte) (count int) {
	for _, b := range data {
		switch b {
		case ',', '[', '{', ':', '\n', '\r', '-', '?', '&', '*', '!':
			count++
		}
	}
	return count
}
