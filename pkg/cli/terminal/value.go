package terminal

import (
	"cmp"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// absent is printed in place of a field that does not exist. The string "(absent)" is printed in quotes.
const absent = "(absent)"

// Absent returns the text for a field that does not exist, with a remark. The remark can be empty.
//
//	Absent("")         (absent)
//	Absent("dropped")  (absent; dropped)
func Absent(remark string) string {
	if remark == "" {
		return absent
	}
	return "(absent; " + remark + ")"
}

// Inline returns a value as YAML on one line. It returns false if the value needs several lines; the text is then
// not for printing. The result is not escaped: see Visible.
//
//	"web"                      web
//	"1"                        "1"    (quoted, because it would be a number)
//	map with ports: [80]       {ports: [80]}
//	a string of several lines  false
//	an absent value            (absent)
//	a masked value             *** (desired)
func Inline(v delta.Value) (string, bool) {
	if !v.Set {
		return absent, true
	}
	text, isText := v.Any.(string)
	switch {
	case isText && strings.Contains(text, "\n"):
		return "", false
	case isMasked(text):
		return text, true
	}
	node := nodeOf(v.Any)
	node.Style |= yaml.FlowStyle
	if text == absent {
		node.Style = yaml.DoubleQuotedStyle
	}
	line := strings.TrimRight(encoded(node), "\n")
	return line, !strings.Contains(line, "\n")
}

// Block returns a value on lines of its own: a string of several lines unchanged, any other value as YAML. It
// returns "" for an absent value. The result has no line break at the end if the string has none; BlockLines shows
// that as a difference.
func Block(v delta.Value) string {
	if !v.Set {
		return ""
	}
	if text, isText := v.Any.(string); isText && (strings.Contains(text, "\n") || isMasked(text)) {
		return text
	}
	return encoded(nodeOf(v.Any))
}

// isMasked reports whether a string is the mask of a Secret value. The mask is printed without quotes, because it
// is no string of the object.
func isMasked(text string) bool {
	return text == manifest.Masked || strings.HasPrefix(text, manifest.Masked+" (")
}

// ObjectYAML returns an object as YAML with its keys in the usual order: first the fields that identify it,
// then the rest.
func ObjectYAML(object map[string]any) string { return encoded(nodeOf(object)) }

// PrintObjects prints objects like ObjectYAML, with --- between them.
func PrintObjects(w io.Writer, objects ...map[string]any) error {
	texts := make([]string, len(objects))
	for i, object := range objects {
		texts[i] = ObjectYAML(object)
	}
	return Write(w, []byte(strings.Join(texts, "---\n")))
}

// encoded returns a node like EncodeYAML.
func encoded(node *yaml.Node) string {
	text, err := EncodeYAML(node)
	if err != nil {
		return "?\n" // values from JSON or YAML can always be written
	}
	return string(text)
}

// nodeOf returns the YAML node of a JSON value, with the keys of maps in reading order. Without nodes, the library
// would sort all keys, and print apiVersion after other fields.
func nodeOf(value any) *yaml.Node {
	switch v := value.(type) {
	case map[string]any:
		node := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range readingOrder(v) {
			node.Content = append(node.Content, scalarOf(key), nodeOf(v[key]))
		}
		return node
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		for _, element := range v {
			node.Content = append(node.Content, nodeOf(element))
		}
		return node
	default:
		return scalarOf(v)
	}
}

// scalarOf returns the YAML node of a scalar, with quotes if it would otherwise have another type.
func scalarOf(value any) *yaml.Node {
	if text, isText := value.(string); isText && isPlain(text) {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	}
	node := &yaml.Node{}
	if node.Encode(value) != nil {
		node.SetString("?")
	}
	return node
}

// plainText matches strings that need no quotes in YAML, except the words in notPlain. The library can decide
// that for every string, but is slow.
var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9/_-]*$`)

// notPlain are the words that kubectl would read as booleans or null. In YAML 1.2, which other
// programs read, most of them are strings.
var notPlain = []string{"y", "yes", "n", "no", "on", "off", "true", "false", "null"}

// isPlain reports whether a string certainly needs no quotes.
func isPlain(text string) bool {
	return plainText.MatchString(text) && !slices.Contains(notPlain, strings.ToLower(text))
}

// first are the keys that precede all others, in this order. The others are sorted by name, and status is last.
var first = []string{"apiVersion", "kind", "metadata", "name", "namespace", "labels", "image", "command", "args",
	observer.KeyMinLength, observer.KeyMaxLength, observer.KeyMinimum, observer.KeyMaximum}

// readingOrder returns the keys of a map in the usual order of manifests.
//
//	{status, spec, kind, metadata, apiVersion}  apiVersion, kind, metadata, spec, status
//	{ports, name, image, env}                   name, image, env, ports
func readingOrder(m map[string]any) []string {
	keys := slices.Collect(maps.Keys(m))
	rank := func(key string) int {
		if at := slices.Index(first, key); at >= 0 {
			return at
		}
		if key == "status" {
			return len(first) + 1
		}
		return len(first)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	return keys
}
