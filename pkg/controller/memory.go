package controller

import (
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// memory is what is remembered of one Application between two reconciles. Only
// the worker that has the Application touches it. It may be lost.
type memory struct {
	plan       plan.Memory
	generation int64
	// failures has the resources that must not be tried again yet.
	failures map[manifest.ID]*failure
	// found has objects that exist and are in no watch, because they do not
	// carry our label.
	found map[manifest.ID]found
	// gone has the objects that we deleted and know to be gone.
	gone map[types.UID]bool
	// postponed is the report that is not written yet, if there is one.
	postponed *postponed
}

type failure struct {
	problem *plan.Problem
	times   int
	until   time.Time
}

type found struct {
	object map[string]any
	until  time.Time
}

// memoryOf returns the memory of an Application. A new generation of it is a
// new try for everything.
func (c *Controller) memoryOf(app *v1alpha1.Application) *memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.memories[app.UID]
	if m == nil {
		m = &memory{generation: app.Generation, plan: remembered(app)}
		c.memories[app.UID] = m
	}
	if m.generation != app.Generation || m.failures == nil {
		m.generation = app.Generation
		m.failures = map[manifest.ID]*failure{}
		m.found = map[manifest.ID]found{}
		m.gone = map[types.UID]bool{}
	}
	c.names[app.UID] = types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
	return m
}

// remembered is the memory of fights that the status kept over a restart.
func remembered(app *v1alpha1.Application) plan.Memory {
	m := plan.Memory{Fights: map[plan.Leaf]*plan.Fight{}}
	for _, f := range app.Status.Contested {
		leaf := plan.Leaf{ID: plan.IDOf(f.Resource), Path: f.Path}
		m.Fights[leaf] = &plan.Fight{Corrections: int(f.Corrections), Next: f.NextCorrection.Time, Manager: f.Manager}
	}
	return m
}

// failed remembers that a resource cannot be brought to its desired state now,
// and returns when to try again: soon for what may pass, in minutes for what
// only a user can solve in the Application; later each time.
func (m *memory) failed(id manifest.ID, problem *plan.Problem, now time.Time) time.Duration {
	f := m.failures[id]
	if f == nil {
		f = &failure{}
		m.failures[id] = f
	}
	first, limit := 250*time.Millisecond, 5*time.Minute
	switch {
	case problem.Reason == v1alpha1.ReasonForbidden:
		first = 10 * time.Second // somebody runs the command that the message gives, and waits
	case problem.Stalled:
		first, limit = 2*time.Minute, 16*time.Minute
	}
	wait := first
	for range f.times {
		if wait *= 2; wait >= limit {
			wait = limit
			break
		}
	}
	if problem.RetryAfter > wait {
		wait = problem.RetryAfter
	}
	wait += time.Duration(rand.Int64N(int64(wait)/10 + 1)) // not all at the same moment
	f.problem, f.times, f.until = problem, f.times+1, now.Add(wait)
	return wait
}

// blocked returns what must not be tried yet.
func (m *memory) blocked(now time.Time) map[manifest.ID]*plan.Problem {
	blocked := map[manifest.ID]*plan.Problem{}
	for id, f := range m.failures {
		if now.Before(f.until) {
			problem := *f.problem
			problem.RetryAfter = f.until.Sub(now)
			blocked[id] = &problem
		}
	}
	return blocked
}

// nextProbe is how long what was found outside of any watch is believed, 0 if
// there is no such thing. Nobody tells us when it goes.
func (m *memory) nextProbe(now time.Time) time.Duration {
	var next time.Duration
	for _, f := range m.found {
		next = sooner(next, max(f.until.Sub(now), time.Second))
	}
	return next
}
