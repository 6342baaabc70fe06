package tosca

// readSchemas reads the properties of a type, by name. In TOSCA 2.0 a property can be its fixed value. The result is
// nil if p is not a map.
//
//	port: {type: integer, default: 80}    a definition
//	port: 80                              TOSCA 2.0: the value is fixed
//	port: integer!                        the short form of the built-in profile
//
// A property that is neither is reported and left out, so that its values are unknown properties.
func (t *library) readSchemas(p fileNode) map[string]*schema {
	if !t.faults.wantMap(p) {
		return nil
	}
	all := map[string]*schema{}
	for _, entry := range p.entries() {
		if p.file.profile && entry.isScalar() {
			all[entry.name()] = t.shortSchema(entry)
			continue
		}
		if p.file.version.dollar() && !entry.isMap() && !entry.isNull() {
			all[entry.name()] = &schema{at: entry, required: true, fixed: entry}
			continue
		}
		if !t.faults.wantMap(entry) {
			continue
		}
		t.known(entry, parameterKeys)
		all[entry.name()] = t.readSchema(entry, true)
	}
	return all
}

// readSchema reads one definition. inherits is true if its type can be inherited or omitted. A property of a derived
// type can leave out its type, and an input of TOSCA 2.0, too. A null type is allowed in TOSCA 2.0. An unknown type is
// reported here, and the schema keeps its name, so that values are reported as well.
func (t *library) readSchema(p fileNode, inherits bool) *schema {
	s := &schema{at: p, required: t.faults.wantBool(p.get("required"), true), initial: p.get("default")}
	if inherits && p.file.version.dollar() {
		s.fixed = p.get("value")
	}
	name := p.get("type")
	switch {
	case name.exists() && (!name.isNull() || !p.file.version.dollar()):
		s.typeName, _ = t.faults.wantText(name)
		t.checkTypeName(name, s.typeName)
	case !inherits && p.file.version.major == 1:
		t.faults.add(p, MissingRequiredKeyname, "type is missing")
	}
	s.entry = t.readEntrySchema(p.get("entry_schema"))
	s.key = t.readEntrySchema(p.get("key_schema"))
	s.constraints = t.readConstraints(p)
	return s
}

// readEntrySchema reads entry_schema or key_schema: the name of a type, or a definition. It returns nil if there is
// none, or after an error.
func (t *library) readEntrySchema(p fileNode) *schema {
	switch {
	case !p.exists() || p.isNull():
		return nil
	case p.isScalar():
		t.checkTypeName(p, p.text())
		return &schema{at: p, typeName: p.text(), required: true}
	case t.faults.wantMap(p):
		t.known(p, parameterKeys)
		return t.readSchema(p, true)
	default:
		return nil
	}
}

// checkTypeName rejects the names of unknown data types. A name with the prefix of an import, or of TOSCA itself, is
// found by find. Suggestions contain the primitives, too.
func (t *typeIndex) checkTypeName(p fileNode, name string) {
	switch {
	case name == "scalar":
		t.faults.add(p, InvalidType, "scalar is abstract: derive a data type with units from it")
	case !isPrimitive(name) && t.find(p.file, dataTypes, name) == nil:
		names := func() []string { return append(keysOf(primitives), p.file.typeNames(dataTypes)...) }
		t.faults.add(p, UnknownDataType, "the data type %s is not known%s", quote(name), t.near(name, names))
	}
}
