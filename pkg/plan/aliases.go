package plan

import (
	"cmp"
	"strings"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/writer"
)

// Aliases returns the other names of fields that did not change although they were written. For example,
// serviceAccount is another name of serviceAccountName. The API server gives both the same value, so both
// have to be removed together. The name that another client wrote remains, if the manifest drops the field.
func (p *Plan) Aliases(c Change, answer map[string]any) (aliases []Sibling) {
	res := c.resource
	// Nothing may be removed from a shared object, or by an adoption.
	if res == nil || !res.policy.MayRemove() {
		return nil
	}
	foreign := writer.ForeignTo(p.in.Application, answer)
	for _, d := range c.Fields {
		if !isKept(d, answer) {
			continue
		}
		// Equal values may be a coincidence, so one of the two names must contain the other.
		own := strings.ToLower(d.LivePath().Name())
		for _, s := range res.freeSiblings(Unit{Path: cmp.Or(d.LivePath().Parent().String(), delta.Root), Fields: []delta.Difference{d}}) {
			if d.Reason == delta.Removed && foreign != nil && foreign(s.path) {
				continue
			}
			name := strings.ToLower(s.path.Name())
			now := valueIn(answer, s.path)
			if (strings.Contains(name, own) || strings.Contains(own, name)) && now.Equal(d.Live) {
				aliases = append(aliases, Sibling{s.path, now.Any})
			}
		}
	}
	return aliases
}

// isKept reports whether the value in a response is the value from before the field was written or removed. It is
// false for list elements, which cannot be distinguished from moved ones.
func isKept(d delta.Difference, answer map[string]any) bool {
	at := d.LivePath()
	if d.HeldBack || at == nil || at.IsElement() || !d.Live.Set || d.Reason != delta.Removed && d.Reason != delta.Changed {
		return false
	}
	return valueIn(answer, at).Equal(d.Live)
}

// valueIn returns the value at a path of a response, in which elements may have moved. It finds them by their keys.
func valueIn(answer map[string]any, path *observer.Path) delta.Value {
	value, is := observer.ValueAt(answer, path)
	return delta.Value{Set: is, Any: value}
}
