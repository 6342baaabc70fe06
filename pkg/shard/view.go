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

// view is what this process knows of the leases of all replicas: what the watch says, or,
// where that is later, what this process has written.
type view struct {
	name    string
	slots   int
	store   cache.Store
	written map[string]*coordinationv1.Lease
	// since is when each was seen for the first time in this version: nobody's clock but
	// ours says when a lease runs out.
	since map[string]version
}

type version struct {
	resourceVersion string
	at              time.Time
}

func newView(name string, slots int) *view {
	return &view{name: name, slots: slots, written: map[string]*coordinationv1.Lease{}, since: map[string]version{}}
}

// slot is the name of the lease of a slot, and replica that of a process that shares.
func (v *view) slot(slot int) string { return fmt.Sprintf("%s-slot-%d-of-%d", v.name, slot, v.slots) }

func (v *view) replica(uid string) string {
	return fmt.Sprintf("%s-replica-of-%d-%s", v.name, v.slots, uid)
}

// wrote notes what this process has written, before the watch says so.
func (v *view) wrote(l *coordinationv1.Lease) { v.written[l.Name] = l }

// forget forgets what this process has written, when it has deleted it.
func (v *view) forget(name string) { delete(v.written, name) }

// leases are all of the namespace, by name, as they are known last.
func (v *view) leases() map[string]*coordinationv1.Lease {
	found := map[string]*coordinationv1.Lease{}
	for _, object := range v.store.List() {
		l := object.(*coordinationv1.Lease)
		found[l.Name] = l
	}
	for name, written := range v.written {
		seen := found[name]
		if seen != nil {
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

// left is for how long a lease is held if it is not renewed; not positive if nobody has it.
func (v *view) left(l *coordinationv1.Lease) time.Duration {
	if l == nil || ptr.Deref(l.Spec.HolderIdentity, "") == "" {
		return 0
	}
	lasts := time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 0)) * time.Second
	return lasts - time.Since(v.since[l.Name].at)
}

// holder is who has a lease; empty if nobody does.
func (v *view) holder(l *coordinationv1.Lease) string {
	if v.left(l) <= 0 {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// isReplica reports whether a lease is that of a process that shares these slots.
func (v *view) isReplica(name string) bool { return strings.HasPrefix(name, v.replica("")) }

// isOurs reports whether a lease is of the kind that this package makes.
func (v *view) isOurs(name string) bool {
	return name == v.name || strings.HasPrefix(name, v.name+"-slot-") || strings.HasPrefix(name, v.name+"-replica-of-")
}

// inTheWay is a lease of replicas that share in another way, or not at all: of those before
// an upgrade. Empty if there is none that is held.
func (v *view) inTheWay(leases map[string]*coordinationv1.Lease) string {
	for name, l := range leases {
		others := strings.HasPrefix(name, v.name+"-slot-") && !strings.HasSuffix(name, fmt.Sprintf("-of-%d", v.slots))
		if (name == v.name || others) && v.left(l) > 0 {
			return name
		}
	}
	return ""
}
