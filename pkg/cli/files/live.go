package files

import (
	"errors"
	"fmt"

	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
)

// liveObjects returns the live objects for one Application by ID. Objects without a namespace are assumed to be in
// the given one, the namespace of the Application. The error joins one error for each document that is no object, or
// that repeats an object. Objects of kinds that no Application names are allowed, because users pass the output of
// kubectl get.
func liveObjects(documents []manifest.Document, namespace string, kinds intent.Kinds) (map[manifest.ID]map[string]any, error) {
	live := make(map[manifest.ID]map[string]any, len(documents))
	first := make(map[manifest.ID]manifest.Document, len(documents))
	var faults []error
	for _, document := range documents {
		id, ok := manifest.Identify(document.Value, namespace, kinds)
		if !ok {
			faults = append(faults, FaultAt(document, nil, "is not a live object: apiVersion, kind and metadata.name are required"))
			continue
		}
		if before, twice := first[id]; twice {
			faults = append(faults, FaultAt(document, nil, fmt.Sprintf("%s is given twice, first at %s: remove one of them", id, positionOf(before))))
			continue
		}
		live[id], first[id] = document.Value, document
	}
	return live, errors.Join(faults...)
}
