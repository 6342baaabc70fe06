package manifest

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Tags of YAML nodes, in the short form of the library.
const (
	TagMap       = "!!map"
	TagSeq       = "!!seq"
	TagStr       = "!!str"
	TagInt       = "!!int"
	TagFloat     = "!!float"
	TagBool      = "!!bool"
	TagNull      = "!!null"
	TagTimestamp = "!!timestamp"
	TagMerge     = "!!merge"
	TagBinary    = "!!binary"
)

var (
	errTooLarge  = errors.New("the number does not fit in 64 bits: put it in quotes if it is text")
	errNotFinite = errors.New("infinity and NaN are not allowed in a manifest: put the word in quotes if it is text")
	errTagFormat = errors.New("the value does not match its tag")
	errBinary    = errors.New("the tag !!binary is not supported: write the base64 text without it")
)

// yaml11Booleans are the booleans of YAML 1.1. The library implements YAML 1.2, kubectl uses 1.1.
var yaml11Booleans = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

// Scalar returns the value of a scalar: string, int64, float64, bool or nil. A number with an integer value
// is an int64, regardless of its notation. If old is set, plain words have the meaning of YAML 1.1, in
// which yes is a boolean. sigs.k8s.io/yaml and the Kubernetes libraries do the same.
//
//	text       old        not old
//	yes        true       "yes"
//	0644       420        420
//	1.0        1          1
//	"1"        "1"        "1"
//	!!str 1    "1"        "1"
//	1e400      an error   an error
func Scalar(n *yaml.Node, old bool) (any, error) {
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		return tagged(n.Tag, n.Value, old)
	case n.Style != 0:
		return n.Value, nil
	default:
		return plain(n.ShortTag(), n.Value, old)
	}
}

// plain converts an unquoted text with the tag that the library has resolved. Booleans of YAML 1.1 have the tag of a
// string, because the library implements 1.2.
func plain(tag, text string, old bool) (any, error) {
	switch tag {
	case TagNull:
		return nil, nil
	case TagBool:
		return strings.EqualFold(text, "true"), nil
	case TagInt:
		return integer(text, 0)
	case TagFloat:
		return float(text)
	}
	if value, ok := yaml11Booleans[text]; ok && old {
		return value, nil
	}
	if tooLargeForFloat.MatchString(text) {
		return nil, errTooLarge
	}
	return text, nil
}

// tooLargeForFloat matches numbers that the library resolves to strings because they exceed the range of
// floats. Numbers with an exponent stay strings: 12e3456 is the digest of a commit.
var tooLargeForFloat = regexp.MustCompile(`^[-+]?\d{300,}(\.\d*)?$`)

// tagged converts a text with an explicit tag. !!int "12" and !!int 12 are the same: the tag prevails over quotes.
func tagged(tag, text string, old bool) (any, error) {
	switch tag {
	case TagStr, TagTimestamp:
		return text, nil
	case TagInt, TagFloat, TagBool, TagNull:
	default:
		return nil, wrongTag(tag)
	}
	untagged := yaml.Node{Kind: yaml.ScalarNode, Value: text}
	value, err := plain(untagged.ShortTag(), text, old)
	if err == nil && !fits(tag, value) {
		err = errTagFormat
	}
	return value, err
}

// fits reports whether an explicit tag agrees with a value. An integer fits a float, because an integral float is an
// int64.
func fits(tag string, value any) bool {
	switch value.(type) {
	case nil:
		return tag == TagNull
	case bool:
		return tag == TagBool
	case int64:
		return tag == TagInt || tag == TagFloat
	case float64:
		return tag == TagFloat
	default:
		return false
	}
}

// wrongTag returns the error for a value that does not match its tag.
func wrongTag(tag string) error {
	switch tag {
	case TagMap, TagSeq, TagStr, TagInt, TagFloat, TagBool, TagNull, TagTimestamp:
		return errTagFormat
	case TagBinary:
		return errBinary
	}
	return errors.New("the tag " + QuoteKey(tag) + " is not supported: Kubernetes has no custom YAML types")
}

// integer parses a YAML integer as an int64: 12, 1_000 and, with base 0, 0x1F, 0644, 0o644 and 0b11. The error is that
// it does not fit in 64 bits.
func integer(text string, base int) (any, error) {
	value, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), base, 64)
	if err != nil {
		return nil, errTooLarge
	}
	return value, nil
}

// float parses a YAML float: a number with a fraction or an exponent, or an integer that YAML resolves to a
// float, such as 08 or one with more than 64 bits. If the value is an integer, it returns an int64.
func float(text string) (any, error) {
	if !strings.ContainsAny(text, ".eE") {
		return integer(text, 10)
	}
	value, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if errors.Is(err, strconv.ErrRange) {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, errNotFinite
	}
	if value == math.Trunc(value) && value >= math.MinInt64 && value < math.MaxInt64 {
		return int64(value), nil
	}
	return value, nil
}
