package files

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	openapi "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// checkApplication returns all validation errors in the document of an Application, with line and column. It checks
// the types of all fields, then the rules of the kind. The engine validates the manifests and the observer schema
// later. The API server would report the same errors one after the other: it stops at types before it evaluates
// rules.
//
//	spec.adoptoin: unknown field: did you mean adoption?
//	spec.suspend: must be true or false, not a string
//	spec.mode: "hold" must be one of Hold, Observe
func checkApplication(document manifest.Document) error {
	c := &checker{document: document}
	c.value(nil, reflect.TypeFor[v1alpha1.Application](), document.Value)
	// The rules assume the right types. With a wrong type, they would report consequences of that error.
	if len(c.faults) == 0 {
		c.rules()
	}
	return joinSorted(c.faults, "")
}

// checker collects the validation errors of one document.
type checker struct {
	document manifest.Document
	faults   []*manifest.Error
}

// fault adds an error with the position of the field at path. The message begins with the path. The path is in the
// message, too, because a position in a generated file does not help.
func (c *checker) fault(path manifest.Path, format string, args ...any) {
	c.faults = append(c.faults, FaultAt(c.document, path, path.String()+": "+fmt.Sprintf(format, args...)))
}

// rules checks the requirements of the kind that go beyond types: a name, exactly one source of manifests, and
// the definition of the kind.
func (c *checker) rules() {
	if manifest.NestedString(c.document.Value, "metadata", "name") == "" {
		c.fault(manifest.Path{"metadata", "name"}, "is missing: an Application needs a name")
	}
	spec, _ := c.document.Value["spec"].(map[string]any)
	sources := 0
	for _, source := range []string{"manifest", "tosca", "csar"} {
		if spec[source] != nil {
			sources++
		}
	}
	if spec["select"] != nil && spec["manifest"] == nil { // spec.select is used with manifests, or instead of them
		sources++
	}
	if sources != 1 {
		c.fault(manifest.Path{"spec"}, "needs exactly one of manifest, tosca and csar, and has %d", sources)
	}
	c.schema(spec)
}

// schema validates a spec against the shipped definition, with the library that API servers use. It does not
// evaluate CEL rules: the API server does, and the CEL library would make this program a fifth larger. It reports
// enumerations, patterns, formats, limits of lists and required fields.
func (c *checker) schema(spec map[string]any) {
	for _, err := range validate.NewSchemaValidator(specSchema(), nil, "spec", strfmt.Default).Validate(withoutNulls(spec)).Errors {
		switch invalid, is := errors.AsType[*openapi.Validation](err); {
		case !is:
			c.fault(manifest.Path{"spec"}, "%v", err)
		case invalid.Code() == openapi.EnumFailCode:
			allowed := make([]string, len(invalid.Values))
			for i, value := range invalid.Values {
				allowed[i] = fmt.Sprint(value)
			}
			c.fault(ParsePath(invalid.Name), "%q must be one of %s", invalid.Value, strings.Join(allowed, ", "))
		default:
			c.fault(ParsePath(invalid.Name), "%s", strings.TrimPrefix(err.Error(), invalid.Name+" in body "))
		}
	}
}

// withoutNulls returns a copy of a map without nulls, also in nested maps. The validator would reject a null
// that the API server drops. Nulls inside lists are kept.
func withoutNulls(value map[string]any) map[string]any {
	present := map[string]any{}
	for name, child := range value {
		if m, ok := child.(map[string]any); ok {
			child = withoutNulls(m)
		}
		if child != nil {
			present[name] = child
		}
	}
	return present
}

// specSchema returns the OpenAPI schema of the spec of an Application, from the definition that this program
// installs. It is parsed once, and panics if that definition has no such schema.
var specSchema = sync.OnceValue(func() *spec.Schema {
	documents, err := manifest.Read("install.yaml", deploy.Install())
	if err != nil {
		panic(err) // a test reads it
	}
	for _, document := range documents {
		if manifest.NestedString(document.Value, "spec", "names", "kind") != v1alpha1.Kind {
			continue
		}
		for _, version := range manifest.NestedMaps(document.Value, "spec", "versions") {
			found, isSchema, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "spec")
			schema := &spec.Schema{}
			if isSchema && fill(found, schema) == nil {
				return schema
			}
		}
	}
	panic("no schema of Applications in install.yaml")
})

var (
	rawType   = reflect.TypeFor[runtime.RawExtension]()
	bytesType = reflect.TypeFor[[]byte]()
	// statusType has its own decoder, which only unpacks its record. Its fields are checked like those of other
	// types.
	statusType = reflect.TypeFor[v1alpha1.ApplicationStatus]()
	timeType   = reflect.TypeFor[metav1.Time]()
	decoder    = reflect.TypeFor[json.Unmarshaler]()
)

// value checks that a value fits the Go type that it is decoded into. path is the path of the value in the
// document; it is empty only for the document itself.
//
//	type                              checked by
//	runtime.RawExtension in the spec  being a map
//	runtime.RawExtension in a status  nothing
//	metav1.Time, quantities, []byte   decoding it
//	structs, maps, lists, scalars     plain
//
// Pointers count as their elements. null is valid for every other type, because the API server drops it.
func (c *checker) value(path manifest.Path, t reflect.Type, value any) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	// Manifests and schemas are any objects; the engine checks their fields. In the status, any value may be stored.
	case t == rawType:
		if _, isMap := value.(map[string]any); !isMap && path[0] == "spec" {
			c.fault(path, "must be a map, not %s", manifest.Describe(value))
		}
	case value == nil: // null counts as absent
	case t == bytesType || (t != statusType && reflect.PointerTo(t).Implements(decoder)):
		c.decodes(path, t, value)
	default:
		c.plain(path, t, value)
	}
}

// decodes checks a value by decoding it, for a type that has its own decoder.
func (c *checker) decodes(path manifest.Path, t reflect.Type, value any) {
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, reflect.New(t).Interface())
	}
	if err == nil {
		return
	}
	if t == timeType {
		c.fault(path, "must be a time like 2006-01-02T15:04:05Z")
		return
	}
	c.fault(path, "is invalid: %v", err)
}

// plain checks a value against a type without a decoder of its own. It descends into structs, maps and lists. An
// integer must fit the size of its type.
func (c *checker) plain(path manifest.Path, t reflect.Type, value any) {
	fits := false
	switch v := value.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			c.fields(path, t, v)
			return
		case reflect.Map:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				c.value(below(path, key), t.Elem(), v[key])
			}
			return
		}
	case []any:
		if fits = t.Kind() == reflect.Slice; fits {
			for i, element := range v {
				c.value(below(path, i), t.Elem(), element)
			}
		}
	case string:
		fits = t.Kind() == reflect.String
	case bool:
		fits = t.Kind() == reflect.Bool
	case int64:
		fits = reflect.Zero(t).CanInt() && !reflect.Zero(t).OverflowInt(v)
	}
	if !fits {
		c.fault(path, "must be %s, not %s", cmp.Or(wanted[t.Kind()], "a whole number"), manifest.Describe(value))
	}
}

// fields checks the fields of a map that is decoded into a struct. It ignores unknown fields in the status,
// because another version may have written them.
func (c *checker) fields(path manifest.Path, t reflect.Type, value map[string]any) {
	known := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(value)) {
		field, isKnown := known[name]
		if isKnown {
			c.value(below(path, name), field, value[name])
			continue
		}
		if len(path) == 0 || path[0] != "status" {
			c.fault(below(path, name), "unknown field%s", suggest.DidYouMean(name, slices.Collect(maps.Keys(known))))
		}
	}
}

// fieldsOf returns the types of a struct's fields by JSON name. It includes the fields of embedded structs whose
// tag has no name.
//
//	metav1.ObjectMeta `json:"metadata"`  metadata
//	metav1.TypeMeta   `json:",inline"`   kind, apiVersion
//	Value any         `json:"-"`         none
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous:
			maps.Copy(known, fieldsOf(field.Type))
		case name != "" && name != "-":
			known[name] = field.Type
		}
	}
	return known
}

// below returns a path that is one step longer. It never shares memory with the result of another call, so an
// error can keep it.
func below(path manifest.Path, step any) manifest.Path {
	return append(slices.Clip(path), step)
}

// wanted contains the names of types for users, with an article. All other types are integers.
var wanted = map[reflect.Kind]string{
	reflect.Struct: "a map", reflect.Map: "a map", reflect.Slice: "a list", reflect.String: "a string", reflect.Bool: "true or false",
}
