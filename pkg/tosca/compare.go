package tosca

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// compare returns the order of two values of a type: negative, 0 or positive. ok is false if they have no order.
// Numbers with units are compared by their amounts.
//
//	type            a         b         result
//	a scale         1 GiB     1000 MB   1
//	version         1.10      1.9       1
//	any other       2         10        -1, as integers
//	any other       "2"       "10"      1, as text
//	any other       1         1.5       -1, as float64
//	any other       1         "1"       no order
func compare(a, b any, base basis) (order int, ok bool) {
	if base.scale != nil {
		x, xOK := base.scale.measure(a)
		y, yOK := base.scale.measure(b)
		return cmp.Compare(x, y), xOK && yOK
	}
	if base.name == "version" {
		return compareVersions(value{any: a}.text(), value{any: b}.text()), true
	}
	if x, y, both := bothOf[int64](a, b); both {
		return cmp.Compare(x, y), true
	}
	if x, y, both := bothOf[string](a, b); both {
		return strings.Compare(x, y), true
	}
	if isNumber(a) && isNumber(b) {
		return cmp.Compare(numberOf(a), numberOf(b)), true
	}
	return 0, false
}

// bothOf returns two values as type T, and whether both have it.
func bothOf[T any](a, b any) (x, y T, ok bool) {
	x, xOK := a.(T)
	y, yOK := b.(T)
	return x, y, xOK && yOK
}

// numberOf converts an int64 or a float64, and panics on other types.
func numberOf(content any) float64 {
	if integer, ok := content.(int64); ok {
		return float64(integer)
	}
	return content.(float64)
}

// compareVersions compares the numbers of two versions from left to right. A missing number counts as 0. If the numbers
// are equal, a version with a qualifier is older than one without, and a shorter version older than a longer one.
//
//	1.0.0.alpha-2 < 1.0.0.alpha-10 < 1.0.0.beta < 1.0 < 1.0.0 < 1.0.1.rc < 1.0.1 < 1.10
//
// Source: TOSCA Simple Profile in YAML 1.3, section "Version Comparison". It does not define the order of two
// qualifiers with different names; here they are compared as text.
func compareVersions(a, b string) int {
	x, xQualifier := versionParts(a)
	y, yQualifier := versionParts(b)
	for i := range max(len(x), len(y)) {
		if order := comparePart(partAt(x, i), partAt(y, i)); order != 0 {
			return order
		}
	}
	if len(xQualifier) == 0 || len(yQualifier) == 0 {
		return cmp.Or(cmp.Compare(len(yQualifier), len(xQualifier)), cmp.Compare(len(x), len(y)))
	}
	return cmp.Or(slices.CompareFunc(xQualifier, yQualifier, comparePart), cmp.Compare(len(x), len(y)))
}

// versionParts splits a version into its numbers, at most three, and its qualifier with the build number.
func versionParts(text string) (numbers, qualifier []string) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '.' || r == '-' })
	n := 0
	for n < min(3, len(parts)) && isDigits(parts[n]) {
		n++
	}
	return parts[:n], parts[n:]
}

// partAt returns a number of a version, or "0" if the version does not have it.
func partAt(numbers []string, i int) string {
	if i < len(numbers) {
		return numbers[i]
	}
	return "0"
}

// isDigits reports whether a part of a version is a number. Its length is not limited.
func isDigits(part string) bool { return strings.Trim(part, "0123456789") == "" }

// comparePart compares numbers as numbers, so that 10 follows 9. If one part is not a number, both are compared as text.
func comparePart(a, b string) int {
	if isDigits(a) && isDigits(b) {
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	}
	return strings.Compare(a, b)
}

// same reports whether two values are equal, as values of a type if they have an order.
func same(a, b any, base basis) bool {
	if order, ok := compare(a, b, base); ok {
		return order == 0
	}
	return reflect.DeepEqual(a, b)
}
