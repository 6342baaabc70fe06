package expression

import "sync"

// cache caches compiled expressions by their text. When it is full, it is emptied: real clusters do not
// have that many rules, and missing ones are compiled again.
type cache[T any] struct {
	// mu guards known. It is not held while an expression is compiled, so two callers can compile the same text.
	mu    sync.Mutex
	known map[string]T
}

// maxCached limits the number of expressions in a cache. Each text is at most 4 KiB.
const maxCached = 500

// get returns the compiled expression. It compiles the text if it is not cached.
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
