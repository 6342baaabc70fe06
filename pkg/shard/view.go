package shard

import (
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// view is the last known state of all Leases: from the watch, or from this process' own writes if they are newer.
// Only the goroutine of the Runner uses it. The watch updates only store.
type view struct {
	// name is the prefix of the names of the Leases.
	name string
	// slots is the number of slots, which is part of the names.
	slots int
	// store has the Leases of the watch. They must not be changed.
	store cache.Store
	// written has the responses to this process' own writes, by name, until the watch delivers them.
	written map[string]*coordinationv1.Lease
	// since has, by name, the time at which this process first saw the current version of each Lease. Expiry is
	// measured with the local clock, because the clocks of replicas can differ.
	since map[string]version
}

type version struct {
	// resourceVersion identifies the version of the Lease, and at is when this process first saw it.
	resourceVersion string
	at              time.Time
}

func newView(name string, slots int) *view {
	return &view{name: name, slots: slots, written: map[string]*coordinationv1.Lease{}, since: map[string]version{}}
}

// slotLease returns the name of the Lease of a slot.
func (v *view) slotLease(slot int) string {
	return fmt.Sprintf("%s-slot-%d-of-%d", v.name, slot, v.slots)
}

// replicaLease returns the name of the Lease of a replica. With an empty uid, it returns their common prefix.
func (v *view) replicaLease(uid string) string {
	return fmt.Sprintf("%s-replica-of-%d-%s", v.name, v.slots, uid)
}

// recordWrite adds the response of a write, before the watch delivers it.
func (v *view) recordWrite(l *coordinationv1.Lease) { v.written[l.Name] = l }

// forget drops the recorded write of a Lease that this process has deleted or lost.
func (v *view) forget(name string) { delete(v.written, name) }

// leases returns all Leases of the namespace by name. It drops own writes that the watch has delivered, and records
// since when each version is known. The Leases must not be changed.
func (v *view) leases() map[string]*coordinationv1.Lease {
	found := map[string]*coordinationv1.Lease{}
	for _, object := range v.store.List() {
		l := object.(*coordinationv1.Lease)
		found[l.Name] = l
	}
	for name, written := range v.written {
		seen := found[name]
		if seen != nil {
			// Versions that cannot be compared count as delivered.
			if newer, err := resourceversion.CompareResourceVersion(seen.ResourceVersion, written.ResourceVersion); err != nil || newer >= 0 {
				delete(v.written, name)
				continue
			}
		}
		found[name] = written
	}
	now := time.Now()
	for name, l := range found {
		if v.since[name].resourceVersion != l.ResourceVersion {
			v.since[name] = version{l.ResourceVersion, now}
		}
	}
	for name := range v.since {
		if found[name] == nil {
			delete(v.since, name)
		}
	}
	return found
}

// remaining returns the time until a Lease expires. It is zero or negative if the Lease has no holder, or is nil.
// leases must have returned the Lease, because it records the time from which this counts.
func (v *view) remaining(l *coordinationv1.Lease) time.Duration {
	if l == nil || ptr.Deref(l.Spec.HolderIdentity, "") == "" {
		return 0
	}
	lasts := time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 0)) * time.Second
	return lasts - time.Since(v.since[l.Name].at)
}

// holder returns the identity of the holder of a Lease, or "" if it is not held.
func (v *view) holder(l *coordinationv1.Lease) string {
	if v.remaining(l) <= 0 {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// isReplica reports whether the Lease belongs to a replica with the same number of slots.
func (v *view) isReplica(name string) bool { return strings.HasPrefix(name, v.replicaLease("")) }

// isShardLease reports whether this package creates Leases of that name.
func (v *view) isShardLease(name string) bool {
	return name == v.name || strings.HasPrefix(name, v.name+"-slot-") || strings.HasPrefix(name, v.name+"-replica-of-")
}

// conflictingLease returns the name of a held Lease of replicas that use another number of slots or no
// slots, for example before an upgrade. It returns "" if there is none.
func (v *view) conflictingLease(leases map[string]*coordinationv1.Lease) string {
	for name, l := range leases {
		others := strings.HasPrefix(name, v.name+"-slot-") && !strings.HasSuffix(name, fmt.Sprintf("-of-%d", v.slots))
		if (name == v.name || others) && v.remaining(l) > 0 {
			return name
		}
	}
	return ""
}
