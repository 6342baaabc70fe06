package files

import (
	"errors"
	"fmt"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// liveObjects are the live objects as one Application sees them: an object
// without a namespace is taken to be in the Application's.
func liveObjects(documents []manifest.Document, namespace string, kinds plan.Kinds) (map[manifest.ID]map[string]any, error) {
	live := make(map[manifest.ID]map[string]any, len(documents))
	first := make(map[manifest.ID]manifest.Document, len(documents))
	var faults []error
	for _, document := range documents {
		id, ok := plan.Identify(document.Value, namespace, kinds)
		if !ok {
			faults = append(faults, FaultAt(document, nil, "is no live object: it needs apiVersion, kind and metadata.name"))
			continue
		}
		if before, twice := first[id]; twice {
			faults = append(faults, FaultAt(document, nil, fmt.Sprintf("%s is given twice, first at %s: keep one of them", id, positionOf(before))))
			continue
		}
		live[id], first[id] = document.Value, document
	}
	return live, errors.Join(faults...)
}
