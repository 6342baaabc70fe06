package mysql

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	kjson "sigs.k8s.io/json"

	"holdfast.dev/holdfast/internal/suggest"
	v1 "holdfast.dev/holdfast/pkg/api/mysql/v1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/template"
)

// decode decodes a Mysql, and sets the defaults of its spec. It returns unknown fields separately, not as an error:
// an API server can have a newer definition.
//
//	spec: {cpu: 2}          an error: spec.cpu must be text, not number: put it into quotes
//	spec: {memry: 1Gi}      unknown: is not a field of a Mysql: did you mean memory?
//	spec: {}                the defaults
func decode(content map[string]any) (*v1.Mysql, []*template.ValidationError, error) {
	raw, err := json.Marshal(content)
	if err != nil {
		return nil, nil, invalid(nil, err.Error())
	}
	object := &v1.Mysql{}
	strict, err := kjson.UnmarshalStrict(raw, object)
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		message := fmt.Sprintf("must be %s, not %s", typeName(mistyped.Type), mistyped.Value)
		if mistyped.Value == "number" {
			message += ": put it into quotes" // the most frequent mistake, cpu: 2
		}
		return nil, nil, invalid(parsePath(mistyped.Field), message)
	}
	if err != nil {
		return nil, nil, invalid(nil, err.Error())
	}
	object.Spec = object.Spec.Defaulted()
	return object, unknownFields(strict), nil
}

// unknownFields returns an error for each unknown field in the errors of the strict decoder.
func unknownFields(strict []error) (unknown []*template.ValidationError) {
	for _, err := range strict {
		if field, ok := errors.AsType[kjson.FieldError](err); ok {
			path := parsePath(field.FieldPath())
			unknown = append(unknown, invalid(path, "is not a field of a "+v1.Kind+suggestField(path)))
		}
	}
	return unknown
}

// suggestField returns a suggestion for an unknown field of the spec, or "". path is not empty.
func suggestField(path manifest.Path) string {
	name, _ := path[len(path)-1].(string)
	if len(path) != 2 || path[0] != "spec" {
		return ""
	}
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[v1.MysqlSpec]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return suggest.DidYouMean(name, names)
}

// parsePath parses a path such as spec.cpu. Decoding errors of a Mysql name no fields with dots or indexes.
func parsePath(text string) (path manifest.Path) {
	for step := range strings.SplitSeq(text, ".") {
		path = append(path, step)
	}
	return path
}

// typeName returns the name of a Go type in a message for users.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Int32, reflect.Int64:
		return "a number"
	default:
		return "a map"
	}
}
