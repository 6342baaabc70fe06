package tosca

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Tags in the short form that the YAML library gives to nodes.
const (
	tagMap       = "!!map"
	tagSeq       = "!!seq"
	tagStr       = "!!str"
	tagInt       = "!!int"
	tagFloat     = "!!float"
	tagBool      = "!!bool"
	tagNull      = "!!null"
	tagTimestamp = "!!timestamp"
	tagMerge     = "!!merge"
)

var errTagFormat = errors.New("the value does not have the form that its tag says")

// reading says what a plain word means.
type reading int

const (
	// asTosca reads YAML 1.2, in which yes is text.
	asTosca reading = iota
	// asBoolean is for where a boolean is wanted: yes and on are true.
	asBoolean
	// asManifest is for what goes into a manifest: as package manifest and
	// kubectl read it, in YAML 1.1.
	asManifest
)

// oldBooleans are those of YAML 1.1, which TOSCA 1.x was written with.
var oldBooleans = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

// scalar returns the value of a scalar: string, int64, float64, bool or nil. A
// number whose value is an integer is an int64, however it is written.
func scalar(n *yaml.Node, as reading) (any, error) {
	style := n.Style &^ yaml.TaggedStyle
	tagged := n.Style&yaml.TaggedStyle != 0
	switch {
	case tagged:
		return taggedScalar(n, as)
	case style != 0:
		return n.Value, nil
	default:
		return plain(n.ShortTag(), n.Value, as)
	}
}

func plain(tag, text string, as reading) (any, error) {
	switch tag {
	case tagNull:
		return nil, nil
	case tagBool:
		return strings.EqualFold(text, "true"), nil
	case tagInt:
		return manifest.Integer(text)
	case tagFloat:
		return manifest.Float(text)
	}
	if as != asTosca {
		if value, ok := oldBooleans[text]; ok {
			return value, nil
		}
	}
	return text, nil
}

// taggedScalar takes a tag that the author wrote. The guard has refused those
// that are not of YAML.
func taggedScalar(n *yaml.Node, as reading) (any, error) {
	if n.Tag == tagStr || n.Tag == tagTimestamp {
		return n.Value, nil
	}
	untagged := yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}
	value, err := plain(untagged.ShortTag(), n.Value, as)
	if err != nil {
		return nil, err
	}
	fits := false
	switch value.(type) {
	case nil:
		fits = n.Tag == tagNull
	case bool:
		fits = n.Tag == tagBool
	case int64:
		fits = n.Tag == tagInt || n.Tag == tagFloat
	case float64:
		fits = n.Tag == tagFloat
	}
	if !fits {
		return nil, errTagFormat
	}
	return value, nil
}
