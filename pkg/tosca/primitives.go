package tosca

import (
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/holdfast/pkg/manifest"
)

// primitive is a type of the grammar itself.
type primitive struct {
	article string // as messages call it
	// accepts reports whether a value has the type. It is nil for a number with a unit, which its scale checks.
	accepts func(any) bool
	// takesText is true if an untyped value is a string for the type, regardless of its form. It applies to values of
	// flags, ConfigMaps and Secrets, which have no type of their own: 1.10 for a string remains 1.10.
	takesText bool
}

// primitives are the types of TOSCA 1.0 to 2.0 of which values are made, by name. The check of a list or map continues
// with its entries. Base64 is not decoded, because a manifest contains the text.
var primitives = map[string]primitive{
	"any":                   {"anything", func(any) bool { return true }, false},
	"string":                {"a string", isOf[string], true},
	"integer":               {"an integer", isOf[int64], false},
	"float":                 {"a number", isNumber, false},
	"number":                {"a number", isNumber, false},
	"boolean":               {"a boolean", isOf[bool], false},
	"list":                  {"a list", isOf[[]any], false},
	"map":                   {"a map", isOf[map[string]any], false},
	"range":                 {"a range, which is a list of two integers, the second of them not lower, or UNBOUNDED", isRange, false},
	"timestamp":             {"a timestamp like 2006-01-02T15:04:05Z", matches(timestampForm), true},
	"version":               {"a version like 1.0 or 1.2.3.beta-4", isVersion, true},
	"bytes":                 {"text in base64", isOf[string], true},
	"nil":                   {"null", isNull, false},
	"null":                  {"null", isNull, false},
	"scalar":                {"a number with a unit", isOf[string], true},
	"scalar-unit.size":      {"a size like 4 GB", nil, true},
	"scalar-unit.time":      {"a time like 5 min", nil, true},
	"scalar-unit.frequency": {"a frequency like 2.5 GHz", nil, true},
	"scalar-unit.bitrate":   {"a bit rate like 10 Mbps", nil, true},
}

// isPrimitive reports whether a name is one of these types.
func isPrimitive(name string) bool {
	_, known := primitives[name]
	return known
}

// isOf reports whether a value is of the Go type T.
func isOf[T any](content any) bool {
	_, ok := content.(T)
	return ok
}

func isNull(content any) bool { return content == nil }

// isNumber reports whether a value has one of the two types that numbers have in this package.
func isNumber(content any) bool { return isOf[int64](content) || isOf[float64](content) }

var (
	// timestampForm matches the forms of YAML 1.1. Whether the day exists is not checked.
	timestampForm = regexp.MustCompile(`^\d{4}-\d\d?-\d\d?(([Tt]|[ \t]+)\d\d?:\d\d:\d\d(\.\d*)?([ \t]*(Z|[-+]\d\d?(:\d\d)?))?)?$`)
	versionForm   = regexp.MustCompile(`^\d+(\.\d+){0,2}(\.\w+(-\d+)?)?$`)
)

// matches returns a condition that a string matches a regular expression.
func matches(form *regexp.Regexp) func(any) bool {
	return func(content any) bool {
		text, isText := content.(string)
		return isText && form.MatchString(text)
	}
}

// isVersion accepts also the numbers that unquoted versions are read as.
func isVersion(content any) bool {
	return isNumber(content) || matches(versionForm)(content)
}

// isRange reports whether a value is a list of two bounds, the second of which can be UNBOUNDED. [1, 4] and [1,
// UNBOUNDED] are ranges; [4, 1] and [UNBOUNDED, 4] are not.
func isRange(content any) bool {
	bounds, isList := content.([]any)
	if !isList || len(bounds) != 2 {
		return false
	}
	low, ok := bounds[0].(int64)
	high, isInteger := bounds[1].(int64)
	return ok && (bounds[1] == unbounded || isInteger && low <= high)
}

// unbounded is the bound of a range that has no limit on that side.
const unbounded = "UNBOUNDED"

// scales are the types of TOSCA 1.x with units, by name. Time is in nanoseconds. The names of units are in lower case,
// as folded requires. TOSCA defines m as minutes.
var scales = map[string]*scale{
	"scalar-unit.size": {folded: true, units: map[string]float64{
		"b": 1, "kb": 1e3, "kib": 1 << 10, "mb": 1e6, "mib": 1 << 20,
		"gb": 1e9, "gib": 1 << 30, "tb": 1e12, "tib": 1 << 40,
	}},
	"scalar-unit.time": {folded: true, units: map[string]float64{
		"d": 86400e9, "h": 3600e9, "m": 60e9, "min": 60e9, "s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1,
	}},
	"scalar-unit.frequency": {folded: true, units: map[string]float64{
		"hz": 1, "khz": 1e3, "mhz": 1e6, "ghz": 1e9,
	}},
	"scalar-unit.bitrate": {folded: true, units: map[string]float64{
		"bps": 1, "kbps": 1e3, "kibps": 1 << 10, "mbps": 1e6, "mibps": 1 << 20, "gbps": 1e9, "gibps": 1 << 30,
		"tbps": 1e12, "tibps": 1 << 40,
	}},
}

// indexed returns an index in the syntax of a path.
func indexed(i int) string { return "[" + strconv.Itoa(i) + "]" }

// unquoted converts a string to a number or a boolean if base is such a type: the parsers of TOSCA 1.x accept "6" as 6.
// Otherwise it returns the string. It reads the text with the rules of YAML 1.2, so that "yes" is not a boolean and
// "0x10" is 16.
func unquoted(text, base string) any {
	plain := yaml.Node{Kind: yaml.ScalarNode, Value: text}
	content, err := manifest.Scalar(&plain, false)
	switch {
	case err != nil:
	case base == "integer" && isOf[int64](content), base == "boolean" && isOf[bool](content), base == "float" && isNumber(content):
		return content
	}
	return text
}
