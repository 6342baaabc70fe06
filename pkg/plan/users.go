package plan

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/writer"
)

// nameWait is how long to wait for the name of a user. The API server sends a batch of audit events every 30
// seconds, and retries for a minute or two. Afterwards, the entry remains without a user.
const nameWait = 5 * time.Minute

// UnattributedWrites returns the object versions whose users a plan needs: of live objects, of deleted ones, of
// pending drift, and of recent history entries. Their order is not specified. Secrets are not among them.
func UnattributedWrites(in Input) []v1alpha1.ObjectVersion {
	wanted := map[v1alpha1.ObjectVersion]bool{}
	for id, live := range in.Live {
		wanted[in.versionOf(id, live)] = true
	}
	for _, r := range in.Application.Status.Resources {
		if id := manifest.IDFromReference(r.ResourceReference); in.Live[id] == nil && r.UID != "" && !manifest.IsSecret(id.GroupKind()) {
			wanted[v1alpha1.ObjectVersion{UID: r.UID}] = true
		}
	}
	history := in.Application.Status.History
	// Audit events arrive in batches, often after the drift was found or corrected.
	if in.Memory != nil {
		history = slices.Concat(history, in.Memory.Older)
		for _, standing := range in.Memory.PendingDrift {
			if standing.User == (User{}) {
				wanted[standing.Version] = true
			}
		}
	}
	for _, e := range history {
		if e.PendingUser != nil && in.Now.Sub(e.Time.Time) < nameWait {
			wanted[*e.PendingUser] = true
		}
	}
	// versionOf returns the zero version for an object whose last write cannot be attributed.
	delete(wanted, v1alpha1.ObjectVersion{})
	return slices.Collect(maps.Keys(wanted))
}

// writersOf returns a function that returns the writers of a live object. It decodes them at the first call.
func (in *Input) writersOf(id manifest.ID, live map[string]any) func() *writer.Index {
	return sync.OnceValue(func() *writer.Index { return in.ObservedWrites[id].Index(in.Application, live) })
}

// versionOf returns the version of a live object that the last write created. It returns the zero version unless
// there was exactly one write since the Application last processed or wrote the object, because changes cannot
// be attributed to one of several writes. It also returns the zero version for Secrets, because the controller
// never looks up the users who write them.
func (in Input) versionOf(id manifest.ID, live map[string]any) (v v1alpha1.ObjectVersion) {
	w := in.ObservedWrites[id]
	// Also if the object was read at a version that the watch has not delivered.
	if live == nil || w.Writes != 1 || manifest.IsSecret(id.GroupKind()) || manifest.NestedString(live, "metadata", "resourceVersion") != w.ResourceVersion {
		return v
	}
	return v1alpha1.ObjectVersion{UID: types.UID(manifest.NestedString(live, "metadata", "uid")), ResourceVersion: w.Write}
}
