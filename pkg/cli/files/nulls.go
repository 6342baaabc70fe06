package files

import "holdfast.dev/holdfast/pkg/observer"

// replaceNulls replaces each null leaf of spec.observerSchema by "observed", because a client that edits the
// Application later may drop nulls. It changes spec. See "null in a schema" in docs/semantics.md.
//
//	{spec: {replicas: null}}  {spec: {replicas: observed}}
func replaceNulls(spec map[string]any) {
	entries, _ := spec["observerSchema"].([]any)
	replaced := make([]any, len(entries))
	for i, entry := range entries {
		replaced[i] = entry
		if content, ok := entry.(map[string]any); ok {
			replaced[i] = observer.ReplaceNulls(content)
		}
	}
	if len(entries) > 0 {
		spec["observerSchema"] = replaced
	}
}
