package observer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/pkg/manifest"
)

// ParsePath parses a path in the syntax of Path.String: spec.ports[port=80,protocol=TCP].targetPort, spec.args[0],
// metadata.labels['app.kubernetes.io/name']. String returns the canonical form of the result. Its elements have no live
// index. "" is the root. The running time is linear, but the number of elements is not limited: use it for text of at
// most a few kilobytes.
func ParsePath(text string) (*Path, error) {
	var path *Path
	for rest := text; rest != ""; {
		var err error
		if path, rest, err = parseStep(path, rest); err != nil {
			return nil, fmt.Errorf("the path %s: %w", strconv.Quote(text), err)
		}
	}
	return path, nil
}

// parseStep reads one path element and returns the rest of the string. text is not empty.
func parseStep(parent *Path, text string) (*Path, string, error) {
	switch {
	case strings.HasPrefix(text, "['"):
		name, rest, err := quotedField(text[2:])
		return parent.Field(name), rest, err
	case text[0] == '[':
		name, rest, err := parseElement(text[1:])
		return parent.Element(name.label(), -1), rest, err
	}
	name, rest, err := plainField(text, parent == nil, "as ['…']")
	return parent.Field(name), rest, err
}

// plainField reads a key without brackets, with a dot before it unless it is first, and returns the rest of the string.
// quoted is the notation of other keys, for the error. So a key can have other characters than letters and digits,
// except for dots, brackets and single quotes.
func plainField(text string, first bool, quoted string) (name, rest string, err error) {
	if !first {
		var ok bool
		if text, ok = strings.CutPrefix(text, "."); !ok {
			return "", "", fmt.Errorf("a dot is missing before %s", strconv.Quote(text))
		}
	}
	end := strings.IndexAny(text+".", ".[]'")
	if end == 0 || strings.ContainsAny(text[end:min(end+1, len(text))], "]'") {
		return "", "", fmt.Errorf("no field at %s: write a key with other characters than letters and digits %s", strconv.Quote(text), quoted)
	}
	return text[:end], text[end:], nil
}

// quotedField reads key'] and returns the rest of the string. A backslash makes the next character literal. A quote
// ends the key only before a bracket.
func quotedField(text string) (name, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == '\'' && strings.HasPrefix(text[i:], "']"):
			return b.String(), text[i+2:], nil
		default:
			b.WriteByte(c)
		}
	}
	return "", "", fmt.Errorf("['%s is not closed by ']", text)
}

// elementName is the readable name of a list element, as brackets in a path contain it. Exactly one of position and
// keys has a meaning: keys is nil for a position.
type elementName struct {
	// position is the index of an element without keys.
	position int
	// keys identify the element. A key without a name is the value of the element itself.
	keys []elementKey
	// nth distinguishes elements with the same keys: 2 is the second of them. 0 and 1 are not written.
	nth int
	// isWhole is true for an element of a set: keys are all its fields that are not empty.
	isWhole bool
}

// wholeKeys returns the fields of an element of a set that are not empty, because the API server can omit the others.
func wholeKeys(m map[string]any) (keys []elementKey) {
	for _, name := range sortedKeys(m) {
		if !Empty(m[name]) {
			keys = append(keys, elementKey{name: name, value: m[name]})
		}
	}
	return keys
}

// elementKey is a key of a list element with its value. An omitted key has its default as value.
type elementKey struct {
	name  string
	value any
	// pattern is the value if it is not in quotes and contains *, which matches any string in a FieldPath.
	pattern string
}

// label returns the name with its brackets. parseElement reverses it, except for values that are not scalars outside
// of a set.
func (n elementName) label() string {
	if len(n.keys) == 0 && !n.isWhole {
		return positionLabel(n.position)
	}
	parts := make([]string, len(n.keys), len(n.keys)+1)
	for i, key := range n.keys {
		text := scalarText(key.value)
		// Braces delimit the element of a set, so a string with braces is quoted.
		if n.isWhole && strings.ContainsAny(text, "{}") && !isContainer(key.value) && text[0] != '"' {
			text = keyName(text)
		}
		parts[i] = keyName(key.name) + "=" + text
	}
	if n.isWhole {
		parts = []string{"{" + strings.Join(parts, ",") + "}"}
	}
	if n.nth > 1 {
		parts = append(parts, "#"+strconv.Itoa(n.nth))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// parseElement reads port=80,protocol=TCP] or, for an element of a set, {kind=User,name=a}]. It returns the rest of
// the string.
func parseElement(text string) (elementName, string, error) {
	var n elementName
	// A number without a sign is a position. The key of a set element that is a number has an equals sign: [=80].
	if number, after, closed := strings.Cut(text, "]"); closed {
		if position, err := strconv.ParseUint(number, 10, 31); err == nil {
			return elementName{position: int(position)}, after, nil
		}
	}
	rest, closing := text, "]"
	if n.isWhole = strings.HasPrefix(text, "{"); n.isWhole {
		rest, closing = text[1:], "}"
	}
	for more := !strings.HasPrefix(rest, "}"); more; {
		key, after, err := parseKey(rest, closing, text)
		if err != nil {
			return n, "", err
		}
		n.keys = append(n.keys, key)
		// #2 follows the last key. The comma before it must remain in rest.
		if rest, more = strings.CutPrefix(after, ","); !n.isWhole && strings.HasPrefix(rest, "#") {
			rest, more = after, false
		}
	}
	if n.isWhole {
		rest = strings.TrimPrefix(rest, "}")
	}
	if after, ok := strings.CutPrefix(rest, ",#"); ok {
		number, after, closed := strings.Cut(after, "]")
		nth, err := strconv.Atoi(number)
		if err != nil || nth < 2 || !closed {
			return n, "", fmt.Errorf("[%s: #%s must be #2 or more", text, number)
		}
		n.nth = nth
		return n, after, nil
	}
	if !strings.HasPrefix(rest, "]") {
		return n, "", fmt.Errorf("[%s is not closed by ]", text)
	}
	return n, rest[1:], nil
}

// parseKey reads port=80 up to a comma or the closing bracket, with which the rest of the string begins.
func parseKey(text, closing, element string) (key elementKey, rest string, err error) {
	var ok bool
	if key.name, rest, ok = scan(text, "="); !ok {
		return key, "", fmt.Errorf("[%s: write an element as [0], [name=web] or [=value]", element)
	}
	raw, ends := rest[1:], ","+closing
	if closing == "}" && raw != "" && strings.ContainsRune("{[", rune(raw[0])) {
		if key.value, rest, ok = scanJSON(raw); !ok || rest == "" || !strings.ContainsRune(ends, rune(rest[0])) {
			return key, "", fmt.Errorf("[%s: %s is not a map or list in JSON", element, raw)
		}
		return key, rest, nil
	}
	if _, rest, ok = scan(raw, ends); !ok {
		return key, "", fmt.Errorf("[%s is not closed by ]", element)
	}
	return valueKey(key.name, raw[:len(raw)-len(rest)]), rest, nil
}

// scanJSON reads a map or a list in JSON, and returns the rest of the string.
func scanJSON(text string) (value any, rest string, ok bool) {
	var raw json.RawMessage
	decoder := json.NewDecoder(strings.NewReader(text))
	if decoder.Decode(&raw) != nil || utiljson.Unmarshal(raw, &value) != nil {
		return nil, "", false
	}
	return value, text[decoder.InputOffset():], true
}

// scan reads a name or a value, with or without double quotes, up to one of the ends. rest begins with the
// end.
func scan(text, ends string) (name, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		i := strings.IndexAny(text, ends)
		return text[:max(i, 0)], text[max(i, 0):], i >= 0
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil || json.Unmarshal([]byte(quoted), &name) != nil {
		return "", "", false
	}
	rest = text[len(quoted):]
	return name, rest, rest != "" && strings.ContainsRune(ends, rune(rest[0]))
}

// valueKey returns a key with the value in a text.
func valueKey(name, text string) elementKey {
	key := elementKey{name: name, value: scalarOf(text)}
	if key.value == text && strings.Contains(text, "*") {
		key.pattern = text
	}
	return key
}

// scalarOf reverses scalarText.
//
//	web      "web"          80       int64(80)
//	"80"     "80"           true     true
//	1.5      float64(1.5)   null     nil
func scalarOf(text string) any {
	if v, ok := otherScalar(text); ok {
		return v
	}
	var s string
	if json.Unmarshal([]byte(text), &s) == nil {
		return s
	}
	return text
}

// otherScalar returns the number, the boolean or the null that a string represents. A number must be in the form that
// FormatInt or JSON writes, so 007 and +1 are strings.
func otherScalar(text string) (any, bool) {
	switch text {
	case "true", "false":
		return text == "true", true
	case "null":
		return nil, true
	}
	if text == "" || !strings.ContainsRune("-0123456789", rune(text[0])) {
		return nil, false
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(i, 10) == text {
		return i, true
	}
	var f float64
	if json.Unmarshal([]byte(text), &f) != nil {
		return nil, false
	}
	return f, true
}

// positionLabel returns the name of an element that only its position identifies, such as [0].
func positionLabel(i int) string { return "[" + strconv.Itoa(i) + "]" }

// keyName returns a key in the syntax of a path. It quotes a key with other characters than a plain name.
func keyName(name string) string {
	if name == "" || manifest.IsPlain(name) {
		return name
	}
	text, _ := json.Marshal(name)
	return string(text)
}

// scalarText returns a scalar in the syntax of a path. It quotes a string only if it could be read as
// something else, such as a pattern.
func scalarText(v any) string {
	if s, ok := v.(string); ok && !strings.ContainsAny(s, `[],='"*`) {
		if _, other := otherScalar(s); !other {
			return s
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(text)
}

// Compare compares a path with a path that a user typed, which can omit list elements, or name them by some
// of their keys. below is true if p equals the typed path or is below it; above is true if p is above it.
//
//	p                                 typed                          below    above
//	spec.containers[name=web].image   spec.containers.image          true     false
//	spec.containers[name=web].image   spec.containers[name=web]      true     false
//	spec                              spec.replicas                  false    true
//	spec.paused                       spec.replicas                  false    false
func (p *Path) Compare(typed *Path) (below, above bool) {
	own, other := p.Chain(), typed.Chain()
	for len(own) > 0 && len(other) > 0 {
		switch a, b := own[0], other[0]; {
		case sameStep(a, b):
			own, other = own[1:], other[1:]
		case a.IsElement() && !b.IsElement():
			own = own[1:]
		default:
			return false, false
		}
	}
	return len(other) == 0, len(own) == 0 && len(other) > 0
}

// sameStep reports whether a typed path element matches an element of a canonical path.
func sameStep(canonical, typed *Path) bool {
	if canonical.IsElement() != typed.IsElement() || !canonical.IsElement() {
		return canonical.IsElement() == typed.IsElement() && canonical.field == typed.field
	}
	if canonical.label == typed.label {
		return true
	}
	is, _, err := parseElement(canonical.label[1:])
	want, _, wrong := parseElement(typed.label[1:])
	if err != nil || wrong != nil || len(want.keys) == 0 || want.nth != 0 {
		return false
	}
	for _, key := range want.keys {
		if !slices.ContainsFunc(is.keys, func(k elementKey) bool { return k.name == key.name && Equal(k.value, key.value) }) {
			return false
		}
	}
	return true
}

// Position returns the index in the last path element, as it is written in the path. It returns false if the element
// has another name.
func (p *Path) Position() (int, bool) {
	if !p.IsElement() {
		return 0, false
	}
	name, _, err := parseElement(p.label[1:])
	return name.position, err == nil && len(name.keys) == 0
}
