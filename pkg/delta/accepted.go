package delta

import (
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// Accepted maps the path of a leaf to the accepted form of its value: the form that the API server gave to
// the written value.
type Accepted map[string]Form

// Form is one accepted form. It applies only while the desired value is exactly the value for which it was
// recorded.
type Form struct {
	Desired Value
	// Accepted is not set if the API server dropped the field.
	Accepted Value
}

// Dropped reports whether the API server dropped a value that is not empty. API servers omit zero and empty
// values, so dropping one of those does not indicate a typing error.
func (f Form) Dropped() bool { return !f.Accepted.Set && !observer.Empty(f.Desired.Any) }

// accepted reports whether the live value at path is the accepted form of want.
func (c *comparer) accepted(path *observer.Path, t *kinds.Node, want, live Value) bool {
	form, ok := c.acceptedForm(path, want)
	return ok && form.Accepted.Set == live.Set && (!live.Set || observer.Same(t, form.Accepted.Any, live.Any))
}

// completed reports whether the live value is a list without keys that the Application begins to hold and
// that contains all desired elements. It then records the live list as the accepted form.
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
	c.out.Found[s.path.String()] = Form{Desired: NewValue(value), Accepted: s.live}
	return true
}

// spelling reports whether the live value is equivalent to the desired value.
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

// acceptedForm returns the form that is recorded for exactly this desired value, and marks it as used.
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

// keepForm keeps the accepted form of a value, even while the live value equals the value as written.
func (c *comparer) keepForm(s cursor) {
	if len(c.in.Accepted) == 0 {
		return
	}
	if value, ok := observed(s); ok {
		c.acceptedForm(s.path, NewValue(value))
	}
}

// keepHidden keeps the accepted forms of values below a difference, because they cannot be compared before it
// is corrected.
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
		for i, r := range path + "." { // each prefix of the path
			if (r == '.' || r == '[') && drifted[path[:i]] {
				c.out.AcceptedUsed[path] = true
			}
		}
	}
}

// Accept returns the accepted forms of the values that were written. after is the comparison of the API
// server's response with the desired state that was written. wrote reports whether the request included the
// desired value of a difference.
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
