package manifest

import (
	"errors"
	"fmt"
	"maps"
	"strings"
)

// Expand replaces every list (a v1 List, a PodList, any kind that ends in List and has items) with its items,
// recursively. Items of a typed list without a kind get the kind of their list, as in kubectl. The error joins one
// *Error for each invalid list; no documents are returned then.
//
//	document                                             result
//	{kind: List, items: [a, b]}                          a, b
//	{apiVersion: v1, kind: PodList, items: [{…}]}        a Pod of v1
//	{kind: List}                                         nothing
//	{kind: AccessList, spec: {…}}                        itself: it has no items
//	{kind: List, items: x}                               an error
//
// The nesting is limited by that of the documents.
func Expand(documents []Document) ([]Document, error) {
	var expanded []Document
	var faults []error
	for _, document := range documents {
		if !isList(document.Value) {
			expanded = append(expanded, document)
			continue
		}
		items, fault := document.items()
		if fault == nil {
			items, fault = Expand(items)
		}
		if fault != nil {
			faults = append(faults, fault)
		}
		expanded = append(expanded, items...)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return expanded, nil
}

// isList reports whether the value is a list of objects. The kind is not sufficient, because a custom kind can end in
// List; the value must also have a list of items. `kind: List` is always one. Its items can be missing, as in the
// output for no objects.
func isList(value map[string]any) bool {
	kind, _ := value["kind"].(string)
	if kind == "List" {
		return true
	}
	_, hasItems := value["items"].([]any)
	return hasItems && strings.HasSuffix(kind, "List")
}

// items returns the items of a list as documents. A list without items has none. It reports only the first item that
// is not a map.
func (d Document) items() ([]Document, error) {
	items, ok := d.Value["items"].([]any)
	if !ok && d.Value["items"] != nil {
		return nil, d.fault(Path{"items"}, "must be a list, not "+Describe(d.Value["items"]))
	}
	documents := make([]Document, 0, len(items))
	for i, item := range items {
		value, ok := item.(map[string]any)
		if !ok {
			return nil, d.fault(Path{"items", i}, "must be a map with apiVersion, kind and metadata, not "+Describe(item))
		}
		documents = append(documents, d.item(i, value))
	}
	return documents, nil
}

// item returns an item with its position in the file, or with the line of the list if the position is unknown.
func (d Document) item(index int, value map[string]any) Document {
	item := Document{File: d.File, Line: d.Line, Value: d.ofListKind(value)}
	_, items := field(d.root, "items")
	if item.root, _ = field(items, index); item.root != nil {
		item.Line = item.root.Line
	}
	return item
}

// ofListKind adds the kind that a typed list implies to an item. `kubectl get -o yaml` writes a List whose items have
// kinds, but the API returns typed lists without them.
func (d Document) ofListKind(item map[string]any) map[string]any {
	listKind, _ := d.Value["kind"].(string)
	kind := strings.TrimSuffix(listKind, "List")
	if item["kind"] != nil || kind == "" {
		return item
	}
	item = maps.Clone(item)
	item["kind"] = kind
	if item["apiVersion"] == nil {
		item["apiVersion"] = d.Value["apiVersion"]
	}
	return item
}

// fault returns an error at a path of the document.
func (d Document) fault(path Path, message string) error {
	line, column, _ := d.Position(path)
	return &Error{File: d.File, Line: line, Column: column, Path: path, Message: fmt.Sprintf("%s: %s", path, message)}
}
