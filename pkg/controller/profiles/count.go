package profiles

import (
	"bytes"
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/slice"
	"holdfast.dev/holdfast/pkg/store"
)

// objectCounts counts the objects with fields that profiles decide about. The statuses of the Applications have
// the names of the deciding profiles, so a count sends no request, and all processes with the same Applications
// count the same.
type objectCounts struct {
	// partial is true if the selection may leave out Applications. Then nothing is counted, because several
	// controllers would overwrite each other's counts.
	partial bool
	// applications and slices are the stores of the controller, set by Count.
	applications, slices *cluster.ApplicationStore
	// of stores the last count of each Application, so that only changed Applications are decoded. It belongs to the
	// worker. The lock of the Profiles guards the fields below it.
	of map[types.UID]versionCount
	// sum is the number of objects by profile. It is nil before the first count, and while partial is true.
	sum map[string]int32
	// next is the earliest time of the next count.
	next time.Time
}

// versionCount counts the objects of one version of an Application, by profile. version is the resourceVersion, or
// empty if the count is incomplete and must be repeated.
type versionCount struct {
	version string
	objects map[string]int32
}

// countDelay is how long a count waits for further changes. countInterval is the shortest time between two counts.
const (
	countDelay    = time.Second
	countInterval = 5 * time.Second
)

// Count counts the objects of the Applications in a store. slices has their slices. It must be called before Run.
func (p *Profiles) Count(applications, slices *cluster.ApplicationStore) {
	p.counts.applications, p.counts.slices = applications, slices
}

// ApplicationChanged counts objects again, after an Application or a slice in the stores has changed. It is called
// for each event and each write, and must be cheap.
func (p *Profiles) ApplicationChanged() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recount()
}

// recount queues a count, unless one is queued. The caller holds the lock.
func (p *Profiles) recount() {
	if len(p.known) > 0 && !p.counts.partial {
		p.queue.AddAfter(objectCount, max(countDelay, p.counts.next.Sub(p.now())))
	}
}

// count counts the objects, and queues the profiles whose number has changed. It runs on the worker, and holds the
// lock only to store the result.
func (p *Profiles) count() {
	all := p.counts.applications.All()
	// A new map drops the counts of deleted Applications.
	of, sum := make(map[types.UID]versionCount, len(all)), map[string]int32{}
	for _, application := range all {
		counted, known := p.counts.of[application.UID]
		if !known || counted.version != application.ResourceVersion {
			counted = p.counts.objectsOf(application)
		}
		of[application.UID] = counted
		for name, n := range counted.objects {
			sum[name] += n
		}
	}
	p.counts.of = of
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts.partial { // since the selection has changed
		return
	}
	was := p.counts.sum
	p.counts.sum, p.counts.next = sum, p.now().Add(countInterval)
	for name := range p.known {
		if was == nil || was[name] != sum[name] {
			p.queue.Add(name)
		}
	}
}

// objectsOf counts the objects of an Application by the profiles that decide about their fields. Most
// Applications have none, and are not decoded.
func (c *objectCounts) objectsOf(application *store.Object) versionCount {
	counted, raw := versionCount{version: application.ResourceVersion, objects: map[string]int32{}}, application.JSON()
	if !bytes.Contains(raw, []byte(`"profiles":[`)) && !bytes.Contains(raw, []byte(`"recordSlices":[`)) {
		return counted
	}
	app, err := cluster.DecodeApplication(raw)
	if err != nil {
		return counted // its reconcile reports the error
	}
	app.Spec = v1alpha1.ApplicationSpec{}
	app, err = slice.Join(app, func(name string) ([]byte, error) {
		object := c.slices.Get(types.NamespacedName{Namespace: app.Namespace, Name: name})
		if object == nil {
			return nil, &slice.Unavailable{Name: name}
		}
		s, err := cluster.DecodeSlice(object.JSON())
		if err != nil || s.Data == nil { // its content is read when the Application is reconciled
			return nil, cmp.Or[error](err, &slice.Unavailable{Name: name})
		}
		return s.Data, nil
	})
	if err != nil {
		counted.version = "" // until the watch delivers the slice
	}
	for _, resource := range app.Status.Resources {
		for _, name := range resource.Profiles {
			counted.objects[name]++
		}
	}
	return counted
}
