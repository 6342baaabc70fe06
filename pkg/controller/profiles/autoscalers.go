package profiles

import (
	"context"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/store"
)

var autoscalerResource = autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")

// autoscalers contains the targets of HorizontalPodAutoscalers. The lock of the Profiles guards it.
type autoscalers struct {
	// store contains the HorizontalPodAutoscalers of the selected namespaces.
	store *cluster.ApplicationStore
	// stop ends the watch.
	stop context.CancelFunc
	// listed is true once the first list is complete. refused is true if it is certain that the controller may not
	// list them; the rules that depend on them then have no effect.
	listed  bool
	refused bool
	refusals
	// named contains the names of the autoscalers that target each object. No inner map is empty.
	named map[manifest.ID]map[string]struct{}
}

// settled reports whether the targets are known, or cannot be known.
func (a *autoscalers) settled() bool { return a.listed || a.refused }

// watchAutoscalers starts the watch if a profile depends on autoscalers, and stops it if none does. The caller holds
// the lock. The callbacks of a watch have its autoscalers as an argument, so that late events of an ended watch are
// recognized.
func (p *Profiles) watchAutoscalers() {
	asked := slices.ContainsFunc(p.all(), (*intent.Profile).AsksForAutoscalers)
	if asked == (p.autoscalers != nil) {
		return
	}
	if !asked {
		p.autoscalers.stop()
		p.autoscalers = nil
		return
	}
	watching, stop := context.WithCancel(p.ctx)
	a := &autoscalers{stop: stop, named: map[manifest.ID]map[string]struct{}{}}
	a.store = cluster.NewApplicationStore(p.client, autoscalerResource, p.selection,
		func(before, after *store.Object) { p.targetChanged(a, before, after) },
		func() { p.autoscalersSettled(a, false) })
	a.store.Noted = func(err error) {
		if a.last(err) { // the targets from an earlier list are kept
			klog.FromContext(watching).Info("cannot list HorizontalPodAutoscalers, so their targets are not known", "reason", err.Error())
			p.autoscalersSettled(a, true)
		}
	}
	p.autoscalers = a
	a.store.Run(watching)
}

// autoscalersSettled queues the affected Applications when the targets are known, or when it is certain that they
// cannot be known. A later list can still succeed after a refusal.
func (p *Profiles) autoscalersSettled(a *autoscalers, refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.listed || p.autoscalers != a {
		return
	}
	a.listed, a.refused = !refused, refused
	for name, one := range p.known {
		if one.profile != nil && one.profile.AsksForAutoscalers() {
			p.queue.Add(name)
			p.wake(p.concerned(one.profile))
		}
	}
}

// targetChanged handles an event of the watch. Most events only change the status of an autoscaler, and are ignored.
// Before the first lists are complete, it queues no Application, unless a namespace refuses its list.
func (p *Profiles) targetChanged(a *autoscalers, before, after *store.Object) {
	was, had := targetOf(before)
	is, has := targetOf(after)
	if had == has && was == is {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if had {
		if delete(a.named[was], before.Key.Name); len(a.named[was]) == 0 {
			delete(a.named, was)
		}
	}
	if has {
		if a.named[is] == nil {
			a.named[is] = map[string]struct{}{}
		}
		a.named[is][after.Key.Name] = struct{}{}
	}
	// Applications that wait for the first lists are queued by autoscalersSettled.
	if p.autoscalers != a || !a.settled() {
		return
	}
	var applications []types.UID
	for application, of := range p.wanted {
		if slices.ContainsFunc(of.objects, func(id manifest.ID) bool { return had && id == was || has && id == is }) {
			applications = append(applications, application)
		}
	}
	p.wake(applications)
}

// targetOf returns the object that an autoscaler targets. It returns false for nil, and for a target that cannot be
// identified.
func targetOf(o *store.Object) (manifest.ID, bool) {
	if o == nil {
		return manifest.ID{}, false
	}
	return intent.AutoscalerTarget(o.Content())
}
