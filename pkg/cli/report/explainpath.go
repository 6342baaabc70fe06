package report

import (
	"fmt"
	"regexp"
	"strings"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// element is a list element in a path, such as [name=web] or [0], but not a
// quoted key.
var element = regexp.MustCompile(`\[[^'\]][^\]]*\]`)

// FieldsAt are the fields at or below a path, or above it if one field is all of
// that. "" is all fields.
func FieldsAt(fields []plan.Field, path string) ([]plan.Field, error) {
	path = strings.TrimPrefix(path, ".")
	if path == "" {
		return fields, nil
	}
	// Without elements in it, a path means the field in all of them.
	plain := func(text string) string { return text }
	if !element.MatchString(path) {
		plain = func(text string) string { return element.ReplaceAllString(text, "") }
	}
	var at, around []plan.Field
	for _, f := range fields {
		switch own := plain(f.Path); {
		case observer.Under(own, path):
			at = append(at, f)
		case observer.Under(path, own):
			around = append(around, f)
		}
	}
	if at = append(at, around...); len(at) > 0 {
		return at, nil
	}
	return nil, fmt.Errorf("there is no field %s, neither desired nor live%s", path, suggestPath(path, fields))
}

// suggestPath names the nearest path, or the part of the path that is there.
func suggestPath(path string, fields []plan.Field) string {
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
