package files

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/suggestion"
)

// FromLive is the source of an Application that holds live objects with their current values. The zero value has
// no objects.
type FromLive struct {
	// Manifests are the manifests of the objects. Their documents have a name for messages, and no position.
	Manifests []manifest.Document
	// fields is spec.fields, as JSON objects.
	fields []any
}

// Add adds an object for which a suggestion was made. It can remove the namespace from the suggested manifest:
// namespace is the namespace of the Application, which manifests can omit.
//
//	manifest                       item of spec.fields, if fields are free
//	Deployment web, in namespace   {resource: {kind: Deployment, name: web}, free: [...]}
//	Deployment web, elsewhere      {resource: {kind: Deployment, namespace: db, name: web}, free: [...]}
func (f *FromLive) Add(s suggestion.Proposal, namespace string) {
	metadata, _ := s.Manifest["metadata"].(map[string]any)
	resource := map[string]any{"kind": s.Manifest["kind"], "name": metadata["name"]}
	if metadata["namespace"] == namespace {
		delete(metadata, "namespace")
	} else if metadata["namespace"] != nil {
		resource["namespace"] = metadata["namespace"]
	}
	f.Manifests = append(f.Manifests, manifest.Document{File: manifest.NestedString(s.Manifest, "kind") + " " + manifest.NestedString(metadata, "name"), Value: s.Manifest})
	if len(s.Free) == 0 {
		return
	}
	free := make([]any, len(s.Free))
	for i, path := range s.Free {
		free[i] = path
	}
	f.fields = append(f.fields, map[string]any{"resource": resource, "free": free})
}

// fill sets the free fields and the adoption policy in a spec. The objects exist, so without adoption each would
// be a conflict. A nil FromLive changes nothing.
func (f *FromLive) fill(spec map[string]any) {
	if f == nil {
		return
	}
	if len(f.fields) > 0 {
		spec["fields"] = f.fields
	}
	spec["adoption"] = string(v1alpha1.AdoptIfUnowned)
}

// WithLive returns the source with the manifests made from live objects. The files of -f are then not read
// again.
func (s SubmittedSource) WithLive(live *FromLive) SubmittedSource {
	s.live = live
	return s
}

// NamesFiles reports whether -f or -k is given.
func (f SubmittedFlags) NamesFiles() bool { return f.manifests.Given() }
