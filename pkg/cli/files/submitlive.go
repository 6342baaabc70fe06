package files

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// FromLive is what an Application is made of that holds live objects as they are.
type FromLive struct {
	Manifests []manifest.Document
	fields    []any
}

// Add takes one object, of which a suggestion was made; namespace is that of the
// Application, which manifests need not name.
func (f *FromLive) Add(s plan.Suggestion, namespace string) {
	metadata, _ := s.Manifest["metadata"].(map[string]any)
	resource := map[string]any{"kind": s.Manifest["kind"], "name": metadata["name"]}
	if metadata["namespace"] == namespace {
		delete(metadata, "namespace")
	} else if metadata["namespace"] != nil {
		resource["namespace"] = metadata["namespace"]
	}
	f.Manifests = append(f.Manifests, manifest.Document{File: text(s.Manifest, "kind") + " " + text(metadata, "name"), Value: s.Manifest})
	if len(s.Free) == 0 {
		return
	}
	free := make([]any, len(s.Free))
	for i, path := range s.Free {
		free[i] = path
	}
	f.fields = append(f.fields, map[string]any{"resource": resource, "free": free})
}

// fill says in a spec what is free, and that objects are taken over. A nil FromLive does
// nothing.
func (f *FromLive) fill(spec map[string]any) {
	if f == nil {
		return
	}
	if len(f.fields) > 0 {
		spec["fields"] = f.fields
	}
	spec["adoption"] = string(v1alpha1.AdoptIfUnowned)
}

// WithLive is the source with what was made of live objects.
func (s SubmittedSource) WithLive(live *FromLive) SubmittedSource {
	s.live = live
	return s
}

// NamesFiles reports whether files are given.
func (f SubmittedFlags) NamesFiles() bool { return f.manifests.Given() }
