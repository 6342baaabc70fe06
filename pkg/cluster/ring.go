package cluster

// ring remembers the last few of what it is given.
type ring[K comparable, V any] struct {
	values map[K]V
	keys   []K // in the order in which they came; keys[next] is the oldest
	next   int
}

func newRing[K comparable, V any](size int) *ring[K, V] {
	return &ring[K, V]{values: map[K]V{}, keys: make([]K, 0, size)}
}

// get returns what was put last under a key, or the zero value.
func (r *ring[K, V]) get(key K) V { return r.values[key] }

// put remembers a value, and forgets the oldest one if there are too many.
func (r *ring[K, V]) put(key K, value V) {
	if _, known := r.values[key]; !known {
		if len(r.keys) < cap(r.keys) {
			r.keys = append(r.keys, key)
		} else {
			delete(r.values, r.keys[r.next])
			r.keys[r.next] = key
			r.next = (r.next + 1) % len(r.keys)
		}
	}
	r.values[key] = value
}
