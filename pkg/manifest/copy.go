package manifest

import (
	"math"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// copy copies the manifest without its nulls, which mean absent (docs/semantics.md, "Desired state"). In a list,
// removing a null would move the other elements, so it is an error there. Input that Normalize owns is not copied,
// unless its nulls are needed again (see refuseLeaves). refuseLeaves reads the nulls of an Application in a manifest,
// so an Application is always copied.
func (d *draft) copy(manifest map[string]any) {
	c := copier{fault: d.fault, given: d.OwnsInput && manifest["kind"] != v1alpha1.Kind}
	d.content = c.mapping(manifest)
}

// copier copies a manifest, or modifies one that Normalize owns. It also rejects values that JSON does not have. They
// come from Go code: hooks, templates, and callers of the library.
type copier struct {
	path  Path
	fault func(Path, string)
	// given is true if the manifest is modified in place.
	given bool
	// tooDeep is true when the error about the depth is reported.
	tooDeep bool
}

// value copies a value that isPlain returns false for. After an error, the result does not matter, because Normalize
// returns no objects.
//
//	int, as in Go literals       int64
//	NaN, infinity                an error
//	float32, structs, pointers   an error that names the Go type
func (c *copier) value(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return c.mapping(value)
	case []any:
		return c.list(value)
	case int: // types that Go code uses
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

// mapping copies a map without its nulls. It can delete keys while it iterates, because from and to can be one map. A
// map in which all values are null becomes an empty map, which is held as existing.
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
			to[key] = c.copyAt(key, value)
		case !c.given:
			to[key] = value
		}
	}
	return to
}

// isPlain reports whether a value needs no conversion.
func isPlain(value any) bool {
	switch value.(type) {
	case string, bool, int64:
		return true
	}
	return false
}

// list copies a list. A null in it is an error. An empty list remains one, which is a value in contrast to
// null.
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
			to[i] = c.copyAt(i, value)
		}
	}
	return to
}

// copyAt copies a value one step below the current path.
func (c *copier) copyAt(step, value any) any {
	c.path = append(c.path, step)
	copied := c.value(value)
	c.path = c.path[:len(c.path)-1]
	return copied
}

// enter returns false for a map or list that is nested too deeply. It reports only the first one, because a path of 500
// elements takes much memory. Read has the same limit, so that each manifest of a file can also be in an Application.
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

// refuse adds an error at the current path.
func (c *copier) refuse(message string) {
	c.fault(c.path.with(), message)
}
