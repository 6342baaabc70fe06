package observer

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"
)

// What a pattern may cost: its text, the program that it becomes, and the steps that it
// may take over a value. It is read at each turn, and compiled once.
const (
	maxPatternText  = 4096
	maxPatternSize  = 5000
	maxPatternSteps = 20_000_000
)

// checkPattern refuses what is no pattern, or too large a one. It does not compile it: a
// hundred bytes can ask for a program of a hundred megabytes.
func checkPattern(text string) error {
	if len(text) > maxPatternText {
		return fmt.Errorf("has %d bytes, and a pattern may have %d", len(text), maxPatternText)
	}
	if _, known := patterns.get(text); known {
		return nil
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return fmt.Errorf("is no regular expression: %w", err)
	}
	if sizeOf(parsed) > maxPatternSize {
		return fmt.Errorf("becomes a program of more than %d steps: repeat less in it", maxPatternSize)
	}
	return nil
}

// sizeOf is how many instructions an expression has, about, or more than maxPatternSize.
func sizeOf(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		size = min(size+sizeOf(sub), maxPatternSize+1)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, maxPatternSize+1)
}

// matches reports whether a pattern, which was checked, matches a whole value. A value for
// which that would take too long matches nothing.
func matches(pattern, value string) bool {
	compiled, known := patterns.get(pattern)
	if !known {
		re, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
		if err != nil {
			return false
		}
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return false
		}
		compiled = &compiledPattern{re, sizeOf(parsed)}
		patterns.put(pattern, compiled)
	}
	return len(value)*compiled.size <= maxPatternSteps && compiled.MatchString(value)
}

type compiledPattern struct {
	*regexp.Regexp
	size int
}

var patterns = newCache[*compiledPattern]()

// cache keeps what was compiled, by its text. When it is full it begins anew: nobody has
// so many rules, and what is asked for is compiled again.
type cache[T any] struct {
	mu    sync.Mutex
	known map[string]T
}

const maxCached = 500

func newCache[T any]() *cache[T] { return &cache[T]{known: map[string]T{}} }

func (c *cache[T]) get(text string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.known[text]
	return v, ok
}

func (c *cache[T]) put(text string, v T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxCached {
		clear(c.known)
	}
	c.known[text] = v
}
