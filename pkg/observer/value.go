package observer

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Equal reports whether two JSON values are equal. It compares numbers as numbers: 1 equals 1.0. A nil value is null.
// Null and empty values are different. The caller must distinguish missing values from null.
//
// The package has several comparisons, from strict to lenient:
//
//	Equal      the same JSON value
//	Same       Equal, but without the order of sets and of lists with keys
//	Completes  the live value can be the API server's form: maps can have more fields, and lack empty ones
//	Covers     Completes, and lists can have more elements
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	// The comparison cannot panic: values of different types are different, and these types are comparable.
	case nil, bool, string:
		return a == b
	}
	return equalNumbers(a, b)
}

// equalNumbers reports whether both values are numbers with the same value. It compares integers exactly, and others
// as float64.
func equalNumbers(a, b any) bool {
	i, aInt := integer(a)
	j, bInt := integer(b)
	if aInt && bInt {
		return i == j
	}
	x, aNumber := float(a)
	y, bNumber := float(b)
	return aNumber && bNumber && x == y
}

// integer returns the value of an integral number that fits into an int64. A float64 without a fraction is integral.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v), true
		}
	case json.Number:
		i, err := v.Int64()
		return i, err == nil
	}
	return 0, false
}

// float returns a number as float64. An integer beyond 53 bits loses precision.
func float(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

// Covers reports whether live has everything that want has. Maps and lists can have more, and maps can lack empty
// values. It recognizes a list element that the controller wrote and the API server completed. List elements must be
// in the same order, with others between them.
//
//	live             want       Covers    Completes
//	{a: 1, b: 2}     {a: 1}     true      true
//	{a: 1}           {b: ""}    true      true
//	[a, b]           [b]        true      false
//	[b, a]           [a, b]     false     false
func Covers(live, want any) bool { return hasAll(live, want, coversElements) }

// Completes reports whether live can be the API server's form of want. Maps can have more fields, and can
// lack empty values. Lists have the same length.
func Completes(live, want any) bool { return hasAll(live, want, completesElements) }

// completesElements reports whether each element of live completes the element of want with the same index.
func completesElements(live, want []any) bool { return slices.EqualFunc(live, want, Completes) }

// coversElements reports whether live covers the elements of want in the same order.
func coversElements(live, want []any) bool {
	for _, element := range live {
		if len(want) > 0 && Covers(element, want[0]) {
			want = want[1:]
		}
	}
	return len(want) == 0
}

// hasAll reports whether live has everything that want has. hasElements compares lists. Fields with empty values can be
// missing.
func hasAll(live, want any, hasElements func(live, want []any) bool) bool {
	switch want := want.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for name, v := range want {
			have, ok := l[name]
			if ok && !hasAll(have, v, hasElements) || !ok && !Empty(v) {
				return false
			}
		}
		return true
	case []any:
		l, ok := live.([]any)
		return ok && hasElements(l, want)
	}
	return Equal(live, want)
}

// Empty reports whether an API server can omit a value: a zero value, false, or a map that contains only
// such values.
func Empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case map[string]any:
		for _, child := range v {
			if !Empty(child) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	default:
		return Equal(v, int64(0))
	}
}

// Copy returns a deep copy of a JSON value.
func Copy(v any) any { return runtime.DeepCopyJSONValue(v) }

// CopyMap returns a deep copy of a JSON object.
func CopyMap(m map[string]any) map[string]any { return runtime.DeepCopyJSON(m) }

// jsonList returns strings as a JSON list.
func jsonList(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// sortedKeys makes walks deterministic: the order of errors, paths and fields does not depend on the map.
func sortedKeys(m map[string]any) []string {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}

// shorten limits the length of a string in a message. A key can be 64 KiB long.
func shorten(s string) string {
	const limit = 256
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// describe describes an invalid value in a message, without its full content.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("the string %q", shorten(v))
	case bool:
		return fmt.Sprintf("the boolean %v", v)
	case nil, map[string]any, []any:
		return describeShape(v)
	default:
		return fmt.Sprintf("the number %v", v)
	}
}

// describeShape returns the type of a value for messages. It never contains the value, which can be secret.
func describeShape(v any) string {
	switch v.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case nil:
		return "null"
	default:
		return "a single value"
	}
}

// bothOf returns two values as type T, and whether both have it.
func bothOf[T any](a, b any) (x, y T, ok bool) {
	x, isX := a.(T)
	y, isY := b.(T)
	return x, y, isX && isY
}

// isContainer reports whether a value is a map or a list, even an empty one.
func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
