package cluster

import (
	"context"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// WatchDefinitions watches the metadata of CustomResourceDefinitions until the context ends. It calls changed with
// the group of each definition that is created, changed or deleted after the first list. changed runs on the
// goroutine of the watch, and must not block. If the watch is forbidden, it is retried, and changes of definitions
// are noticed later.
func WatchDefinitions(ctx context.Context, client metadata.Interface, changed func(group string)) {
	resource := client.Resource(definitions)
	f := &consistentListWatcher{
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, options)
		},
		watch: resource.Watch, pulse: newWatchHealth(defaultStallTimeouts, &connectionHealth{}),
	}
	store := &definitionStore{changed: changed, versions: map[string]string{}}
	reflector := cache.NewReflectorWithOptions(f.listerWatcher(), &metav1.PartialObjectMetadata{}, store,
		cache.ReflectorOptions{Name: "definitions", TypeDescription: definitions.String()})
	go reflector.RunWithContext(ctx)
}

// definitionStore stores only the version of each definition. It implements cache.ReflectorStore.
type definitionStore struct {
	changed func(group string)

	// mu guards the fields below.
	mu sync.Mutex
	// versions has the resourceVersion of each definition, by name.
	versions map[string]string
	// listed is true once the first list is complete.
	listed bool
}

func (s *definitionStore) Add(item any) error    { return s.Update(item) }
func (s *definitionStore) Resync() error         { return nil }
func (s *definitionStore) Update(item any) error { s.note(item, false); return nil }
func (s *definitionStore) Delete(item any) error { s.note(item, true); return nil }

// note records a watch event, and reports it unless the version is known already.
func (s *definitionStore) note(item any, gone bool) {
	definition, ok := item.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	s.mu.Lock()
	news := s.versions[definition.Name] != definition.ResourceVersion || gone
	s.versions[definition.Name] = definition.ResourceVersion
	if gone {
		delete(s.versions, definition.Name)
	}
	s.mu.Unlock()
	if news {
		s.changed(groupOf(definition.Name))
	}
}

// Replace reports the changes during an interruption of the watch. It reports nothing for the first list.
func (s *definitionStore) Replace(items []any, _ string) error {
	versions := map[string]string{}
	for _, item := range items {
		if definition, ok := item.(*metav1.PartialObjectMetadata); ok {
			versions[definition.Name] = definition.ResourceVersion
		}
	}
	s.mu.Lock()
	// The callback runs without the lock.
	old, listed := s.versions, s.listed
	s.versions, s.listed = versions, true
	s.mu.Unlock()
	if !listed {
		return nil
	}
	for name, version := range versions {
		if old[name] != version {
			s.changed(groupOf(name))
		}
	}
	for name := range old {
		if _, still := versions[name]; !still {
			s.changed(groupOf(name))
		}
	}
	return nil
}

// groupOf returns the group in the name of a definition, plural.group.
func groupOf(name string) string {
	_, group, _ := strings.Cut(name, ".")
	return group
}
