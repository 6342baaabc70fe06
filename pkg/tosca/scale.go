package tosca

import (
	"regexp"
	"strconv"
	"strings"
)

// quantityForm matches a number and its unit. Spaces are optional everywhere, as in TOSCA: "4GB", " 4 GB " and "1.5e3
// MiB" match. A number without a unit does not. The unit begins with another character than a digit, a sign or a dot,
// so that it cannot take digits of the number.
var quantityForm = regexp.MustCompile(`^\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\s0-9.,+-]\S*)\s*$`)

// parts returns the number of a value, and the multiple of its unit. ok is false if the value is not a number with a
// known unit. content is any value of a template, and a value that is not a string has no unit. Examples with
// scalar-unit.size:
//
//	"4 GB"     "4", 1e9, true
//	"0.5 kib"  "0.5", 1024, true
//	"4 apples" "4", 0, false
//	4          "", 0, false
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

// measure returns a value in the unit with the multiple 1. The units of a scale with different multiples can be
// compared by it: 1024 MiB equals 1 GiB. The result is a float64, so amounts beyond 2^53 of the smallest unit are
// compared approximately.
func (s *scale) measure(content any) (float64, bool) {
	number, multiple, ok := s.parts(content)
	amount, err := strconv.ParseFloat(number, 64)
	return amount * multiple, ok && err == nil
}
