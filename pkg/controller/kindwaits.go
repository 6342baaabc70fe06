package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cluster"
)

// kindWaits lists the Applications that wait for kinds of an API group. Reconciles add waits. A new version of the
// Application, or its deletion, ends them, because the next reconcile adds those that it still needs.
type kindWaits struct {
	// mapper caches negative results for the groups in waiting.
	mapper *cluster.Mapper

	mu sync.Mutex
	// waiting lists the Applications by group. No set in it is empty.
	waiting map[string]map[types.NamespacedName]struct{}
}

func newKindWaits(mapper *cluster.Mapper) *kindWaits {
	return &kindWaits{mapper: mapper, waiting: map[string]map[types.NamespacedName]struct{}{}}
}

// add queues an Application when a kind of the group changes. It ignores names that cannot be a group, because users
// can write any text there.
func (k *kindWaits) add(group string, key types.NamespacedName) {
	if !cluster.IsGroup(group) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waiting[group] == nil {
		k.waiting[group] = map[types.NamespacedName]struct{}{}
	}
	k.waiting[group][key] = struct{}{}
}

// end ends the waits of an Application for kinds. It also drops the cached results of groups for
// which no Application waits any more.
func (k *kindWaits) end(key types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for group, keys := range k.waiting {
		if delete(keys, key); len(keys) == 0 {
			delete(k.waiting, group)
			k.mapper.ForgetUnserved(group)
		}
	}
}

// take ends the waits for a group, and returns the Applications that waited.
func (k *kindWaits) take(group string) map[types.NamespacedName]struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	keys := k.waiting[group]
	delete(k.waiting, group)
	return keys
}
