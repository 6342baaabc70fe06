package delta

import (
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// Accepted has the accepted form of each leaf, by path: what the API server
// made of the value that we wrote there.
type Accepted map[string]Form

// Form is one accepted form. It counts only while the desired value is exactly
// the one it was recorded for.
type Form struct {
	Desired Value
	// Accepted is not set if the API server dropped the field.
	Accepted Value
}

// Dropped reports whether a value was lost that says something: an API server
// leaves out zeros and empties that it was sent, and that is no typing error.
func (f Form) Dropped() bool { return !f.Accepted.Set && !observer.Empty(f.Desired.Any) }

// accepted reports whether the live value at path is the accepted form of want.
func (c *comparer) accepted(path *observer.Path, t *kinds.Node, want, live Value) bool {
	form, ok := c.acceptedForm(path, want)
	return ok && form.Accepted.Set == live.Set && (!live.Set || observer.Same(t, form.Accepted.Any, live.Any))
}

// completed reports whether the live value is a list without keys that is held from now on
// and has all that is desired: then it is the accepted form.
func (c *comparer) completed(s cursor, value any) bool {
	want, wantsList := value.([]any)
	if _, isList := s.live.Any.([]any); !isList || !wantsList || len(want) == 0 || c.in.Begins == nil {
		return false
	}
	if covers := c.in.Begins(s.path); covers == nil || !covers(s.live.Any, value) {
		return false
	}
	if c.out.Found == nil {
		c.out.Found = Accepted{}
	}
	c.out.Found[s.path.String()] = Form{Desired: Some(value), Accepted: s.live}
	return true
}

// spelling tells whether the live value is another spelling of the desired one.
func (c *comparer) spelling(s cursor, value any) observer.Spelling {
	if c.in.Normal == nil {
		return observer.Different
	}
	normal := c.in.Normal()
	isTyped := normal != nil
	if isTyped {
		form, ok := s.path.Of(normal)
		switch {
		case !ok && !s.live.Set && observer.Empty(value):
			return observer.Respelled
		case !ok || !s.live.Set:
			return observer.Different
		}
		value = form
	}
	switch {
	case s.live.Set:
		return observer.SpellingOf(s.t, isTyped, value, s.live.Any)
	case observer.Empty(value):
		return observer.MaybeRespelled
	}
	return observer.Different
}

// acceptedForm is the form on record for exactly this desired value.
func (c *comparer) acceptedForm(path *observer.Path, want Value) (Form, bool) {
	if len(c.in.Accepted) == 0 {
		return Form{}, false
	}
	name := path.String()
	form, ok := c.in.Accepted[name]
	if !ok || !form.Desired.Equal(want) {
		return Form{}, false
	}
	c.out.AcceptedUsed[name] = true
	return form, true
}

// keepForm keeps the form of a value that may be in place as it was written.
func (c *comparer) keepForm(s cursor) {
	if len(c.in.Accepted) == 0 {
		return
	}
	if value, ok := observed(s); ok {
		c.acceptedForm(s.path, Some(value))
	}
}

// keepHidden keeps the forms of what lies below a difference: nothing can be
// said of them before it is corrected.
func (c *comparer) keepHidden() {
	if len(c.in.Accepted) == 0 || len(c.out.Differences) == 0 {
		return
	}
	drifted := make(map[string]bool, len(c.out.Differences))
	for _, d := range c.out.Differences {
		if d.Reason != Removed {
			drifted[d.Path] = true
		}
	}
	for path := range c.in.Accepted {
		for i, r := range path + "." { // each of its beginnings
			if (r == '.' || r == '[') && drifted[path[:i]] {
				c.out.AcceptedUsed[path] = true
			}
		}
	}
}

// Accept returns the forms that the API server gave to what we wrote. after is
// the comparison of its response with the desired state that was written;
// wrote reports whether the desired value of a difference was part of the request.
// Source: docs/semantics.md, "Comparing".
func Accept(after Comparison, wrote func(Difference) bool) Accepted {
	forms := Accepted{}
	for _, d := range slices.Concat(after.Differences, after.Watched) {
		if (d.Reason == Changed || d.Reason == Missing || d.Reason == ListLength) && wrote(d) {
			forms[d.Path] = Form{Desired: d.Desired, Accepted: d.Live}
		}
	}
	return forms
}
