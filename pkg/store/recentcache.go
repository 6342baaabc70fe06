package store

// recentCache keeps the most recent values.
type recentCache[K comparable, V any] struct {
	values map[K]V
	keys   []K // in insertion order; keys[next] is the oldest
	next   int
}

func newRing[K comparable, V any](size int) *recentCache[K, V] {
	return &recentCache[K, V]{values: map[K]V{}, keys: make([]K, 0, size)}
}

// get returns the value of a key, or the zero value.
func (r *recentCache[K, V]) get(key K) V { return r.values[key] }

// put adds a value. If the cache is full, it evicts the oldest one.
func (r *recentCache[K, V]) put(key K, value V) {
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
