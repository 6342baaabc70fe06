package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// WithFields returns the text of a file in which spec.fields of the Application in a document is replaced. An
// empty list removes the key. Other lines are unchanged, and so are the comments of unchanged items.
//
// It returns an error if the file does not have the form that it can edit: the spec in block style. If the
// result would have any other difference, the error is returned with the text.
//
//	# for the shop                 # for the shop
//	spec:                          spec:
//	  # what to hold                 fields:
//	  manifest:                      - resource: {kind: Deployment, name: web}
//	  - ...                            free: [spec.replicas]
//	                                 # what to hold
//	                                 manifest:
//	                                 - ...
//
// The YAML library would format the whole file in its own way, so only lines are replaced, and isEdited checks the result.
func WithFields(text []byte, document manifest.Document, fields []v1alpha1.ResourceFields) ([]byte, error) {
	const key = "fields"
	spec, err := specNode(text, document)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(text), "\n")
	// The keys of the spec have this indentation, so that of the new key is equal.
	indent := spec.Content[0].Column - 1
	from, to := spec.Content[0].Line-1, spec.Content[0].Line-1 // before the first key, if the list is new
	var old *yaml.Node
	for i := 0; i < len(spec.Content); i += 2 {
		if spec.Content[i].Value == key {
			from, old = spec.Content[i].Line-1, spec.Content[i+1]
			to = endOf(lines, from, indent)
		}
	}
	for old == nil && from > 0 && strings.HasPrefix(strings.TrimSpace(lines[from-1]), "#") {
		from, to = from-1, to-1 // above the comment of the first key
	}
	var block []string
	// An empty list leaves no lines, so the key disappears.
	if len(fields) > 0 {
		node, err := fieldsNode(old, fields)
		if err != nil {
			return nil, err
		}
		if block, err = blockOf(key, node, indent); err != nil {
			return nil, err
		}
	}
	if strings.HasSuffix(lines[0], "\r\n") { // the file was written on Windows
		block = []string{strings.ReplaceAll(strings.Join(block, ""), "\n", "\r\n")}
	}
	edited := []byte(strings.Join(slices.Concat(lines[:from], block, lines[to:]), ""))
	return edited, isEdited(edited, document, fields)
}

// specNode returns the YAML node of the spec of the Application in a document, which it finds by its line. It
// returns an error if the spec is empty, or in flow style. Lists of the kind List are not edited: the line of a
// document in a List is not the line of a root node.
func specNode(text []byte, document manifest.Document) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var root yaml.Node
		if err := decoder.Decode(&root); errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: the Application is in a List, or no longer at line %d: use --dry-run to print the edit", document.File, document.Line)
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", document.File, err)
		}
		// A file can have several documents.
		if len(root.Content) == 0 || root.Content[0].Line != document.Line {
			continue
		}
		for i := 0; i+1 < len(root.Content[0].Content); i += 2 {
			spec := root.Content[0].Content[i+1]
			if root.Content[0].Content[i].Value != "spec" {
				continue
			}
			if spec.Kind != yaml.MappingNode || spec.Style&yaml.FlowStyle != 0 || len(spec.Content) == 0 {
				break
			}
			return spec, nil
		}
		return nil, fmt.Errorf("%s: the spec is not in block style: use --dry-run to print the edit", document.File)
	}
}

// endOf returns the index of the line after a key and its value. from is the index of the key's line. Comments
// and empty lines before the next key belong to the next key.
//
//	fields:                  from
//	- resource: {...}
//	  free: [spec.replicas]
//	                         endOf returns the index of this line
//	# the manifests
//	manifest:
func endOf(lines []string, from, indent int) int {
	end := from + 1
	for i := end; i < len(lines) && !isNext(lines[i], indent); i++ {
		line := strings.TrimLeft(strings.TrimRight(lines[i], "\r\n"), " ")
		if line != "" && line[0] != '#' {
			end = i + 1
		}
	}
	return end
}

// isNext reports whether a line is the next key, or the end of the map. Such a line is not indented deeper than
// the key, and is not a list element. YAML permits list elements with the indentation of their key.
//
//	line         indent of the key   next
//	"  mode:"    2                   yes
//	"  - a"      2                   no: an element of the list
//	"    free:"  2                   no: deeper
//	"---"        2                   yes
//	"  # text"   2                   no: see endOf
func isNext(line string, indent int) bool {
	line = strings.TrimRight(line, "\r\n")
	trimmed := strings.TrimLeft(line, " ")
	depth := len(line) - len(trimmed)
	isElement := trimmed == "-" || strings.HasPrefix(trimmed, "- ")
	return trimmed != "" && trimmed[0] != '#' && (depth < indent || depth == indent && !isElement)
}

// FieldsText returns spec.fields as YAML for a file, without indentation.
func FieldsText(fields []v1alpha1.ResourceFields) (string, error) {
	if len(fields) == 0 {
		return "fields: []\n", nil
	}
	node, err := fieldsNode(nil, fields)
	if err != nil {
		return "", err
	}
	lines, err := blockOf("fields", node, 0)
	return strings.Join(lines, ""), err
}

// fieldsNode returns the YAML node of spec.fields. Items of old keep their comments; old can be nil. It changes
// the nodes of old.
func fieldsNode(old *yaml.Node, fields []v1alpha1.ResourceFields) (*yaml.Node, error) {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, f := range fields {
		// Changed nodes keep comments and notation, which a new node would not have.
		entry := entryNode(old, f.Resource)
		var hold []*yaml.Node
		for _, held := range f.Hold {
			node, err := heldNode(held)
			if err != nil {
				return nil, err
			}
			hold = append(hold, node)
		}
		if err := setList(entry, "hold", f.Hold != nil, hold); err != nil {
			return nil, err
		}
		for _, freed := range [...]struct {
			key   string
			paths []string
		}{{"free", f.Free}, {"leave", f.Leave}, {"restore", f.Restore}} {
			var items []*yaml.Node
			for _, path := range freed.paths {
				items = append(items, textNode(path))
			}
			if err := setList(entry, freed.key, len(items) > 0, items); err != nil {
				return nil, err
			}
		}
		list.Content = append(list.Content, entry)
	}
	if old != nil {
		list.HeadComment, list.FootComment = old.HeadComment, old.FootComment
	}
	return list, nil
}

// blockOf returns the lines of a key and its list, each with its line break and indented by a number of spaces.
func blockOf(key string, list *yaml.Node, indent int) ([]string, error) {
	block, err := terminal.EncodeYAML(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{textNode(key), list}})
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(block), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.Repeat(" ", indent) + lines[i]
	}
	return append(lines, "\n"), nil
}

// heldNode returns the YAML node of an item of hold: a string, or an object on one line.
//
//	spec.replicas
//	{path: spec.replicas, minimum: 1, maximum: 5}
func heldNode(held v1alpha1.HeldField) (*yaml.Node, error) {
	raw, err := json.Marshal(held)
	if err != nil {
		return nil, err
	}
	var document yaml.Node // JSON is YAML, too
	if err := yaml.Unmarshal(raw, &document); err != nil {
		return nil, err
	}
	plain(document.Content[0])
	return document.Content[0], nil
}

// plain removes quotes that are not needed, from all strings in a node. JSON quotes all strings.
func plain(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" {
		*node = *textNode(node.Value)
	}
	for _, child := range node.Content {
		plain(child)
	}
}

// entryNode returns the node of the existing spec.fields item for a resource, or a new node. All four fields of the
// selector must be equal. The node is found by its selector, and not by its index, because an edit can add and
// remove items.
func entryNode(old *yaml.Node, resource v1alpha1.ResourceSelector) *yaml.Node {
	if old != nil {
		for _, entry := range old.Content {
			var is struct {
				Resource map[string]string `yaml:"resource"`
			}
			if entry.Decode(&is) == nil && (v1alpha1.ResourceSelector{
				APIVersion: is.Resource["apiVersion"], Kind: is.Resource["kind"], Namespace: is.Resource["namespace"], Name: is.Resource["name"],
			}) == resource {
				return entry
			}
		}
	}
	selector := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	for _, pair := range [][2]string{{"apiVersion", resource.APIVersion}, {"kind", resource.Kind}, {"namespace", resource.Namespace}, {"name", resource.Name}} {
		if pair[1] != "" {
			selector.Content = append(selector.Content, textNode(pair[0]), textNode(pair[1]))
		}
	}
	return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{textNode("resource"), selector}}
}

// textNode returns the node of a string, with quotes only if YAML would read another type without them.
func textNode(text string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(text)
	return node
}

// setList sets the list of a key in a spec.fields item, or removes the key if isSet is false. An item with an equal
// value keeps its node, and so its comment and its notation. An item that another line of the list has keeps its
// comment, also at a new position.
func setList(entry *yaml.Node, key string, isSet bool, items []*yaml.Node) error {
	at := 0
	for at < len(entry.Content) && entry.Content[at].Value != key {
		at += 2
	}
	switch {
	case !isSet && at < len(entry.Content):
		entry.Content = slices.Delete(entry.Content, at, at+2)
		return nil
	case !isSet:
		return nil
	case at >= len(entry.Content):
		entry.Content = append(entry.Content, textNode(key), &yaml.Node{Kind: yaml.SequenceNode})
		// A new list of short paths is written on one line, like in the documentation.
		if !slices.ContainsFunc(items, isLong) {
			entry.Content[at+1].Style = yaml.FlowStyle
		}
	}
	list := entry.Content[at+1]
	if list.Kind != yaml.SequenceNode {
		return fmt.Errorf("fields: %s is not a list", key)
	}
	old := list.Content
	list.Content = nil
	for _, item := range items {
		i := slices.IndexFunc(old, func(n *yaml.Node) bool { return valueText(n) == valueText(item) })
		if i >= 0 {
			item = old[i]
		}
		list.Content = append(list.Content, item)
	}
	return nil
}

// isLong reports whether a list item needs its own line.
func isLong(item *yaml.Node) bool { return item.Kind != yaml.ScalarNode || len(item.Value) > 60 }

// valueText returns the same string for all notations of a value.
func valueText(node *yaml.Node) string {
	var value any
	if node.Decode(&value) != nil {
		return ""
	}
	raw, _ := json.Marshal(value) // values that cannot be encoded equal only each other
	return string(raw)
}

// isEdited returns an error unless a text contains the Application with the new spec.fields and otherwise
// unchanged. WithFields edits lines, and this check protects the file from every form that it does not know.
func isEdited(text []byte, document manifest.Document, fields []v1alpha1.ResourceFields) error {
	documents, err := manifest.Read(document.File, text)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	wanted := observer.CopyMap(document.Value)
	spec, _ := wanted["spec"].(map[string]any)
	delete(spec, "fields")
	var items []any
	if len(fields) > 0 && json.Unmarshal(raw, &items) == nil {
		spec["fields"] = items
	}
	for _, one := range documents {
		if observer.Equal(wanted, one.Value) {
			return nil
		}
	}
	return fmt.Errorf("%s: cannot edit fields in this form: use --dry-run to print the edit", document.File)
}
