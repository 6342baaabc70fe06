package tosca

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast.dev/holdfast/pkg/manifest"
)

// operation is a function of TOSCA 2.0 whose result depends only on its arguments. problem is set if the arguments
// are wrong. Numbers with units are compared by base.
type operation struct {
	least, most int // arguments; most is 0 if there may be any number
	apply       func(args []any, base basis) (result any, problem string)
}

// operations maps the names of the functions of TOSCA 2.0 that compute values from values to their evaluation, without
// the dollar. The first two numbers are the least and the most arguments. Constraints of TOSCA 2.0 are calls of the
// same names: see constraints.go.
var operations = map[string]operation{
	"and": {1, 0, booleans(func(all []bool) bool { return !slices.Contains(all, false) })},
	"or":  {1, 0, booleans(func(all []bool) bool { return slices.Contains(all, true) })},
	"xor": {2, 2, booleans(func(all []bool) bool { return all[0] != all[1] })},
	"not": {1, 1, booleans(func(all []bool) bool { return !all[0] })},

	"equal":            {2, 2, func(args []any, base basis) (any, string) { return same(args[0], args[1], base), "" }},
	"greater_than":     {2, 2, ordered(func(order int) bool { return order > 0 })},
	"greater_or_equal": {2, 2, ordered(func(order int) bool { return order >= 0 })},
	"less_than":        {2, 2, ordered(func(order int) bool { return order < 0 })},
	"less_or_equal":    {2, 2, ordered(func(order int) bool { return order <= 0 })},
	"valid_values":     {2, 2, func(args []any, base basis) (any, string) { return has([]any{args[1], args[0]}, base) }},

	"length":     {1, 1, length},
	"has_prefix": {2, 2, texts(strings.HasPrefix, beginsWith)},
	"has_suffix": {2, 2, texts(strings.HasSuffix, func(list, part []any) bool {
		return len(part) <= len(list) && beginsWith(list[len(list)-len(part):], part)
	})},
	"contains":        {2, 2, texts(strings.Contains, containsPart)},
	"has_entry":       {2, 2, has},
	"has_key":         {2, 2, func(args []any, _ basis) (any, string) { return hasKeys(args[0], []any{args[1]}, allOf) }},
	"has_all_entries": {2, 2, hasEntries(allOf)},
	"has_any_entry":   {2, 2, hasEntries(anyOf)},
	"has_all_keys":    {2, 2, func(args []any, _ basis) (any, string) { return hasKeys(args[0], args[1], allOf) }},
	"has_any_key":     {2, 2, func(args []any, _ basis) (any, string) { return hasKeys(args[0], args[1], anyOf) }},

	"union":        {1, 0, func(args []any, _ basis) (any, string) { return combined(args, false) }},
	"intersection": {1, 0, func(args []any, _ basis) (any, string) { return combined(args, true) }},

	"sum":        {1, 0, arithmetic(func(a, b float64) float64 { return a + b })},
	"difference": {2, 2, arithmetic(func(a, b float64) float64 { return a - b })},
	"product":    {1, 0, arithmetic(func(a, b float64) float64 { return a * b })},
	"quotient":   {2, 2, arithmetic(func(a, b float64) float64 { return a / b })},
	"remainder":  {2, 2, arithmetic(math.Mod)},
	"round":      {1, 1, rounded(math.Round)},
	"floor":      {1, 1, rounded(math.Floor)},
	"ceil":       {1, 1, rounded(math.Ceil)},
}

// booleans returns an operation on booleans.
func booleans(combine func([]bool) bool) func([]any, basis) (any, string) {
	return func(args []any, _ basis) (any, string) {
		all := make([]bool, len(args))
		for i, arg := range args {
			var ok bool
			if all[i], ok = arg.(bool); !ok {
				return nil, "needs booleans, not " + manifest.Describe(arg)
			}
		}
		return combine(all), ""
	}
}

// ordered returns an operation that compares two values.
func ordered(holds func(order int) bool) func([]any, basis) (any, string) {
	return func(args []any, base basis) (any, string) {
		order, ok := compare(args[0], args[1], base)
		if !ok {
			return nil, "cannot compare " + manifest.Describe(args[0]) + " with " + manifest.Describe(args[1])
		}
		return holds(order), ""
	}
}

// length returns the length of a value, as measureLength does.
func length(args []any, _ basis) (any, string) {
	if length, ok := measureLength(args[0]); ok {
		return length, ""
	}
	return nil, "needs a text, a list or a map, not " + manifest.Describe(args[0])
}

// measureLength returns the length of a string in characters, or of a list or map. It returns false for other values.
func measureLength(content any) (int64, bool) {
	switch content := content.(type) {
	case string:
		return int64(utf8.RuneCountInString(content)), true
	case []any:
		return int64(len(content)), true
	case map[string]any:
		return int64(len(content)), true
	}
	return 0, false
}

// texts returns an operation on two texts or two lists. A text and a list are never compared: contains: [abc, [a]] is
// an error.
func texts(ofTexts func(text, part string) bool, ofLists func(list, part []any) bool) func([]any, basis) (any, string) {
	return func(args []any, _ basis) (any, string) {
		if text, part, ok := bothOf[string](args[0], args[1]); ok {
			return ofTexts(text, part), ""
		}
		if list, part, ok := bothOf[[]any](args[0], args[1]); ok {
			return ofLists(list, part), ""
		}
		return nil, "needs two texts or two lists"
	}
}

// beginsWith reports whether a list begins with the elements of part.
func beginsWith(list, part []any) bool {
	return len(part) <= len(list) && reflect.DeepEqual(list[:len(part)], part)
}

// containsPart reports whether a list contains the elements of part, one after the other. Every list contains an empty
// part. [1, 2, 3] contains [2, 3], but not [1, 3].
func containsPart(list, part []any) bool {
	for i := range list {
		if beginsWith(list[i:], part) {
			return true
		}
	}
	return len(part) == 0
}

// entriesOf returns the values in a list or map.
func entriesOf(content any) ([]any, bool) {
	switch content := content.(type) {
	case []any:
		return content, true
	case map[string]any:
		var all []any
		for _, key := range keysOf(content) {
			all = append(all, content[key])
		}
		return all, true
	default:
		return nil, false
	}
}

// has reports whether a list or map, the first argument, has an entry.
func has(args []any, base basis) (any, string) {
	entries, ok := entriesOf(args[0])
	if !ok {
		return nil, "needs a list or a map, not " + manifest.Describe(args[0])
	}
	return slices.ContainsFunc(entries, func(entry any) bool { return same(entry, args[1], base) }), ""
}

// quantifier reports whether enough of the wanted values satisfy a condition: anyOf or allOf.
type quantifier func(wanted []any, is func(any) bool) bool

// anyOf reports whether one of the values satisfies the condition, and allOf whether all do. Without values, anyOf
// returns false, and allOf true.
func anyOf(wanted []any, is func(any) bool) bool { return slices.ContainsFunc(wanted, is) }
func allOf(wanted []any, is func(any) bool) bool {
	return !slices.ContainsFunc(wanted, func(one any) bool { return !is(one) })
}

// hasEntries returns an operation that searches the entries of the second argument in the first.
func hasEntries(of quantifier) func([]any, basis) (any, string) {
	return func(args []any, base basis) (any, string) {
		wanted, ok := entriesOf(args[1])
		if _, isCollection := entriesOf(args[0]); !ok || !isCollection {
			return nil, "needs two lists or maps"
		}
		return of(wanted, func(one any) bool {
			there, _ := has([]any{args[0], one}, base)
			return there == true
		}), ""
	}
}

// hasKeys reports whether a map contains the keys in a list. A key that is not a string is compared in its text form,
// because keys of YAML are text here.
func hasKeys(content, keys any, of quantifier) (any, string) {
	fields, isMap := content.(map[string]any)
	wanted, isList := keys.([]any)
	if !isMap || !isList {
		return nil, "needs a map and keys"
	}
	return of(wanted, func(one any) bool {
		_, there := fields[value{any: one}.text()]
		return there
	}), ""
}

// combined returns the union of several lists or maps, or their intersection if inEach is set. Lists keep their
// order, and lose repetitions. If maps have a common key, the last value counts.
func combined(args []any, inEach bool) (any, string) {
	var list []any
	merged := map[string]any{}
	lists, maps := 0, 0
	for _, arg := range args {
		switch content := arg.(type) {
		case []any:
			lists++
			list = append(list, content...)
		case map[string]any:
			maps++
			for key, entry := range content {
				merged[key] = entry
			}
		}
	}
	wanted := func(key string, entry any) bool {
		return !inEach || allOf(args, func(arg any) bool {
			if fields, isMap := arg.(map[string]any); isMap {
				_, there := fields[key]
				return there
			}
			there, _ := has([]any{arg, entry}, basis{})
			return there == true
		})
	}
	switch len(args) {
	case lists:
		made := []any{}
		for _, entry := range list {
			if known, _ := has([]any{made, entry}, basis{}); known == false && wanted("", entry) {
				made = append(made, entry)
			}
		}
		return made, ""
	case maps:
		made := map[string]any{}
		for key, entry := range merged {
			if wanted(key, entry) {
				made[key] = entry
			}
		}
		return made, ""
	}
	return nil, "needs lists only, or maps only"
}

// maxExact is the largest integer up to which no two integers have the same float64.
const maxExact = 1<<53 - 1

// arithmetic returns an operation on numbers, from left to right. The result is an integer if it has no fraction. An
// integer beyond maxExact is an error, because the calculation would silently use another one.
func arithmetic(combine func(a, b float64) float64) func([]any, basis) (any, string) {
	return func(args []any, _ basis) (any, string) {
		var result float64
		for i, arg := range args {
			if !isNumber(arg) {
				return nil, "needs numbers, not " + manifest.Describe(arg)
			}
			if integer, ok := arg.(int64); ok && (integer > maxExact || integer < -maxExact) {
				return nil, "needs smaller numbers to be exact"
			}
			if i == 0 {
				result = numberOf(arg)
				continue
			}
			result = combine(result, numberOf(arg))
			if _, problem := wholeIfPossible(result); problem != "" {
				return nil, problem
			}
		}
		return wholeIfPossible(result)
	}
}

// rounded returns an operation on one number. An integer is its own result.
func rounded(round func(float64) float64) func([]any, basis) (any, string) {
	return func(args []any, _ basis) (any, string) {
		switch arg := args[0].(type) {
		case int64:
			return arg, ""
		case float64:
			return wholeIfPossible(round(arg))
		}
		return nil, "needs a number, not " + manifest.Describe(args[0])
	}
}

// wholeIfPossible returns a number with the types of this package: an int64 if it has no fraction. It returns a
// problem if the result is not finite, or not exact.
func wholeIfPossible(result float64) (any, string) {
	switch {
	case math.IsNaN(result) || math.IsInf(result, 0):
		return nil, "has no result with these numbers"
	case result == math.Trunc(result) && math.Abs(result) > maxExact:
		return nil, "has a result that is too large to be exact"
	case result == math.Trunc(result):
		return int64(result), ""
	}
	return result, ""
}
