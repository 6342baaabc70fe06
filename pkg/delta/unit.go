package delta

import (
	"strconv"
	"strings"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// Root is the unit of the top-level fields of an object.
const Root = "."

// unitOf returns the path of the unit that is corrected together with a field. Without units, an object could have
// half of the previous values and half of the values of another client. The unit is the outermost element of a list
// without keys. Otherwise it is the element with keys, or the map, that contains the field. The keys of a map with
// arbitrary keys are independent units:
//
//	field                                         unit
//	spec.template.spec.containers[name=a].image   spec.template.spec.containers[name=a]
//	spec.template.spec.tolerations[0].key         spec.template.spec.tolerations[0]
//	spec.replicas                                 spec
//	data.key                                      the field itself
//	type                                          . (Root)
//
// Source: docs/semantics.md, "What the API server refuses".
func unitOf(t *kinds.Node, path *observer.Path) string {
	var around, parent *kinds.Node // the types of the map that contains the field, and of its parent
	for _, step := range path.Chain() {
		around, parent = parent, t
		if !step.IsElement() {
			t = t.Field(step.Name())
			continue
		}
		if isPosition(step.Label()) {
			return step.String()
		}
		t = t.Elem()
	}
	up := path.Parent()
	switch {
	case up == nil:
		return Root
	// Labels and annotations are independent of each other, and so is everything else in the metadata.
	case path.IsElement(), around.HasFreeKeys(up.Name()), isMetadata(path):
		return path.String()
	}
	return up.String()
}

// isPosition reports whether a label identifies an element by its position.
func isPosition(label string) bool {
	_, err := strconv.ParseUint(strings.Trim(label, "[]"), 10, 64)
	return err == nil
}

// isMetadata reports whether a path is a field of the metadata of the object.
func isMetadata(path *observer.Path) bool {
	chain := path.Chain()
	return len(chain) > 0 && chain[0].Name() == "metadata"
}
