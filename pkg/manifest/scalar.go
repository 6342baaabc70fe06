package manifest

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Tags of YAML nodes, in the short form that the library gives them.
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
	errNotFinite = errors.New("infinity and NaN have no place in a manifest: put the word in quotes if it is text")
	errTagFormat = errors.New("the value does not have the form that its tag says")
	errBinary    = errors.New("the tag !!binary is not supported: write the base64 text without it")
)

// oldBooleans are those of YAML 1.1. The library reads YAML 1.2, kubectl 1.1.
var oldBooleans = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

// Scalar returns the value of a scalar: string, int64, float64, bool or nil. A number
// whose value is an integer is an int64, however it is written. old reads plain words
// as YAML 1.1 does, in which yes is a boolean: as sigs.k8s.io/yaml and the Kubernetes
// libraries do.
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

// plain takes the tag that the library found for a text without quotes.
func plain(tag, text string, old bool) (any, error) {
	switch tag {
	case TagNull:
		return nil, nil
	case TagBool:
		return strings.EqualFold(text, "true"), nil
	case TagInt:
		return Integer(text)
	case TagFloat:
		return Float(text)
	}
	if value, ok := oldBooleans[text]; ok && old {
		return value, nil
	}
	if beyondFloat.MatchString(text) {
		return nil, errTooLarge
	}
	return text, nil
}

// beyondFloat are numbers that the library takes for text, because no float is as
// large. Those with an exponent stay text: 12e3456 is the digest of a commit.
var beyondFloat = regexp.MustCompile(`^[-+]?\d{300,}(\.\d*)?$`)

// tagged takes a tag that the author wrote.
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

// wrongTag says why a value cannot have a tag.
func wrongTag(tag string) error {
	switch tag {
	case TagMap, TagSeq, TagStr, TagInt, TagFloat, TagBool, TagNull, TagTimestamp:
		return errTagFormat
	case TagBinary:
		return errBinary
	}
	return errors.New("the tag " + quoteKey(tag) + " is not supported: Kubernetes has no types of one's own")
}

// Integer reads the text of a YAML integer as an int64: 12, 0x1F, 0644, 0o644, 0b11 and 1_000.
func Integer(text string) (any, error) {
	digits := strings.ReplaceAll(text, "_", "")
	value, err := strconv.ParseInt(digits, 0, 64)
	if err != nil {
		return nil, errTooLarge
	}
	return value, nil
}

// Float reads the text of a YAML float, as an int64 if its value is whole: every
// number that has a fraction or an exponent, and the integers that YAML takes for
// floats: 08, and those of more than 64 bits.
func Float(text string) (any, error) {
	digits := strings.ReplaceAll(text, "_", "")
	if !strings.ContainsAny(digits, ".eE") {
		value, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil, errTooLarge
		}
		return value, nil
	}
	value, err := strconv.ParseFloat(digits, 64)
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
