package terminal

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// absent stands where a field is not there. The text "(absent)" is printed in
// quotes.
const absent = "(absent)"

// Inline writes a value as YAML on one line. It is false if the value has lines
// of its own.
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

// Block writes a value on lines of its own: a text as it is, anything else as
// YAML.
func Block(v delta.Value) string {
	if !v.Set {
		return ""
	}
	if text, isText := v.Any.(string); isText && (strings.Contains(text, "\n") || isMasked(text)) {
		return text
	}
	return encoded(nodeOf(v.Any))
}

// isMasked reports whether a text stands for a value of a Secret. It
// needs no quotes.
func isMasked(text string) bool {
	return text == manifest.Masked || strings.HasPrefix(text, manifest.Masked+" (")
}

// ObjectYAML writes an object as people do: what it is first, the rest after.
func ObjectYAML(object map[string]any) string { return encoded(nodeOf(object)) }

func encoded(node *yaml.Node) string {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if encoder.Encode(node) != nil || encoder.Close() != nil {
		return "?\n" // a value that came out of JSON or YAML can be written
	}
	return b.String()
}

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

// plainText is text that is the same in YAML, but for the words of notPlain. The
// library can tell of every text whether it needs quotes, and takes its time.
var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9/_-]*$`)

var notPlain = []string{"y", "yes", "n", "no", "on", "off", "true", "false", "null"}

func isPlain(text string) bool {
	return plainText.MatchString(text) && !slices.Contains(notPlain, strings.ToLower(text))
}

// first are the keys that come before all others, in this order.
var first = []string{"apiVersion", "kind", "metadata", "name", "namespace", "labels", "image", "command", "args",
	observer.KeyMinLength, observer.KeyMaxLength, observer.KeyMinimum, observer.KeyMaximum}

// readingOrder sorts keys as people write them; status is last.
func readingOrder(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
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
