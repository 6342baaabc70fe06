package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// FromOpenAPI returns the schema of a kind from the OpenAPI v3 document of its group and version, which an
// API server serves at /openapi/v3/apis/GROUP/VERSION. It returns nil without an error if the document does
// not contain the kind. It returns an error if the document is not valid JSON or contains an unresolved
// reference.
func FromOpenAPI(doc []byte, gvk schema.GroupVersionKind) (*Node, error) {
	var document struct {
		Components struct {
			Schemas map[string]*openAPI `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(doc, &document); err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document of %s: %w", gvk.GroupVersion(), err)
	}
	schemas := document.Components.Schemas
	for _, name := range slices.Sorted(maps.Keys(schemas)) { // several schemas can name the kind
		root := schemas[name]
		if root != nil && slices.Contains(root.Kinds, groupVersionKind(gvk)) {
			return readSchema(root, schemas, gvk)
		}
	}
	return nil, nil
}

// FromCRD returns the schema of a kind from its CustomResourceDefinition. It returns nil if the definition is for
// another kind, does not contain the version, or is malformed.
func FromCRD(crd map[string]any, gvk schema.GroupVersionKind) *Node {
	var definition struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
			Versions []struct {
				Name   string `json:"name"`
				Schema struct {
					OpenAPIV3Schema *openAPI `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	// The round trip through JSON accepts any Go types of numbers and lists.
	content, err := json.Marshal(crd)
	if err != nil || json.Unmarshal(content, &definition) != nil {
		return nil
	}
	if definition.Spec.Group != gvk.Group || definition.Spec.Names.Kind != gvk.Kind {
		return nil
	}
	for _, version := range definition.Spec.Versions {
		if version.Name != gvk.Version || version.Schema.OpenAPIV3Schema == nil {
			continue
		}
		node, err := readSchema(version.Schema.OpenAPIV3Schema, nil, gvk)
		if err != nil {
			return nil // an unresolved reference; CustomResourceDefinitions cannot contain references
		}
		return node.withMetadata()
	}
	return nil
}

// withMetadata returns a copy of the node with the metadata schema, which CustomResourceDefinitions omit. n can be
// nil.
func (n *Node) withMetadata() *Node {
	result := &Node{fields: map[string]*Node{}}
	if n != nil {
		result.elem = n.elem
		maps.Copy(result.fields, n.fields)
	}
	result.fields["metadata"] = builtin().types[objectMeta]
	result.fields["apiVersion"], result.fields["kind"] = &Node{}, &Node{}
	result.closed = n != nil && n.closed
	return result
}
