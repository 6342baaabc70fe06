package manifest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// plainJSON decodes JSON as API servers write it in one pass; encoding/json scans each byte twice. It gives up on
// everything else (fractions, invalid or deeply nested input), and the caller uses encoding/json, which also returns
// the error. The controller decodes every object of every watch event, so decoding is most of its work. A test compares
// the results with those of encoding/json.
type plainJSON struct {
	// text is the rest of the input, and deep the number of maps and lists around it.
	text []byte
	deep int
}

// maxPlainDepth is the maximum depth of maps and lists.
const maxPlainDepth = 200

// decodePlain decodes a text. It returns false if the text is not plain.
func decodePlain(text []byte) (any, bool) {
	p := &plainJSON{text: text}
	value, ok := p.value()
	p.next()
	return value, ok && len(p.text) == 0
}

// next returns the next byte that is not a space, or 0 at the end.
func (p *plainJSON) next() byte {
	for i, c := range p.text {
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			p.text = p.text[i:]
			return c
		}
	}
	p.text = nil
	return 0
}

// skip consumes the byte if it is the next one, and reports whether it was.
func (p *plainJSON) skip(c byte) bool {
	if p.next() != c || len(p.text) == 0 {
		return false
	}
	p.text = p.text[1:]
	return true
}

// value decodes any value. After false, the position has no meaning, and the caller must give up.
func (p *plainJSON) value() (any, bool) {
	switch p.next() {
	case '{':
		return p.mapping()
	case '[':
		return p.list()
	case '"':
		return p.string()
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	}
	return p.integer()
}

// word skips a literal, and reports whether it was next.
func (p *plainJSON) word(word string) bool {
	rest, ok := bytes.CutPrefix(p.text, []byte(word))
	p.text = rest
	return ok
}

// mapping decodes a map. If a key occurs several times, the last value is kept, as in encoding/json.
func (p *plainJSON) mapping() (any, bool) {
	p.deep++
	defer func() { p.deep-- }()
	m := map[string]any{}
	p.skip('{')
	for first := true; !p.skip('}'); first = false {
		if p.deep > maxPlainDepth || !first && !p.skip(',') || p.next() != '"' {
			return nil, false
		}
		name, ok := p.string()
		if !ok || !p.skip(':') {
			return nil, false
		}
		if m[name], ok = p.value(); !ok {
			return nil, false
		}
	}
	return m, true
}

// list decodes a list. An empty list is not nil, as in encoding/json.
func (p *plainJSON) list() (any, bool) {
	p.deep++
	defer func() { p.deep-- }()
	l := []any{}
	p.skip('[')
	for first := true; !p.skip(']'); first = false {
		if p.deep > maxPlainDepth || !first && !p.skip(',') {
			return nil, false
		}
		value, ok := p.value()
		if !ok {
			return nil, false
		}
		l = append(l, value)
	}
	return l, true
}

// string decodes a string. The next byte is its opening quote. Text that is not UTF-8 is left to encoding/json, which
// replaces the bytes.
func (p *plainJSON) string() (string, bool) {
	for i := 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			plain := p.text[1:i]
			p.text = p.text[i+1:]
			return string(plain), utf8.Valid(plain)
		case c == '\\':
			return p.escaped()
		case c < ' ':
			return "", false
		}
	}
	return "", false
}

// escaped decodes a string with escape sequences.
func (p *plainJSON) escaped() (text string, ok bool) {
	for i := 1; i < len(p.text); i++ {
		switch p.text[i] {
		case '\\':
			i++
		case '"':
			ok = json.Unmarshal(p.text[:i+1], &text) == nil
			p.text = p.text[i+1:]
			return text, ok
		}
	}
	return "", false
}

// integer decodes an integer. It returns false for a number with a fraction or an exponent, and for one that does not
// fit in 64 bits. -0 is the integer 0, and 007 is left to encoding/json, which rejects it.
func (p *plainJSON) integer() (any, bool) {
	end := 0
	for end < len(p.text) && (p.text[end] == '-' && end == 0 || '0' <= p.text[end] && p.text[end] <= '9') {
		end++
	}
	digits := bytes.TrimPrefix(p.text[:end], []byte("-"))
	if len(digits) == 0 || len(digits) > 1 && digits[0] == '0' {
		return nil, false
	}
	if end < len(p.text) && bytes.IndexByte([]byte(".eE"), p.text[end]) >= 0 {
		return nil, false
	}
	n, err := strconv.ParseInt(string(p.text[:end]), 10, 64)
	p.text = p.text[end:]
	return n, err == nil
}
