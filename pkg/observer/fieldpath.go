package observer

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/kinds"
)

// maxFieldPath limits the length of a path that a user writes.
const maxFieldPath = 4096

// FieldPath matches fields of resources. Users write it in the syntax of Path.String, with wildcards: * matches any
// string, except in quotes. For a map, brackets contain a key. For a list, they contain an element: its keys, its value,
// its position, or * for all. The manifest, or the kind, determines whether brackets
// refer to a map or a list. A FieldPath is never changed, and can be used for many resources at the same time.
type FieldPath struct {
	// text is the path as the user wrote it. Messages contain it.
	text string
	// steps is never empty.
	steps []pathStep
}

// pathStep is one path element: the name of a field, or the content of brackets. Exactly one of both is set. An empty
// key in quotes has neither, and is the literal key "".
type pathStep struct {
	name    string // a literal key
	bracket string // "" for a name; can be a pattern of keys, or match list elements
}

// AllFields is the path of all fields that a manifest sets.
const AllFields = "*"

// ParseFieldPath parses a path. Its running time is linear in the length of the string.
//
//	spec.replicas                        two names
//	.spec.replicas                       the same
//	metadata.labels['a.b/c']             a literal key
//	metadata.annotations[*.cattle.io/*]  a pattern of keys
//	spec.ports[port=80].targetPort       an element by its key
//	spec.containers[name=istio-*]        elements by a pattern of their key
//	spec.args[*]                         all elements
//	*                                    AllFields
func ParseFieldPath(text string) (*FieldPath, error) {
	if len(text) > maxFieldPath {
		return nil, fmt.Errorf("a path may have at most %d characters, not %d", maxFieldPath, len(text))
	}
	p := &FieldPath{text: text}
	if text == AllFields {
		p.steps = []pathStep{{bracket: AllFields}}
		return p, nil
	}
	for rest := strings.TrimPrefix(text, "."); rest != ""; {
		step, after, err := fieldStep(rest, len(p.steps) == 0)
		if err != nil {
			return nil, fmt.Errorf("the path %s: %w", strconv.Quote(text), err)
		}
		p.steps, rest = append(p.steps, step), after
	}
	switch {
	case len(p.steps) == 0:
		return nil, errors.New("a path is empty: write a field, such as spec.replicas")
	case len(p.steps) > maxDepth:
		return nil, fmt.Errorf("a path may have at most %d elements", maxDepth)
	}
	return p, nil
}

// fieldStep reads one path element and returns the rest of the string.
func fieldStep(text string, first bool) (pathStep, string, error) {
	switch {
	case strings.HasPrefix(text, "['"):
		name, rest, err := quotedField(text[2:])
		return pathStep{name: name}, rest, err
	case text[0] == '[':
		return bracketStep(text[1:])
	}
	name, rest, err := plainField(text, first, "in brackets")
	if strings.Contains(name, "*") {
		err = fmt.Errorf("write %s in brackets: [%[1]s]", name)
	}
	return pathStep{name: name}, rest, err
}

// bracketStep reads the content of brackets up to the closing one. It ignores brackets in double quotes.
func bracketStep(text string) (pathStep, string, error) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			quoted, err := strconv.QuotedPrefix(text[i:])
			if err != nil {
				return pathStep{}, "", fmt.Errorf("[%s: a quote is not closed", text)
			}
			i += len(quoted) - 1
		case ']':
			if i == 0 {
				return pathStep{}, "", errors.New("[] contains neither a key nor an element")
			}
			// A key in double quotes is literal, even if it contains *.
			var key string
			if text[0] == '"' && json.Unmarshal([]byte(text[:i]), &key) == nil {
				return pathStep{name: key}, text[i+1:], nil
			}
			return pathStep{bracket: text[:i]}, text[i+1:], nil
		}
	}
	return pathStep{}, "", fmt.Errorf("[%s is not closed by ]", text)
}

// String returns the path as the user wrote it.
func (p *FieldPath) String() string { return p.text }

// CheckNames returns an error for the first path element that objects of a kind are known not to have, and how many
// elements are before it. A nil kind is unknown, and has any fields. Without an error, it returns the number of path
// elements. A HoldProfile has no manifest, so its paths are checked with the published schemas of its kinds.
func (p *FieldPath) CheckNames(kind *kinds.Node) (depth int, err error) {
	for i, step := range p.steps {
		switch isList := kind != nil && kind.List != ""; {
		case isList && !step.isElement():
			return i, fmt.Errorf("%s is a list: write %[1]s[*]", stepsText(p.steps[:i]))
		case !isList && !step.isPattern() && kind.Forbids(step.key()):
			var known []string
			for name := range kind.Fields() {
				known = append(known, name)
			}
			return i, fmt.Errorf("no field %s%s", stepsText(p.steps[:i+1]), suggest.DidYouMean(step.key(), known))
		}
		kind = step.below(kind)
	}
	return len(p.steps), nil
}

// DefaultFor returns the value that the API server sets if the field is absent in an object of the kind. It returns
// false if the schema of the kind does not define it. An unquoted key in brackets at the end has no default. `holdfast
// diff` and `explain` show it for an absent field.
func (p *FieldPath) DefaultFor(kind *kinds.Node) (any, bool) {
	last := len(p.steps) - 1
	for _, step := range p.steps[:last] {
		kind = step.below(kind)
	}
	return kind.Default(p.steps[last].name)
}

// below returns the schema of the fields that the path element matches.
func (s pathStep) below(kind *kinds.Node) *kinds.Node {
	if kind != nil && kind.List != "" || s.isPattern() {
		return kind.Elem()
	}
	return kind.Field(s.key())
}

// stepsText returns path elements in the syntax of a path.
func stepsText(steps []pathStep) string {
	var text strings.Builder
	for _, step := range steps {
		text.WriteString(step.String())
	}
	return strings.TrimPrefix(text.String(), ".")
}

// isAll reports whether the path is AllFields.
func (p *FieldPath) isAll() bool {
	return p != nil && len(p.steps) == 1 && p.steps[0].bracket == AllFields
}

// wildcards returns the number of path elements with a wildcard.
func (p *FieldPath) wildcards() (n int) {
	for _, step := range p.steps {
		if step.isPattern() {
			n++
		}
	}
	return n
}

// isElement reports whether the path element refers to a list element, if neither the manifest nor the kind
// determines it.
func (s pathStep) isElement() bool { return s.bracket != "" }

// String returns the path element in the syntax of a path.
func (s pathStep) String() string {
	if s.bracket != "" {
		return "[" + s.bracket + "]"
	}
	return strings.TrimPrefix((*Path)(nil).Field("x").Field(s.name).String(), "x")
}

// matches reports whether the path element matches a key of a map.
func (s pathStep) matches(key string) bool {
	if s.bracket == "" {
		return key == s.name
	}
	return MatchesPattern(s.bracket, key)
}

// quotedText is a string in double quotes, in which * is literal.
var quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// isPattern reports whether the path element can match several keys or elements.
func (s pathStep) isPattern() bool {
	return strings.Contains(s.bracket, "*") && strings.Contains(quotedText.ReplaceAllString(s.bracket, ""), "*")
}

// key returns the key of a path element that is not a pattern.
func (s pathStep) key() string {
	if s.bracket != "" {
		return s.bracket
	}
	return s.name
}

// MatchesPattern reports whether a string matches a pattern, in which * matches any string. Its running
// time is linear in the length of both.
//
//	pattern     matches                     does not match
//	web         web                         webs
//	web-*       web-, web-1                 web
//	*.io/*      a.io/b, a.b.io/c/d          io/b
//	a*a         aa, aba                     a
//
// There is no escape: a name with * cannot be matched literally.
func MatchesPattern(pattern, text string) bool {
	first, rest, more := strings.Cut(pattern, "*")
	if !more {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	for ok {
		var part string
		if part, rest, more = strings.Cut(rest, "*"); !more {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if ok = at >= 0; ok {
			text = text[at+len(part):]
		}
	}
	return false
}
