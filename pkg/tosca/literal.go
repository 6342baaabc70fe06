package tosca

import "holdfast.dev/holdfast/pkg/manifest"

// literalOf returns a value in which nothing is evaluated, as a schema requires it. The types of the schema determine
// how plain words are read. want is nil for arguments of constraints and the metadata of a template. After an error in
// a part, the whole value is unknown. It does not check the value against want: see evaluator.check.
func (t *library) literalOf(p fileNode, want *schema) value {
	if !p.exists() {
		return value{unset: true}
	}
	switch {
	case p.isScalar():
		return t.scalarValue(p, want, false)
	case p.isList():
		list, size, failed := make([]any, 0, len(p.node.Content)), 16, false
		for _, element := range p.elements() {
			v := t.literalOf(element, entryOf(want))
			list, size, failed = append(list, v.any), size+v.size, failed || v.unknown
		}
		return value{any: list, size: size, unknown: failed}
	default:
		fields, size, failed := map[string]any{}, 16, false
		for _, entry := range p.entries() {
			v := t.literalOf(entry, t.fieldOf(want, entry.name()))
			fields[entry.name()], size, failed = v.any, size+v.size+len(entry.name()), failed || v.unknown
		}
		return value{any: fields, size: size, unknown: failed}
	}
}

// scalarValue returns a scalar. manifested is true in a value that becomes a manifest: plain words then have the
// meaning of YAML 1.1. A version keeps its notation, because 1.10 is not 1.1.
//
//	word    in                                          value
//	1.10    a version                                   "1.10"
//	1.10    any other                                   1.1
//	yes     a boolean of TOSCA 1.x, or a manifest       true
//	yes     any other                                   "yes"
//	0o17    any                                         15
func (t *typeIndex) scalarValue(p fileNode, want *schema, manifested bool) value {
	base := t.baseOf(want)
	if base == "version" && !manifested && !p.isNull() {
		return value{any: p.text(), size: sizeOf(p.text())}
	}
	content, err := manifest.Scalar(p.node, manifested || (base == "boolean" && !p.file.version.dollar()))
	if err != nil {
		return t.fail(p, InvalidYAML, "%s", err)
	}
	content = asVersionWants(p, content, base)
	return value{any: content, size: sizeOf(content), unset: content == nil}
}

// asVersionWants converts a scalar to a type: TOSCA 1.x accepts "6" as a number, True as a boolean and 1.0 as an
// integer, and TOSCA 2.0 does not.
//
//	word     base       TOSCA 1.x    TOSCA 2.0
//	"6"      integer    6            "6", which is no integer
//	True     boolean    true         "True", which is no boolean
//	1.0      integer    1            "1.0", which is no integer
func asVersionWants(p fileNode, content any, base string) any {
	text, isText := content.(string)
	switch {
	case !p.file.version.dollar() && isText:
		return unquoted(text, base)
	case !p.file.version.dollar():
	case base == "boolean" && isOf[bool](content) && p.text() != "true" && p.text() != "false",
		base == "integer" && p.node.ShortTag() == manifest.TagFloat:
		return p.text()
	}
	return content
}

// entryOf returns the schema of the entries of a list or map.
func entryOf(s *schema) *schema {
	if s == nil {
		return nil
	}
	return s.entry
}

// fieldOf returns the schema of a field of a map: of its data type, or of any entry. It returns nil if there is none.
func (t *library) fieldOf(s *schema, name string) *schema {
	if entry := entryOf(s); entry != nil {
		return entry
	}
	return t.propertiesOf(t.fieldLine(s))[name]
}

// fieldLine returns the data type that declares the fields of a value, with the types that it is derived from. It
// returns nil for a schema of another type, and for one that describes every entry of a map.
func (t *typeIndex) fieldLine(s *schema) []*definition {
	if s == nil || s.entry != nil || s.typeName == "" || isPrimitive(s.typeName) {
		return nil
	}
	return t.dataLine(s.at.file, s.typeName)
}
