package manifest

import (
	"math"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// copy copies the manifest without its nulls, which mean absent
// (docs/semantics.md, "Desired state"). In a list an absent element would move
// the others, so a null there is a fault. What is given away needs no copy, unless its nulls
// are looked at once more (see refuseLeaves).
func (d *draft) copy(manifest map[string]any) {
	c := copier{fault: d.fault, given: d.Given && manifest["kind"] != v1alpha1.Kind}
	d.content = c.mapping(manifest)
}

type copier struct {
	path    Path
	fault   func(Path, string)
	given   bool
	tooDeep bool
}

func (c *copier) value(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return c.mapping(value)
	case []any:
		return c.list(value)
	case int: // what Go code writes
		return int64(value)
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			c.refuse("must be a finite number")
		}
		return value
	default:
		c.refuse("must be a JSON value, not " + Describe(value))
		return nil
	}
}

func (c *copier) mapping(from map[string]any) map[string]any {
	if !c.enter() {
		return nil
	}
	to := from
	if !c.given {
		to = make(map[string]any, len(from))
	}
	for key, value := range from {
		switch {
		case value == nil:
			delete(to, key)
		case !isPlain(value):
			to[key] = c.at(key, value)
		case !c.given:
			to[key] = value
		}
	}
	return to
}

// isPlain reports whether a value is taken as it is.
func isPlain(value any) bool {
	switch value.(type) {
	case string, bool, int64:
		return true
	}
	return false
}

func (c *copier) list(from []any) []any {
	if !c.enter() {
		return nil
	}
	to := from
	if !c.given {
		to = make([]any, len(from))
	}
	for i, value := range from {
		switch {
		case value == nil:
			c.fault(c.path.with(i), "is null: remove the element or give it a value")
		case isPlain(value):
			to[i] = value
		default:
			to[i] = c.at(i, value)
		}
	}
	return to
}

// at copies what is one step below the current path.
func (c *copier) at(step, value any) any {
	c.path = append(c.path, step)
	copied := c.value(value)
	c.path = c.path[:len(c.path)-1]
	return copied
}

// enter refuses a map or list that is too deep: the first only, because a path
// of 500 steps is a heavy thing to keep.
func (c *copier) enter() bool {
	if len(c.path) < maxDepth {
		return true
	}
	if !c.tooDeep {
		c.refuse("is " + tooDeep)
	}
	c.tooDeep = true
	return false
}

func (c *copier) refuse(message string) {
	c.fault(c.path.with(), message)
}
