package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// WatchDefinitions watches the metadata of CustomResourceDefinitions until the context ends. It calls changed with
// the resource of each definition that is created, changed or deleted after the first list. changed runs on the
// goroutine of the watch, and must not block. If the watch is forbidden, it is retried, and changes of definitions
// are noticed later.
func WatchDefinitions(ctx context.Context, client metadata.Interface, changed func(schema.GroupResource)) {
	watchMetadata(ctx, client, definitions, &definitionStore{changed: changed}, nil)
}

// definitionStore stores only the version of each definition. It implements cache.ReflectorStore. It needs no lock,
// because only the goroutine of its reflector uses it.
type definitionStore struct {
	changed func(schema.GroupResource)
	// versions records the resourceVersion of each definition, by name. It is nil before the first list.
	versions map[string]string
}

func (s *definitionStore) Add(item any) error { return s.Update(item) }
func (s *definitionStore) Resync() error      { return nil }

// Update reports the resource of a definition, unless its version is known already.
func (s *definitionStore) Update(item any) error {
	if definition, ok := item.(*metav1.PartialObjectMetadata); ok && s.versions[definition.Name] != definition.ResourceVersion {
		s.versions[definition.Name] = definition.ResourceVersion
		s.changed(schema.ParseGroupResource(definition.Name))
	}
	return nil
}

func (s *definitionStore) Delete(item any) error {
	if definition, ok := item.(*metav1.PartialObjectMetadata); ok {
		delete(s.versions, definition.Name)
		s.changed(schema.ParseGroupResource(definition.Name))
	}
	return nil
}

// Replace reports the changes during an interruption of the watch. It reports nothing for the first list.
func (s *definitionStore) Replace(items []any, _ string) error {
	versions := map[string]string{}
	for _, item := range items {
		if definition, ok := item.(*metav1.PartialObjectMetadata); ok {
			versions[definition.Name] = definition.ResourceVersion
		}
	}
	old := s.versions
	s.versions = versions
	if old == nil {
		return nil
	}
	for name, version := range versions {
		if old[name] != version {
			s.changed(schema.ParseGroupResource(name))
		}
	}
	for name := range old {
		if _, still := versions[name]; !still {
			s.changed(schema.ParseGroupResource(name))
		}
	}
	return nil
}
