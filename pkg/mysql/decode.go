package mysql

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	kjson "sigs.k8s.io/json"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/api/mysql/v1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/template"
)

// decode reads a Mysql. Fields that it does not know are no error here: an API
// server may have a newer definition.
func decode(content map[string]any) (*v1.Mysql, []*template.Fault, error) {
	raw, err := json.Marshal(content)
	if err != nil {
		return nil, nil, &template.Fault{Reason: template.ReasonSpecInvalid, Message: err.Error()}
	}
	object := &v1.Mysql{}
	strict, err := kjson.UnmarshalStrict(raw, object)
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped):
		return nil, nil, &template.Fault{
			Path: pathOf(mistyped.Field), Reason: template.ReasonSpecInvalid,
			Message: fmt.Sprintf("must be %s, not %s%s", typeName(mistyped.Type.String()), mistyped.Value, hint(mistyped)),
		}
	case err != nil:
		return nil, nil, &template.Fault{Reason: template.ReasonSpecInvalid, Message: err.Error()}
	}
	object.Spec = object.Spec.Defaulted()
	return object, unknownFields(strict), nil
}

func unknownFields(strict []error) (unknown []*template.Fault) {
	for _, err := range strict {
		var field kjson.FieldError
		if errors.As(err, &field) {
			path := pathOf(field.FieldPath())
			unknown = append(unknown, &template.Fault{
				Path: path, Reason: template.ReasonSpecInvalid, Message: "is no field of a " + v1.Kind + nearest(path),
			})
		}
	}
	return unknown
}

// nearest suggests the field of a spec that one which is none may be.
func nearest(path manifest.Path) string {
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

// pathOf reads spec.cpu. No field of a Mysql that is decoded has a dot or an index.
func pathOf(text string) (path manifest.Path) {
	for step := range strings.SplitSeq(text, ".") {
		path = append(path, step)
	}
	return path
}

func typeName(name string) string {
	switch {
	case strings.HasSuffix(name, "string"):
		return "text"
	case strings.HasPrefix(name, "int"):
		return "a number"
	default:
		return "a map"
	}
}

// hint is for what people write most often: cpu: 2.
func hint(err *json.UnmarshalTypeError) string {
	if err.Value == "number" {
		return ": put it into quotes"
	}
	return ""
}
