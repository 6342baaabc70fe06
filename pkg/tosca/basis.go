package tosca

import (
	"maps"
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
// has the units m, km and cm. The definition belongs to this translation, so the cache needs no lock.
func (t *typeIndex) scaleOf(line []*definition) *scale {
	if known := line[0].scale; known != nil {
		return known
	}
	s := &scale{units: map[string]float64{}}
	own, prefixes := unitsOf(line)
	for _, d := range slices.Backward(line) {
		if name := d.at.get("data_type"); name.exists() {
			s.number = &schema{at: name, typeName: name.text()}
		}
	}
	t.spend(len(own) + len(prefixes))
	maps.Copy(s.units, own)
	// Prefixes apply only to a type with a single unit, such as m with k and M.
	if len(own) == 1 {
		for unit, multiple := range own {
			for prefix, factor := range prefixes {
				s.units[prefix+unit] = factor * multiple
			}
		}
	}
	line[0].scale = s
	return s
}

// unitsOf returns the units and prefixes of a type, with the inherited ones.
func unitsOf(line []*definition) (own, prefixes map[string]float64) {
	own, prefixes = map[string]float64{}, map[string]float64{}
	for _, d := range slices.Backward(line) {
		maps.Copy(own, multiples(d.at.get("units")))
		maps.Copy(prefixes, multiples(d.at.get("prefixes")))
	}
	return own, prefixes
}

// multiples returns the numbers of a map, and omits other values. A multiple is written as a number, or as text with a
// number in it.
func multiples(p fileNode) map[string]float64 {
	all := map[string]float64{}
	for _, entry := range p.entries() {
		if amount, err := strconv.ParseFloat(entry.text(), 64); err == nil {
			all[entry.name()] = amount
		}
	}
	return all
}
