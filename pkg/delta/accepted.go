package delta

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// accepted reports whether the live value at path is the accepted form of want. An absent live value is the accepted
// form of a value that the API server dropped.
func (c formFinder) accepted(path *observer.Path, t *kinds.Node, want, live Value) bool {
	form, ok := c.acceptedForm(path, want)
	return ok && form.Accepted.Set == live.Set && (!live.Set || observer.Same(t, form.Accepted.Any, live.Any))
}

// completed reports whether the live value is a list without keys that the Application begins to hold and
// that contains all desired elements. It then records the live list as the accepted form.
func (c formFinder) completed(s cursor, value any) bool {
	// An empty desired list is not completed: any list would have all of its elements.
	want, wantsList := value.([]any)
	if _, isList := s.live.Any.([]any); !isList || !wantsList || len(want) == 0 || c.in.Begins == nil {
		return false
	}
	if !c.in.Begins(s.path, s.live.Any, value) {
		return false
	}
	if c.out.Found == nil {
		c.out.Found = Accepted{}
	}
	c.out.Found[s.path.String()] = Form{Desired: NewValue(value), Accepted: s.live}
	return true
}

// spelling reports whether the live value is equivalent to the desired value. If the normalized form of the desired
// state is unknown, it can only be MaybeRespelled.
func (c formFinder) spelling(s cursor, value any) observer.Spelling {
	if c.in.Normal == nil {
		return observer.Different
	}
	normal := c.in.Normal()
	isTyped := normal != nil
	if isTyped {
		form, ok := s.path.Of(normal)
		switch {
		// The API server omits the value.
		case !ok && !s.live.Set && observer.Empty(value):
			return observer.Respelled
		case !ok || !s.live.Set:
			return observer.Different
		}
		// The stored form of the desired value, which is compared with the live value from here on.
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

// acceptedForm returns the form that is recorded for exactly this desired value, and marks it as used. Forms that are
// not used are removed from the status.
func (c formFinder) acceptedForm(path *observer.Path, want Value) (Form, bool) {
	form, ok := c.knownForm(path, want)
	if ok {
		c.out.AcceptedUsed[path.String()] = true
	}
	return form, ok
}

// knownForm is like acceptedForm, but does not mark the form as used.
func (c formFinder) knownForm(path *observer.Path, want Value) (Form, bool) {
	if len(c.in.Accepted) == 0 {
		return Form{}, false
	}
	form, ok := c.in.Accepted[path.String()]
	return form, ok && form.Desired.Equal(want)
}

// keepForm keeps the accepted form of a value, even while the live value equals the value as written. The API server
// may change it to the accepted form again at the next write.
func (c formFinder) keepForm(s cursor) {
	if len(c.in.Accepted) == 0 {
		return
	}
	if value, ok := observed(s); ok {
		c.acceptedForm(s.path, NewValue(value))
	}
}

// keepHidden keeps the accepted forms of values below a difference, because they cannot be compared before it
// is corrected. For example, if a container is missing, the form of its image is not used.
func (c formFinder) keepHidden() {
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
	for _, d := range slices.Concat(after.Differences, after.Reported) {
		// Surplus elements have no accepted form: their list is contested instead.
		if (d.Reason == Changed || d.Reason == Missing || d.Reason == ListLength) && wrote(d) {
			forms[d.Path] = Form{Desired: d.Desired, Accepted: d.Live}
		}
	}
	return forms
}

// observed returns the part of a desired value that the schema observes. List elements include their free
// fields, because an element is created like a resource. It returns false if no part of the value must exist,
// or if a missing value is not restored. The result shares values with the desired state.
func observed(s cursor) (any, bool) {
	if !s.restored() {
		return nil, false
	}
	switch want := s.desired.Any.(type) {
	case map[string]any:
		if s.node.Shape == observer.Map {
			return observedFields(s, want)
		}
	case []any:
		if s.node.Shape == observer.Sequence {
			elements := make([]any, 0, len(want))
			// Other elements, such as learned ones, are written to a missing list only if its minimum requires them.
			take := absentElements(s, want)
			for i, element := range want {
				if take[i] {
					elements = append(elements, completedElement(s.node.List, i, element))
				}
			}
			return elements, len(elements) > 0
		}
	}
	return s.desired.Any, true
}

// observedFields returns the observed part of a map. A map whose fields are all observed must exist, even if
// it is empty or has only empty lists.
func observedFields(s cursor, want map[string]any) (any, bool) {
	out, seen := map[string]any{}, 0
	for _, f := range s.node.Fields {
		at := s.field(f.Name, f.Node, nil)
		if !at.desired.Set || !at.restored() {
			continue
		}
		// seen counts the fields that are observed, even if no part of them must exist.
		seen++
		if kept, ok := observed(at); ok {
			out[f.Name] = kept
		}
	}
	// Only free fields are left: the map need not exist.
	if len(out) == 0 && seen < len(want) {
		return nil, false
	}
	fillIn(s.node, out)
	return out, true
}

// completed returns a value that is about to be written, together with the bounds that its rules set for
// missing fields. Without them, the next comparison would add them.
func completed(node *observer.Node, value any) any {
	switch v := value.(type) {
	case map[string]any:
		filled := maps.Clone(v)
		for name, child := range v {
			if at := node.Field(name); at != nil {
				filled[name] = completed(at, child)
			}
		}
		fillIn(node, filled)
		return filled
	case []any:
		// A leaf over a list is written as it is.
		if node.Shape != observer.Sequence {
			break
		}
		filled := make([]any, len(v))
		for i, element := range v {
			filled[i] = completedElement(node.List, i, element)
		}
		return filled
	}
	return value
}

// completedElement returns an element of a list that is about to be written: see completed. Elements beyond the
// schema are written as they are.
func completedElement(list *observer.List, i int, element any) any {
	if i >= len(list.Elements) {
		return element
	}
	return completed(list.Elements[i], element)
}

// fillIn adds the bounds that rules set for fields that are missing in a map.
func fillIn(node *observer.Node, m map[string]any) {
	for _, f := range node.Fields {
		if least, ok := f.Node.Rule.Fallback(); ok {
			if _, has := m[f.Name]; !has {
				m[f.Name] = least
			}
		}
	}
}
