package tosca

import (
	"slices"
	"strconv"
)

// checkScalar checks the units of a data type.
func (t *library) checkScalar(d *definition) {
	line := t.lineage(d, false)
	if !isScalarType(line) {
		for _, key := range scalarKeys {
			if at := d.at.get(key); at.exists() {
				t.faults.add(at, InvalidType, "only types derived from scalar have %s", key)
			}
		}
		return
	}
	if properties := d.at.get("properties"); properties.exists() {
		t.faults.add(properties, InvalidType, "a type derived from scalar has no properties")
	}
	if !t.checkNumberType(d) || !t.checkMultiples(d, line) {
		return
	}
	s := t.scaleOf(line)
	t.checkCanonical(d, line, s)
}

// checkNumberType checks data_type, which is an integer or a float.
func (t *library) checkNumberType(d *definition) bool {
	at := d.at.get("data_type")
	if !at.exists() {
		return true
	}
	if d.parent != "scalar" {
		t.faults.add(at, InvalidType, "the data_type of %s cannot be changed in a type derived from it", d.parent)
		return false
	}
	name, ok := t.wantText(at)
	if !ok || !t.checkTypeName(at, name) {
		return false
	}
	if base := t.baseOf(&schema{at: at, typeName: name}); base != "integer" && base != "float" {
		t.faults.add(at, InvalidType, "the data_type of a scalar is an integer or a float, not %s", shown(name))
		return false
	}
	return true
}

// checkMultiples checks that units and prefixes are positive numbers, whole ones
// where the data_type is an integer.
func (t *library) checkMultiples(d *definition, line []*definition) bool {
	whole := t.baseOf(t.scaleOf(line).number) == "integer"
	ok := true
	for _, key := range []string{"units", "prefixes"} {
		p := d.at.get(key)
		if p.exists() && !t.wantMap(p) {
			ok = false
		}
		for _, entry := range p.entries() {
			amount, err := strconv.ParseFloat(entry.text(), 64)
			switch {
			case err != nil || !entry.isNumber():
				t.faults.add(entry, ValueTypeMismatch, "the multiplier must be a number, not %s", entry.describe())
			case amount <= 0:
				t.faults.add(entry, ConstraintViolation, "the multiplier must be greater than 0")
			case whole && amount != float64(int64(amount)):
				t.faults.add(entry, ConstraintViolation, "the multiplier must be an integer, like the data_type")
			default:
				continue
			}
			ok = false
		}
	}
	return ok
}

// checkCanonical checks that there is one unit that counts one.
func (t *library) checkCanonical(d *definition, line []*definition, s *scale) {
	own, prefixes := unitsOf(line)
	var canonical fileNode
	for _, ancestor := range slices.Backward(line) {
		if at := ancestor.at.get("canonical_unit"); at.exists() {
			canonical = at
		}
	}
	ones := countOnes(own)
	multiple, known := s.units[canonical.text()]
	units := func() []string { return keysOf(s.units) }
	switch {
	case len(own) == 0:
		t.faults.add(d.at, MissingRequiredKeyname, "units is missing: a map of units and their multipliers")
	case len(prefixes) > 0 && len(own) > 1:
		t.faults.add(d.at, InvalidType, "prefixes need exactly one unit, not %d", len(own))
	case len(prefixes) > 0 && countOnes(prefixes) == 0:
		t.faults.add(d.at, InvalidType, `one of the prefixes must have the multiplier 1, as in "": 1`)
	case canonical.exists() && !known:
		t.faults.add(canonical, InvalidType, "there is no unit %s%s", shown(canonical.text()), t.near(canonical.text(), units))
	case canonical.exists() && multiple != 1:
		t.faults.add(canonical, InvalidType, "the canonical unit must have the multiplier 1, but %s has %v", shown(canonical.text()), multiple)
	case ones == 0:
		t.faults.add(d.at, InvalidType, "one of the units must have the multiplier 1")
	case ones > 1 && !canonical.exists():
		t.faults.add(d.at, MissingRequiredKeyname, "canonical_unit is missing: %d units have the multiplier 1", ones)
	}
}

func countOnes(multiples map[string]float64) (ones int) {
	for _, multiple := range multiples {
		if multiple == 1 {
			ones++
		}
	}
	return ones
}
