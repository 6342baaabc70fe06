package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// table is the content of pkg/kinds/builtin.json.
type table struct {
	// Comment marks the file as generated.
	Comment string
	// Kinds maps "apps/v1 Deployment" to the name of its type.
	Kinds map[string]string
	// Types contains each structure once. They refer to each other by name.
	Types map[string]structure
	// Values lists the structures that are atomic.
	Values []string
}

// structure is a named type with the fields that lead to a list or to an atomic map.
type structure struct {
	name   string // in full
	fields map[string]*node
}

// node is the type of a field or an element. Exactly one of Type and the rest is set. Elem without List is
// a map, and Value an atomic map.
type node struct {
	Type     string         `json:"type,omitempty"`
	List     string         `json:"list,omitempty"`
	Keys     []string       `json:"keys,omitempty"`
	Defaults map[string]any `json:"defaults,omitempty"`
	Elem     *node          `json:"elem,omitempty"`
	Value    bool           `json:"value,omitempty"`
}

// format writes every kind and every type on a separate line, so that an upgrade of client-go gives a
// readable diff.
func (t *table) format() ([]byte, error) {
	var out bytes.Buffer
	comment, err := json.Marshal(t.Comment)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&out, "{\n\"comment\": %s,\n\"kinds\": {\n", comment)
	if err := writeEntries(&out, t.Kinds); err != nil {
		return nil, err
	}
	fields := make(map[string]map[string]*node, len(t.Types))
	for name, structure := range t.Types {
		fields[name] = structure.fields
	}
	fmt.Fprint(&out, "},\n\"types\": {\n")
	if err := writeEntries(&out, fields); err != nil {
		return nil, err
	}
	values, err := json.Marshal(slices.Sorted(slices.Values(t.Values)))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&out, "},\n\"values\": %s\n}\n", values)
	return out.Bytes(), nil
}

func writeEntries[V any](out *bytes.Buffer, entries map[string]V) error {
	names := slices.Sorted(maps.Keys(entries))
	for i, name := range names {
		line, err := json.Marshal(entries[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Fprintf(out, "%q: %s%s\n", name, line, comma)
	}
	return nil
}
