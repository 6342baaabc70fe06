package reconcile_test

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/pkg/observer"
)

// admit returns the spec that the API server stores when a client writes one. Before is nil for a new
// object.
func (p *part) admit(before, after map[string]any) (map[string]any, field.ErrorList) {
	if refused := p.wrong(field.NewPath("spec"), after); len(refused) > 0 {
		return nil, refused
	}
	served := p.serve(after).(map[string]any)
	if before == nil {
		return served, p.check(field.NewPath("spec"), nil, served)
	}
	p.keep(before, served)
	return served, p.check(field.NewPath("spec"), before, served)
}

// wrong returns the values that have a wrong type.
func (p *part) wrong(path *field.Path, value any) (refused field.ErrorList) {
	m, isMap := value.(map[string]any)
	elements, isList := value.([]any)
	if isMap != (p.shape == mapping) || isList != (p.shape != mapping && p.shape != scalar) {
		return field.ErrorList{field.TypeInvalid(path, jsonOf(value), "must be of another type")}
	}
	for _, name := range keys(m) {
		if child := p.part(name); child != nil && m[name] != nil {
			refused = append(refused, child.wrong(path.Child(name), m[name])...)
		}
	}
	for i, e := range elements {
		of := &part{shape: scalar}
		if p.shape == keyed || p.shape == list {
			of = p.element()
		}
		refused = append(refused, of.wrong(path.Index(i), e)...)
	}
	return refused
}

// serve returns the normal form of a value, with defaults and without unknown fields.
func (p *part) serve(value any) any {
	switch p.shape {
	case mapping:
		served := map[string]any{}
		m := value.(map[string]any)
		for _, u := range p.units {
			u.serve(m, served)
		}
		if name, has := m["name"]; has && p.part("name") == nil {
			served["name"] = name // the key of an element
		}
		return served
	case keyed, list:
		elements := []any{}
		for _, e := range value.([]any) {
			elements = append(elements, p.element().serve(e))
		}
		return elements
	}
	if text, is := value.(string); is && p.habit == amount {
		if quantity, err := resource.ParseQuantity(text); err == nil {
			return quantity.String()
		}
	}
	return observer.Copy(value)
}

func (u *unit) serve(m, served map[string]any) {
	for _, p := range u.parts {
		if value := m[p.name]; value != nil && (p.habit != zero || fmt.Sprint(value) != "0") {
			served[p.name] = p.serve(value)
		} else if p.habit == defaulted {
			served[p.name] = "default"
		}
	}
	switch first, last := u.parts[0], u.parts[len(u.parts)-1]; u.habit {
	case alias: // like serviceAccountName and serviceAccount
		if served[first.name] == nil && served[last.name] != nil {
			served[first.name] = served[last.name]
		}
		if served[first.name] != nil {
			served[last.name] = served[first.name]
		}
	case switchable: // like type and rollingUpdate in the strategy of a Deployment
		if served[first.name] == nil {
			served[first.name] = "A"
		}
		if served[first.name] == "A" && served[last.name] == nil {
			served[last.name] = last.serve(map[string]any{})
		}
	}
}

// keep restores the values that cannot be removed.
func (p *part) keep(before, after any) {
	switch p.shape {
	case mapping:
		was, is := mapOf(before), after.(map[string]any)
		for name, value := range was {
			child := p.part(name)
			if child == nil {
				continue
			}
			if _, has := is[name]; has {
				child.keep(value, is[name])
			} else if child.habit == sticky {
				is[name] = value
			}
		}
	case keyed:
		for _, e := range after.([]any) {
			p.element().keep(find(listOf(before), e), e)
		}
	}
}

// check returns why the API server rejects a value. Before is nil if the field had no value.
func (p *part) check(path *field.Path, before, after any) (refused field.ErrorList) {
	switch p.shape {
	case mapping:
		is := after.(map[string]any)
		for _, u := range p.units {
			refused = append(refused, u.check(path, is)...)
		}
		was, had := before.(map[string]any)
		if had {
			refused = append(refused, p.checkChanges(path, was, is)...)
		}
		for _, name := range keys(is) {
			if child := p.part(name); child != nil {
				refused = append(refused, child.check(path.Child(name), was[name], is[name])...)
			}
		}
	case keyed, setOf:
		seen := map[string]bool{}
		for i, e := range after.([]any) {
			if m, is := e.(map[string]any); is && m["name"] == nil {
				refused = append(refused, field.Required(path.Index(i).Child("name"), ""))
				continue
			}
			if seen[keyOf(e)] && !p.twice {
				refused = append(refused, field.Duplicate(path.Index(i), jsonOf(e)))
			}
			if seen[keyOf(e)] = true; p.shape == keyed {
				refused = append(refused, p.element().check(path.Index(i), find(listOf(before), e), e)...)
			}
		}
	case list:
		for i, e := range after.([]any) {
			refused = append(refused, p.element().check(path.Index(i), nil, e)...)
		}
	}
	return refused
}

// check returns why the parts of a unit contradict each other.
func (u *unit) check(path *field.Path, is map[string]any) (refused field.ErrorList) {
	var set []string
	for _, p := range u.parts {
		if _, has := is[p.name]; has {
			set = append(set, p.name)
		}
	}
	at := func(name string) *field.Path {
		if u.blunt {
			return field.NewPath("spec")
		}
		return path.Child(name)
	}
	switch first, last := u.parts[0].name, u.parts[len(u.parts)-1].name; {
	case u.habit == oneOf && len(set) > 1:
		for _, name := range set[1:] {
			refused = append(refused, field.Invalid(at(name), "", fmt.Sprintf("may not be specified when %#q is not empty", set[0])))
		}
	case u.habit == switchable && is[first] != "A" && is[first] != "B":
		refused = append(refused, field.NotSupported(at(first), fmt.Sprint(is[first]), []string{"A", "B"}))
	case u.habit == switchable && is[first] == "B" && is[last] != nil:
		refused = append(refused, field.Invalid(at(last), "", fmt.Sprintf("may not be specified when %#q is 'B'", first)))
	}
	return refused
}

// checkChanges returns the fields of a map that cannot change to their new values.
func (p *part) checkChanges(path *field.Path, was, is map[string]any) (refused field.ErrorList) {
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, name := range keys(names) {
		child := p.part(name)
		if child == nil || observer.Equal(was[name], is[name]) {
			continue
		}
		at := path.Child(name)
		if child.blunt {
			at = field.NewPath("spec")
		}
		switch {
		case child.habit == fixed && child.blunt:
			refused = append(refused, field.Invalid(at, "", "updates to spec are forbidden for fields that are immutable after creation"))
		case child.habit == fixed:
			refused = append(refused, field.Invalid(at, is[name], "field is immutable"))
		case child.habit == grows && was[name] != nil && (is[name] == nil || number(is[name]) < number(was[name])):
			refused = append(refused, field.Invalid(at, is[name], "field can not be less than previous value"))
		}
	}
	return refused
}
