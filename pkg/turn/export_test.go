package turn

import "time"

// Steady has every wait be as long as it is meant to be, so that a test can be repeated.
func (m *State) Steady() *State {
	m.jitter = func(wait time.Duration) time.Duration { return wait }
	return m
}

// Unwatched has what a test needs to know of the objects that were read and are in no watch.
func (m *State) Unwatched() (objects []map[string]any) {
	for _, f := range m.unwatched {
		objects = append(objects, f.object)
	}
	return objects
}
