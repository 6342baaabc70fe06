package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// FromOpenAPI returns the schema of a kind out of the OpenAPI v3 document of its
// group and version, as an API server serves it at /openapi/v3/apis/GROUP/VERSION.
// It returns nil without an error if the document has no such kind, and an
// error if the document is not JSON or refers to a schema that it does not have.
func FromOpenAPI(doc []byte, gvk schema.GroupVersionKind) (*Node, error) {
	var document struct {
		Components struct {
			Schemas map[string]*openAPI `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(doc, &document); err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document of %s: %w", gvk.GroupVersion(), err)
	}
	for _, root := range document.Components.Schemas {
		if root != nil && slices.Contains(root.Kinds, groupVersionKind(gvk)) {
			return readSchema(root, document.Components.Schemas, gvk)
		}
	}
	return nil, nil
}

// FromCRD returns the schema of a kind out of its CustomResourceDefinition. It
// returns nil if that does not define the kind, or not in that version.
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
	// Going through JSON reads numbers and lists whatever Go types the map has.
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
			return nil // a reference, which no CustomResourceDefinition may have
		}
		return node.withMetadata()
	}
	return nil
}

// withMetadata adds what a CustomResourceDefinition takes for granted.
func (n *Node) withMetadata() *Node {
	result := &Node{fields: map[string]*Node{}}
	if n != nil {
		result.elem = n.elem
		maps.Copy(result.fields, n.fields)
	}
	result.fields["metadata"] = metadata()
	result.fields["apiVersion"], result.fields["kind"] = &Node{}, &Node{}
	result.closed = n != nil && n.closed
	return result
}
