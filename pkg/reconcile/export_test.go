package reconcile

import "time"

// Steady removes the jitter from all delays, so that a test is reproducible.
func (m *State) Steady() *State {
	m.jitter = func(wait time.Duration) time.Duration { return wait }
	return m
}

// Unwatched returns the objects that were read but that no watch covers.
func (m *State) Unwatched() (objects []map[string]any) {
	for _, f := range m.unwatched {
		objects = append(objects, f.object)
	}
	return objects
}
