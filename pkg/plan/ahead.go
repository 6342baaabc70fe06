package plan

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Ahead is the status to write before the plan is executed, or nil if there is no
// need: a patch is about to write fields that are not on record. Should we die
// before the status says so, the next spec may not have them any more, and nobody
// would know that they are ours to remove. What is created needs no such record:
// it has our marks, and its manifest is on record when it is patched.
func (p *Plan) Ahead() *v1alpha1.ApplicationStatus {
	ahead := map[manifest.ID]map[string]any{}
	for _, res := range p.resources {
		r := res.previous
		if res.change.Action != Update || res.adopting || r == nil || r.entry == nil || !r.entry.Default || !res.entry.Default {
			continue
		}
		if desired, more := withAdded(r.desired, res.stored()); more {
			ahead[res.object.ID] = desired.(map[string]any)
		}
	}
	if len(ahead) == 0 {
		return nil
	}
	app := p.in.Application
	status := app.Status.DeepCopy()
	for i, item := range status.LastAppliedManifest {
		content, err := decode(item)
		if err != nil {
			continue
		}
		id, ok := Identify(content, app.Namespace, p.in.Kinds)
		if desired := ahead[id]; ok && desired != nil && i < len(status.MangledObserverSchema) {
			entry := observer.DefaultEntry(manifest.Object{ID: id, APIVersion: text(desired, "apiVersion"), Content: desired})
			status.LastAppliedManifest[i] = encode(desired)
			status.MangledObserverSchema[i] = encode(entry.Raw())
		}
	}
	return status
}

// withAdded is what is on record with the fields that are new, and whether there
// are any. Of a list that gets longer, the new one is taken.
func withAdded(before, after any) (merged any, more bool) {
	switch after := after.(type) {
	case map[string]any:
		was, ok := before.(map[string]any)
		if !ok {
			return before, false
		}
		return addedFields(was, after)
	case []any:
		was, ok := before.([]any)
		switch {
		case !ok:
			return before, false
		case len(after) > len(was):
			return after, true
		case len(after) == len(was):
			return addedElements(was, after)
		}
	}
	return before, false
}

func addedFields(before, after map[string]any) (map[string]any, bool) {
	merged, more := make(map[string]any, len(after)), false
	for name, value := range before {
		merged[name] = value
	}
	for name, value := range after {
		was, had := before[name]
		if !had {
			merged[name], more = value, true
			continue
		}
		var added bool
		if merged[name], added = withAdded(was, value); added {
			more = true
		}
	}
	return merged, more
}

func addedElements(before, after []any) ([]any, bool) {
	merged, more := make([]any, len(before)), false
	for i := range before {
		var added bool
		if merged[i], added = withAdded(before[i], after[i]); added {
			more = true
		}
	}
	return merged, more
}
