package report

import (
	"fmt"
	"regexp"
	"strings"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/observer"
)

// FieldsAt returns the fields at or below a path, and any field above it that includes it. It returns all
// fields for "". A path without list elements matches the field in every element. The fields at or below the path
// precede those above it. If there is none, the error suggests the nearest path.
//
//	spec.template                        all fields of the Pod template
//	spec.template.spec.containers.image  the image of each container
//	metadata.labels.app                  that label, or metadata.labels if the map is one leaf
func FieldsAt(fields []explain.Field, path string) ([]explain.Field, error) {
	typed, err := observer.ParsePath(strings.TrimPrefix(path, "."))
	if err != nil {
		return nil, err
	}
	if typed == nil {
		return fields, nil
	}
	var at, around []explain.Field
	for _, f := range fields {
		own, err := observer.ParsePath(f.Path)
		if err != nil {
			return nil, err
		}
		switch below, above := own.Compare(typed); {
		case below:
			at = append(at, f)
		case above:
			around = append(around, f)
		}
	}
	if at = append(at, around...); len(at) > 0 {
		return at, nil
	}
	return nil, fmt.Errorf("no field %s in the desired or the live object%s", typed, suggestPath(typed.String(), fields))
}

// element is a list element in a path, such as [name=web] or [0], but not a
// quoted key.
var element = regexp.MustCompile(`\[[^'\]][^\]]*\]`)

// suggestPath returns a "did you mean" text with the nearest field path, or the nearest parent of a field. Elements
// are left out on both sides, so that a wrong name of a container does not hide a wrong name of a field.
func suggestPath(path string, fields []explain.Field) string {
	seen := map[string]bool{}
	var paths []string
	for _, f := range fields {
		for name := element.ReplaceAllString(f.Path, ""); name != "" && !seen[name]; name = name[:max(strings.LastIndexAny(name, ".["), 0)] {
			seen[name] = true
			paths = append(paths, name)
		}
	}
	return suggest.DidYouMean(element.ReplaceAllString(path, ""), paths)
}
