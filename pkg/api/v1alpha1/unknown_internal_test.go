package v1alpha1

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// definedField is an OpenAPI schema in a definition.
type definedField struct {
	Properties map[string]definedField `json:"properties"`
	Items      *definedField           `json:"items"`
	Enum       []string                `json:"enum"`
}

// definedSpec returns the schema of a spec in a definition.
func definedSpec(t *testing.T, kind string) definedField {
	t.Helper()
	raw, err := os.ReadFile("../../../deploy/crd/holdfast.dev_" + kind + ".yaml")
	require.NoError(t, err)
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties struct{ Spec definedField } `json:"properties"`
					} `json:"openAPIV3Schema"`
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(raw, &definition))
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties.Spec
}

// walkSchema calls visit with the path of each field below a schema, and with the values of enumerations.
func walkSchema(s definedField, path string, visit func(path string, s definedField)) {
	if s.Items != nil {
		walkSchema(*s.Items, path+"[]", visit)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		visit(at, s.Properties[name])
		if at != "select[].selector" { // a type of Kubernetes
			walkSchema(s.Properties[name], at, visit)
		}
	}
}

// put sets a value at a path, in maps and in lists of one element.
func put(path string, value any) any {
	name, rest, more := strings.Cut(path, ".")
	if more {
		value = put(rest, value)
	}
	if name, isList := strings.CutSuffix(name, "[]"); isList {
		return map[string]any{name: []any{value}}
	}
	return map[string]any{name: value}
}

// unknownIn decodes an Application or a HoldProfile with a value in its spec.
func unknownIn(t *testing.T, kind, path string, value any) []string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"spec": put(path, value)})
	require.NoError(t, err)
	if kind == "holdprofiles" {
		p, err := DecodeProfile(raw)
		require.NoError(t, err, "%s", raw)
		return p.Unknown
	}
	app, err := DecodeApplication(raw)
	require.NoError(t, err, "%s", raw)
	return app.Unknown
}

// Whatever field and whatever value of an enumeration a newer version adds, an Application or a HoldProfile with
// it is recognized.
func TestUnknownFieldsAndValuesAreFound(t *testing.T) {
	values, fields := 0, 0
	for _, kind := range []string{"applications", "holdprofiles"} {
		assert.Equal(t, []string{"spec.news"}, unknownIn(t, kind, "news", 1))
		walkSchema(definedSpec(t, kind), "", func(path string, s definedField) {
			at := "spec." + strings.ReplaceAll(path, "[]", "[0]")
			if known := s.Enum; known != nil {
				values++
				assert.Equal(t, []string{at + ": News"}, unknownIn(t, kind, path, "News"), path)
				for _, value := range known {
					assert.Empty(t, unknownIn(t, kind, path, value), path)
				}
			}
			below, here := s, ""
			if s.Items != nil {
				below, here = *s.Items, "[0]"
			}
			if len(below.Properties) == 0 {
				return
			}
			fields++
			inner := path
			if s.Items != nil {
				inner += "[]"
			}
			assert.Equal(t, []string{at + here + ".news"}, unknownIn(t, kind, inner+".news", map[string]any{"a": 1}), path)
		})
	}
	assert.GreaterOrEqual(t, values, 12)
	assert.GreaterOrEqual(t, fields, 20)
}

// The contents of manifests, schemas, inputs and values belong to the user.
func TestFreeFormIsNotUnknown(t *testing.T) {
	for _, path := range []string{
		"manifest[].news", "observerSchema[].spec.news", "tosca.inputs.news", "csar.inputs.news.more", "select[].hold.news",
		"fields[].hold[].minimum.news", "fields[].hold[].oneOf[].news",
	} {
		assert.Empty(t, unknownIn(t, "applications", path, 1), path)
	}
	app, err := DecodeApplication([]byte(`{"metadata":{"news":1},"news":1,"status":{"news":1,"conditions":[{"news":1}]},"spec":{"suspend":true}}`))
	require.NoError(t, err)
	assert.Empty(t, app.Unknown, "a newer version may have written the status")
	assert.True(t, app.Spec.Suspend)
}

// Keys have one spelling, as everywhere in the API: another one is an unknown field, and no rule.
func TestKeysOfHeldFieldsHaveOneSpelling(t *testing.T) {
	for content, want := range map[string]HeldField{
		`"a"`:                                 {Path: "a"},
		`{"path":"a","mode":"hold"}`:          {Path: "a", Mode: "hold"},
		`{"path":"a","Mode":"absent"}`:        {Path: "a", Fault: `unknown field "Mode"`, Unknown: []string{"Mode"}},
		`{"path":"a","keys":{"Hold":["b"]}}`:  {Path: "a", Keys: &HeldKeys{}, Fault: `unknown field "keys.Hold"`, Unknown: []string{"keys.Hold"}},
		`{"path":"a","mode":3,"pattern":"b"}`: {Path: "a", Pattern: "b", Fault: "mode cannot be of type number"},
		`[]`:                                  {Fault: "must be a path, as text, or an object with a path and a rule, not a array"},
	} {
		var held HeldField
		require.NoError(t, json.Unmarshal([]byte(content), &held))
		assert.Equal(t, want, held, content)
	}
}
