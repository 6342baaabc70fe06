package plan

import (
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/writer"
)

// isServerDefault reports whether a value at a path is one that the API server sets if the field is absent.
func isServerDefault(kind *kinds.Node, live map[string]any, path *observer.Path, value any) bool {
	if path.Parent() == nil {
		return false
	}
	siblings, isMap := path.Parent().Live(live).(map[string]any)
	return isMap && writer.IsServerDefault(path.Parent().Name(), path.Name(), siblings) || isKindDefault(kind, path, value)
}

// isKindDefault reports whether the schema of a kind defines a value as the default at a path.
func isKindDefault(kind *kinds.Node, path *observer.Path, value any) bool {
	field, err := observer.ParseFieldPath(path.String())
	if err != nil {
		return false
	}
	filled, is := field.DefaultFor(kind)
	return is && observer.Equal(filled, value)
}
