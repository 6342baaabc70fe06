package tosca

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/holdfast/pkg/manifest"
)

// quote quotes a name for a message and shortens it if it is too long for one.
func quote(name string) string { return manifest.QuoteKey(name) }

// value is the result of an expression. Its marks have an order: an unknown value is never checked or rendered, and an
// unset value is never checked. How a mark spreads:
//
//	unknown    to everything that is computed from the value
//	secret     to everything that is computed from the value, also to a boolean or a length
//	unset      to nothing: a list of unset values is set
type value struct {
	// any consists of map[string]any, []any, string, int64, float64, bool and nil. Values share parts, so none of
	// them may be changed.
	any any
	// size is the approximate number of bytes if all shared parts are copied. It is the measure of maxManifest.
	// Values share parts, so the memory that they occupy is smaller.
	size int
	// secret values, and values made of them, must not be shown.
	secret bool
	// unknown values could not be evaluated: the reason was reported, or an input has no value yet. Values made of
	// them are unknown, too.
	unknown bool
	// unset is true without any value: an input that was not given, a property without an assignment. Only messages
	// distinguish it from null.
	unset bool
}

// unknown is the value of an expression with an error, which was reported already.
var unknown = value{unknown: true}

// sizeOf returns the size of a value that shares nothing. Each value counts 16 bytes in addition to its text, so that a
// list of a million empty strings is not free.
func sizeOf(content any) int {
	const overhead = 16
	size := overhead
	switch content := content.(type) {
	case string:
		size += len(content)
	case []any:
		for _, element := range content {
			size += sizeOf(element)
		}
	case map[string]any:
		for key, element := range content {
			size += len(key) + sizeOf(element)
		}
	}
	return size
}

// text returns a value as part of a string: a scalar as YAML would read it, and lists and maps as JSON.
//
//	1.10 in quotes    1.10
//	1.5 as float64    1.5
//	[1, a]            [1,"a"]
//	null              null
func (v value) text() string {
	switch content := v.any.(type) {
	case string:
		return content
	case float64:
		return strconv.FormatFloat(content, 'g', -1, 64)
	}
	return string(manifest.EncodeJSON(v.any))
}

// forMessage returns a value for a message: shortened, and hidden if it is secret. Quotes separate a string from the
// text around it. Numbers and maps have none.
func forMessage(content any, secret bool) string {
	if secret {
		return "(hidden)"
	}
	text, isText := content.(string)
	if isText {
		return quote(text)
	}
	return cut(value{any: content}.text())
}

// bare returns the name of a file for a message. It quotes a name with unusual characters.
func bare(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) >= 0 {
		return quote(name)
	}
	return cut(name)
}

// cut shortens a string for a message. It drops the character that it would split. The text must be valid UTF-8, as the
// YAML and JSON parsers return it.
func cut(text string) string {
	const longest = 100
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

// collectNames returns the names of the elements of a list, with repetitions, for messages.
func collectNames[T any](list []T, name func(T) string) []string {
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = name(one)
	}
	return names
}

// keysOf returns the keys of a map, sorted, so that errors do not depend on the order of the map.
func keysOf[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
