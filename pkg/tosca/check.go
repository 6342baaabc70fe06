package tosca

import (
	"slices"
)

// checker holds a value against a schema. depth bounds data types that contain
// themselves: values are not deeper than the files they come from.
type checker struct {
	*evaluator
	secret bool
	// at is where the value is written, for mistakes within it too.
	at place
}

// check tells what is wrong with a value. what it is of, such as "default ",
// begins the messages; path within the value follows it.
func (e *evaluator) check(at place, v value, s *schema) bool {
	if v.unknown || s == nil || v.unset {
		return true
	}
	c := checker{evaluator: e, secret: v.secret || IsSensitive(at.name()), at: at}
	return c.value(v.any, s, "", 0)
}

func (c checker) value(content any, s *schema, within string, depth int) bool {
	c.step(c.ctx)
	if depth > c.limits.Nesting {
		c.fault(ValueTypeMismatch, within, "is nested deeper than %d levels", c.limits.Nesting)
		return false
	}
	base, chain := c.primitive(s)
	ok := c.ofType(content, base, s, within, depth)
	for _, constraint := range slices.Concat(chain, s.constraints) {
		if !ok {
			return false
		}
		ok = c.constrained(content, base, constraint, within)
	}
	return ok
}

// primitive is the type that the values of a schema have at last, with the
// constraints that derived types add on the way. A data type that is made of
// properties is its own.
func (t *translator) primitive(s *schema) (base basis, chain []constraint) {
	if s == nil || s.typeName == "" || isPrimitive(s.typeName) {
		name := ""
		if s != nil {
			name = s.typeName
		}
		return basis{name, scales[name]}, nil
	}
	d := t.dataType(s.at.file, s.typeName)
	if d == nil {
		return basis{}, nil
	}
	line := t.lineage(d, false)
	for _, ancestor := range line {
		if ancestor.at.exists() {
			chain = append(chain, t.constraintsOf(ancestor)...)
		}
		if isPrimitive(ancestor.parent) {
			base := basis{ancestor.parent, scales[ancestor.parent]}
			if isScalar(line) {
				base.scale = t.scaleOf(line)
			}
			return base, chain
		}
	}
	return basis{name: s.typeName}, chain
}

// baseOf is the name of the type that the values of a schema have at last.
func (t *translator) baseOf(s *schema) string {
	base, _ := t.primitive(s)
	return base.name
}

func (c checker) ofType(content any, base basis, s *schema, within string, depth int) bool {
	if base.name == "" || base.name == "any" || content == nil && base.name == "null" {
		return true
	}
	if base.name == "timestamp" && c.lenient && strict(c.at) && !matches(strictTimestamp)(content) {
		c.fault(ValueTypeMismatch, within, "%s is not a timestamp like 2006-01-02T15:04:05Z", told(content, c.secret))
		return false
	}
	if form, known := primitives[base.name]; known {
		if base.scale != nil {
			return c.quantity(content, base.scale, form.article, within, depth)
		}
		if !form.accepts(content) {
			c.fault(ValueTypeMismatch, within, "%s is not %s%s", told(content, c.secret), form.article, hint(content, base.name))
			return false
		}
		return c.entries(content, s, within, depth)
	}
	d := c.dataType(s.at.file, base.name)
	line := c.lineage(d, false)
	if isOpaque(line) {
		return true
	}
	return c.complex(content, base.name, c.propertiesOf(line), within, depth)
}

// hint says what to do about a plain word that YAML takes for something else.
func hint(content any, base string) string {
	switch content.(type) {
	case bool, int64, float64:
		if base == "string" {
			return ": put it in quotes"
		}
	}
	return ""
}

// entries checks what is in a list or map.
func (c checker) entries(content any, s *schema, within string, depth int) bool {
	ok := true
	switch content := content.(type) {
	case []any:
		for i, element := range content {
			if s.entry != nil {
				ok = c.value(element, s.entry, within+indexed(i), depth+1) && ok
			}
		}
	case map[string]any:
		for _, key := range keysOf(content) {
			if s.entry != nil {
				ok = c.value(content[key], s.entry, within+"."+key, depth+1) && ok
			}
			if s.key != nil {
				ok = c.value(keyContent(key, c.baseOf(s.key)), s.key, within+"."+key, depth+1) && ok
			}
		}
	}
	return ok
}

// keyContent is a key as its type wants it: keys are texts everywhere here.
func keyContent(key, base string) any {
	if base == "integer" || base == "float" || base == "boolean" {
		return unquoted(key, base)
	}
	return key
}

// complex checks a value of a data type that is made of properties.
func (c checker) complex(content any, name string, properties map[string]*schema, within string, depth int) bool {
	fields, isMap := content.(map[string]any)
	if !isMap {
		c.fault(ValueTypeMismatch, within, "%s is not a map, which %s is", told(content, c.secret), name)
		return false
	}
	ok := true
	for _, key := range keysOf(fields) {
		property := properties[key]
		if property == nil {
			c.fault(UnknownProperty, within, "%s has no property %s%s", name, shown(key), c.didYouMean(key, keysOf(properties)))
			ok = false
			continue
		}
		ok = c.value(fields[key], property, within+"."+key, depth+1) && ok
	}
	for _, key := range keysOf(properties) {
		if _, there := fields[key]; !there && properties[key].required && !properties[key].initial.exists() {
			c.fault(MissingProperty, within, "%s needs the property %s", name, key)
			ok = false
		}
	}
	return ok
}

func (c checker) fault(code Code, within, format string, args ...any) {
	at := c.at
	if within != "" && !c.secret {
		at.path = &trail{up: at.path, within: cut(within)}
	}
	c.faults.add(at, code, format, args...)
}
