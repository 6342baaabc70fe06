package tosca

import (
	"regexp"
	"strconv"
	"strings"
)

// quantityForm matches a number and its unit.
var quantityForm = regexp.MustCompile(`^\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\s0-9.,+-]\S*)\s*$`)

// parts returns the number of a value, and the multiple of its unit. ok is false if the value is not a number with a
// known unit.
func (s *scale) parts(content any) (number string, multiple float64, ok bool) {
	text, _ := content.(string)
	parts := quantityForm.FindStringSubmatch(text)
	if parts == nil {
		return "", 0, false
	}
	unit := parts[2]
	if s.folded {
		unit = strings.ToLower(unit)
	}
	multiple, ok = s.units[unit]
	return parts[1], multiple, ok
}

// measure returns a value in the unit with the multiple 1.
func (s *scale) measure(content any) (float64, bool) {
	number, multiple, ok := s.parts(content)
	amount, err := strconv.ParseFloat(number, 64)
	return amount * multiple, ok && err == nil
}
