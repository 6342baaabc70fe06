package tosca

import (
	"cmp"
	"reflect"
	"strconv"
	"strings"
)

// compare returns the order of two values of a type: negative, 0 or positive. ok is false if they have no order.
// Numbers with units are compared by their amounts.
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

// compareVersions compares part by part, numbers as numbers. If one version begins with the other, the longer one is
// greater.
func compareVersions(a, b string) int {
	x, y := strings.FieldsFunc(a, isDot), strings.FieldsFunc(b, isDot)
	for i := range min(len(x), len(y)) {
		if order := comparePart(x[i], y[i]); order != 0 {
			return order
		}
	}
	return cmp.Compare(len(x), len(y))
}

// isDot reports whether a character separates the parts of a version.
func isDot(r rune) bool { return r == '.' || r == '-' }

// comparePart compares numbers as numbers, so that 10 follows 9. If one part is not a number, both are compared as text.
func comparePart(a, b string) int {
	x, xErr := strconv.Atoi(a)
	y, yErr := strconv.Atoi(b)
	if xErr == nil && yErr == nil {
		return cmp.Compare(x, y)
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
