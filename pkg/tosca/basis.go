package tosca

import (
	"slices"
	"strconv"
)

// primitive returns the type that the values of a schema are finally made of, with the types on the way, which may add
// constraints. For a data type with properties, this is the type itself. base.name is "" if the type is unknown. For
// example, with Port derived from integer, and Ports a list of Port:
//
//	schema              base                          line
//	nil, or no type     ""                            nil
//	integer             integer                       nil
//	Port                integer                       Port
//	Ports               list                          Ports
//	Login               Login                         Login and its ancestors
//	an unknown type     ""                            nil
func (t *typeIndex) primitive(s *schema) (base basis, line []*definition) {
	if s == nil {
		return basis{}, nil
	}
	if s.typeName == "" || isPrimitive(s.typeName) {
		return basis{s.typeName, scales[s.typeName]}, nil
	}
	if line = t.dataLine(s.at.file, s.typeName); line == nil {
		return basis{}, nil
	}
	for i, ancestor := range line {
		if !isPrimitive(ancestor.parent) {
			continue
		}
		base := basis{ancestor.parent, scales[ancestor.parent]}
		if line[len(line)-1].parent == "scalar" {
			base.scale = t.scaleOf(line)
		}
		return base, line[:i+1]
	}
	return basis{name: s.typeName}, line
}

// baseOf returns the name of the type that the values of a schema are finally made of. It returns "" for nil and for
// an unknown type.
func (t *typeIndex) baseOf(s *schema) string {
	base, _ := t.primitive(s)
	return base.name
}

// scaleOf returns the scale of a type that is derived from scalar. line is the type with its ancestors. The result is
// cached in the definition. A derived type can add units and prefixes, which replace inherited ones of the same name:
//
//	Length: {derived_from: scalar, data_type: float, units: {m: 1}, prefixes: {k: 1000, c: 0.01}}
//
// defines the units m, km and cm. The definition belongs to this translation, so the cache needs no lock.
func (t *typeIndex) scaleOf(line []*definition) *scale {
	if known := line[0].scale; known != nil {
		return known
	}
	s, prefixes := &scale{units: map[string]float64{}}, map[string]float64{}
	for _, d := range slices.Backward(line) {
		addMultiples(s.units, d.at.get("units"))
		addMultiples(prefixes, d.at.get("prefixes"))
		if name := d.at.get("data_type"); name.exists() {
			s.number = &schema{at: name, typeName: name.text()}
		}
	}
	t.spend(len(s.units) + len(prefixes))
	// Prefixes apply only to a type with a single unit, such as m with k and M.
	if own := keysOf(s.units); len(own) == 1 {
		unit, multiple := own[0], s.units[own[0]]
		for prefix, factor := range prefixes {
			s.units[prefix+unit] = factor * multiple
		}
	}
	line[0].scale = s
	return s
}

// addMultiples adds the numbers of a map, and omits other values. A multiple is written as a number, or as text with a
// number in it.
func addMultiples(all map[string]float64, p fileNode) {
	for _, entry := range p.entries() {
		if amount, err := strconv.ParseFloat(entry.text(), 64); err == nil {
			all[entry.name()] = amount
		}
	}
}
