package expression

import "sync"

// cache keeps what was compiled, by its text. When it is full it begins anew: nobody has
// so many rules, and what is asked for is compiled again.
type cache[T any] struct {
	mu    sync.Mutex
	known map[string]T
}

const maxCached = 500

// get returns what the text was compiled to, and compiles it if that is not known.
func (c *cache[T]) get(text string, compile func(string) T) T {
	c.mu.Lock()
	v, known := c.known[text]
	c.mu.Unlock()
	if known {
		return v
	}
	v = compile(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCached {
		c.known = map[string]T{}
	}
	c.known[text] = v
	return v
}
