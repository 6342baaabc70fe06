package tosca

// completed returns a value with the defaults of its data types in place of the fields that it leaves out. The value
// itself is not changed: parts of it may be shared. Parsers of TOSCA do so before the value is used: get_property of a
// field must find its default, and a manifest that contains the value must be complete. A field without a default
// remains absent, and the check reports a required one.
func (t *library) completed(v value, s *schema, at fileNode) value {
	if v.unknown || v.unset || !s.hasFields() {
		return v
	}
	c := completer{library: t, at: at, size: v.size}
	v.any = c.complete(v.any, s, 0)
	v.size = c.size
	return v
}

// hasFields reports whether a value of the schema may be made of fields.
func (s *schema) hasFields() bool {
	return s != nil && (s.typeName != "" && !isPrimitive(s.typeName) || s.entry.hasFields())
}

// completer adds defaults to one value, and counts their size.
type completer struct {
	*library

	// at is the position for an error about the size.
	at fileNode

	// size is the size of the value with the defaults that have been added.
	size int
}

// complete returns a copy with defaults at and below a value. It stops where a data type contains itself by default:
// the check that follows rejects such a depth. It copies maps and lists even if nothing is missing in them: the walk
// cannot know this before it has seen the parts.
func (c *completer) complete(content any, s *schema, depth int) any {
	if depth > maxNesting || !s.hasFields() {
		return content
	}
	c.step()
	switch content := content.(type) {
	case []any:
		made := make([]any, len(content))
		for i, element := range content {
			made[i] = c.complete(element, s.entry, depth+1)
		}
		return made
	case map[string]any:
		made := make(map[string]any, len(content))
		for name, value := range content {
			made[name] = c.complete(value, c.fieldOf(s, name), depth+1)
		}
		line := c.fieldLine(s)
		fields := c.propertiesOf(line)
		c.spend(len(line) + len(fields))
		for name, field := range fields {
			if _, there := content[name]; !there && field.initial.exists() && !field.initial.isNull() {
				made[name] = c.complete(c.added(name, field), field, depth+1)
			}
		}
		return made
	}
	return content
}

// added returns the default of a field. Defaults are literals here: a data type cannot contain calls. The size is
// checked before the default is stored.
func (c *completer) added(name string, field *schema) any {
	v := c.literalOf(field.initial, field)
	size := len(name) + v.size
	c.spend(1 + size/textPerStep)
	if c.size += size; c.size > maxManifest {
		c.tooLarge(c.at, "value")
	}
	return v.any
}
