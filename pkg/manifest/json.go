package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// DecodeJSON decodes one JSON object like the Kubernetes libraries: integers become int64, other numbers float64, and
// nulls are kept. Duplicate keys are no error: the last one is kept. Use it only for JSON that an API server has
// accepted; input from users needs Read.
func DecodeJSON(raw []byte) (map[string]any, error) {
	var decoded any
	if err := kjson.Unmarshal(raw, &decoded); err != nil {
		return nil, fmt.Errorf("decode manifest: %w", err)
	}
	value, isMap := decoded.(map[string]any)
	if !isMap {
		return nil, errors.New("decode manifest: must be a JSON object, not " + Describe(decoded))
	}
	return value, nil
}

// SameJSON reports whether two JSON texts have the same value, regardless of key order and without loss of precision of
// integers. Invalid JSON equals only itself. 1 and 1.0 are different for it: one is an int64, the other a float64.
func SameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return kjson.Unmarshal(a, &x) == nil && kjson.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// parseJSON parses concatenated JSON documents to the nodes of the YAML parser, so that one converter handles both.
// After an error, it returns no documents. A stream such as {…}{…} has several documents, as in the output of kubectl
// and jq. Duplicate keys are found by the converter, because encoding/json keeps only the last.
func parseJSON(text []byte) ([]*yaml.Node, *Error) {
	p := jsonParser{tokens: json.NewDecoder(bytes.NewReader(text)), at: newCursor(text)}
	p.tokens.UseNumber()
	for {
		p.skipToToken()
		token, err := p.tokens.Token()
		if errors.Is(err, io.EOF) && len(p.open) == 0 {
			return p.roots, nil
		}
		if err != nil {
			return nil, p.fault(err)
		}
		p.take(token)
		// The limit is checked before the conversion, because the decoder itself allows much deeper input.
		if len(p.open) > maxDepth {
			return nil, &Error{Line: p.at.line, Column: p.at.column, Message: tooDeep}
		}
	}
}

// jsonParser builds nodes from the tokens of encoding/json, which does not report lines and columns.
type jsonParser struct {
	tokens *json.Decoder
	// at is the position of the token that is being read.
	at *cursor
	// roots are the documents so far.
	roots []*yaml.Node
	// open is the stack of the maps and lists that are not closed yet.
	open []*yaml.Node
}

// skipToToken moves the cursor to the next token.
func (p *jsonParser) skipToToken() {
	offset := int(p.tokens.InputOffset())
	for offset < len(p.at.text) && strings.IndexByte(" \t\r\n,:", p.at.text[offset]) >= 0 {
		offset++
	}
	p.at.moveTo(offset)
}

// take adds a token to the tree. The decoder has checked that the brackets match. Keys and values alternate in the
// content of a map, as in the YAML library. A key of a map is a string token like any other, and becomes the node
// before its value.
func (p *jsonParser) take(token json.Token) {
	if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
		p.open = p.open[:len(p.open)-1]
		return
	}
	node := jsonNode(token)
	node.Line, node.Column = p.at.line, p.at.column
	if len(p.open) == 0 {
		p.roots = append(p.roots, node)
	} else {
		parent := p.open[len(p.open)-1]
		parent.Content = append(parent.Content, node)
	}
	if node.Kind != yaml.ScalarNode {
		p.open = append(p.open, node)
	}
}

// jsonNode returns the node of a token, with a tag and a style that make the converter keep its JSON type. Without the
// tag and style, the string "yes" would become a boolean.
func jsonNode(token json.Token) *yaml.Node {
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return &yaml.Node{Kind: yaml.MappingNode, Tag: TagMap}
		}
		return &yaml.Node{Kind: yaml.SequenceNode, Tag: TagSeq}
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: TagStr, Style: yaml.DoubleQuotedStyle, Value: token}
	case json.Number:
		tag := TagInt
		if strings.ContainsAny(token.String(), ".eE") {
			tag = TagFloat
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: token.String()}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: TagBool, Value: strconv.FormatBool(token)}
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: TagNull, Value: "null"}
	}
}

// fault returns a syntax error at the current position.
func (p *jsonParser) fault(err error) *Error {
	message := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		message = "the document ends before it is complete"
	}
	p.skipToToken()
	return &Error{Line: p.at.line, Column: p.at.column, Message: message}
}
