package manifest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// plainJSON reads JSON as API servers write it, in one pass: the library looks at each byte
// twice, through functions. What is not plain (fractions, whatever is wrong or too deep) is
// left to the library, which says what it is: then nothing is read here.
type plainJSON struct {
	text []byte
	deep int
}

// deepest is how deep maps and lists may be.
const deepest = 200

// decodePlain is the value of a text; false if it is not plain.
func decodePlain(text []byte) (any, bool) {
	p := &plainJSON{text: text}
	value, ok := p.value()
	p.next()
	return value, ok && len(p.text) == 0
}

// next is the byte that comes next, without spaces; 0 at the end.
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

// skip reports whether that byte comes next, and goes behind it.
func (p *plainJSON) skip(c byte) bool {
	if p.next() != c || len(p.text) == 0 {
		return false
	}
	p.text = p.text[1:]
	return true
}

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

func (p *plainJSON) word(word string) bool {
	rest, ok := bytes.CutPrefix(p.text, []byte(word))
	p.text = rest
	return ok
}

func (p *plainJSON) mapping() (any, bool) {
	p.deep++
	defer func() { p.deep-- }()
	m := map[string]any{}
	p.skip('{')
	for first := true; !p.skip('}'); first = false {
		if p.deep > deepest || !first && !p.skip(',') || p.next() != '"' {
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

func (p *plainJSON) list() (any, bool) {
	p.deep++
	defer func() { p.deep-- }()
	l := []any{}
	p.skip('[')
	for first := true; !p.skip(']'); first = false {
		if p.deep > deepest || !first && !p.skip(',') {
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

// string reads a string, the quotes of which come next.
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

// escaped reads a string in which something is escaped.
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

// integer reads a whole number.
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
