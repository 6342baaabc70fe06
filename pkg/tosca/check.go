package tosca

import (
	"slices"
	"strconv"
)

// value reports whether content, which is at the path within the value, agrees with a schema. It reports every mistake.
// depth is the number of levels above content. The type is checked first, because constraints of a wrong type would
// report a second mistake. Its data types come before the schema itself.
func (c checker) value(content any, s *schema, within string, depth int) bool {
	c.step()
	if depth > maxNesting {
		return c.fault(ValueTypeMismatch, within, "is nested deeper than %d levels", maxNesting)
	}
	base, line := c.primitive(s)
	ok := c.ofType(content, base, s, within, depth)
	if base.name == "" && s.typeName != "" {
		ok = c.fault(UnknownDataType, within, "the data type %s is not known", quote(s.typeName))
	}
	for _, d := range line {
		ok = ok && c.keeps(content, base, c.constraintsOf(d), within)
	}
	return ok && c.keeps(content, base, s.constraints, within)
}

// keeps reports whether a value satisfies all constraints. It stops at the first violation.
func (c checker) keeps(content any, base basis, all []constraint, within string) bool {
	return !slices.ContainsFunc(all, func(one constraint) bool { return !c.checkConstraint(content, base, one, within) })
}

// ofType reports whether a value has a type. An unknown type accepts everything, because value reports the type
// itself.
//
//	any, or an unknown type         accepts every value
//	a primitive                     the form of the value, and of its entries
//	a type with units               a number with a unit of the type
//	a data type with properties     a map, with the properties of the type and no others
//	a type of an unread profile     accepts every value
func (c checker) ofType(content any, base basis, s *schema, within string, depth int) bool {
	if base.name == "" || base.name == "any" || (content == nil && base.name == "null") {
		return true
	}
	if form, known := primitives[base.name]; known {
		if base.scale != nil {
			return c.quantity(content, base.scale, form.article, within, depth)
		}
		if !form.accepts(content) {
			return c.fault(ValueTypeMismatch, within, "%s is not %s%s", forMessage(content, c.secret), form.article, hint(content, base.name))
		}
		return c.entries(content, s, within, depth)
	}
	line := c.dataLine(s.at.file, base.name)
	if isOpaque(line) {
		return true
	}
	return c.complex(content, base.name, c.propertiesOf(line), within, depth)
}

// hint returns what to do about a plain word that YAML takes for something else.
func hint(content any, base string) string {
	if base == "string" && (isNumber(content) || isOf[bool](content)) {
		return ": put it in quotes"
	}
	return ""
}

// entries checks the elements of a list, and the keys and values of a map. A key is a string in YAML. If key_schema
// requires an integer, a key that looks like one is checked as one.
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
				ok = c.below(key).value(content[key], s.entry, within+"."+key, depth+1) && ok
			}
			if s.key != nil {
				ok = c.value(unquoted(key, c.baseOf(s.key)), s.key, within+"."+key, depth+1) && ok
			}
		}
	}
	return ok
}

// complex checks a value of a data type that is made of properties. A required property with a default is not missing:
// completed has added it, unless the value is not complete. Values of properties are checked in the order of their
// names.
func (c checker) complex(content any, name string, properties map[string]*schema, within string, depth int) bool {
	fields, isMap := content.(map[string]any)
	if !isMap {
		return c.fault(ValueTypeMismatch, within, "%s is not a map, as required by %s", forMessage(content, c.secret), name)
	}
	ok := true
	for _, key := range keysOf(fields) {
		property := properties[key]
		if property == nil {
			similar := c.didYouMean(key, keysOf(properties))
			if c.secret {
				similar = ""
			}
			ok = c.fault(UnknownProperty, within, "%s has no property %s%s", name, forMessage(key, c.secret), similar)
			continue
		}
		ok = c.below(key).value(fields[key], property, within+"."+key, depth+1) && ok
	}
	for _, key := range keysOf(properties) {
		if _, there := fields[key]; !there && properties[key].required && !properties[key].initial.exists() {
			ok = c.fault(MissingProperty, within, "%s needs the property %s", name, key)
		}
	}
	return ok
}

// quantity checks a number with a unit, and then the number alone against the type that the scale declares for it. For
// example, a type with data_type: integer rejects 1.5 m.
func (c checker) quantity(content any, s *scale, article, within string, depth int) bool {
	number, _, ok := s.parts(content)
	if !ok {
		return c.fault(ValueTypeMismatch, within, "%s is not %s", forMessage(content, c.secret), article)
	}
	if s.number == nil {
		return true
	}
	var amount any
	amount, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		amount, _ = strconv.ParseFloat(number, 64)
	}
	return c.value(amount, s.number, within, depth+1)
}
