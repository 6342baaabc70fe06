package manifest

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Written is JSON as encoding/json writes it, without spaces and with the fields of an object in
// ascending order. It is compared with what it may be the text of, from its beginning on: that
// is much less work than to decode it. Whatever else is written there is no text of anything.
type Written struct {
	rest []byte
}

// NewWritten begins to compare a text.
func NewWritten(text []byte) *Written { return &Written{text} }

// IsDone reports whether all of the text was compared.
func (w *Written) IsDone() bool { return len(w.rest) == 0 }

// IsWritten reports whether text is that of value, so that DecodeJSON makes an equal one of it.
// Of fractions it says no.
func IsWritten(text []byte, value any) bool {
	w := NewWritten(text)
	return w.Is(value) && w.IsDone()
}

// Is reports whether a value comes next, and goes behind it.
func (w *Written) Is(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return w.IsObject(len(value), func(name []byte) bool {
			child, has := value[string(name)]
			return has && w.Is(child)
		})
	case []any:
		return w.IsList(len(value), func(i int) bool { return w.Is(value[i]) })
	case string:
		return w.IsText(value)
	case bool:
		return w.skip(strconv.FormatBool(value))
	case int64:
		var digits [20]byte
		text := strconv.AppendInt(digits[:0], value, 10)
		return w.skip(string(text)) && (len(w.rest) == 0 || bytes.IndexByte([]byte(",]}"), w.rest[0]) >= 0)
	}
	return false
}

// IsText reports whether a string comes next.
func (w *Written) IsText(value string) bool {
	text, ok := w.text()
	return ok && string(text) == value
}

// IsObject reports whether an object of so many fields comes next, of each of which is says that
// it is as expected.
func (w *Written) IsObject(fields int, is func(name []byte) bool) bool {
	if !w.skip("{") {
		return false
	}
	var last []byte
	for i := range fields {
		if i > 0 && !w.skip(",") {
			return false
		}
		name, ok := w.text()
		if !ok || !w.skip(":") || (i > 0 && bytes.Compare(name, last) <= 0) || !is(name) {
			return false
		}
		last = name
	}
	return w.skip("}")
}

// IsList reports whether a list of so many elements comes next, of each of which is says that it
// is as expected.
func (w *Written) IsList(elements int, is func(i int) bool) bool {
	if !w.skip("[") {
		return false
	}
	for i := range elements {
		if i > 0 && !w.skip(",") || !is(i) {
			return false
		}
	}
	return w.skip("]")
}

func (w *Written) skip(text string) bool {
	if len(w.rest) < len(text) || string(w.rest[:len(text)]) != text {
		return false
	}
	w.rest = w.rest[len(text):]
	return true
}

// text reads a string.
func (w *Written) text() ([]byte, bool) {
	if len(w.rest) == 0 || w.rest[0] != '"' {
		return nil, false
	}
	end := 1
	for escaped := false; ; end++ {
		switch {
		case end == len(w.rest):
			return nil, false
		case w.rest[end] == '\\':
			escaped, end = true, end+1
			if end == len(w.rest) {
				return nil, false
			}
		case w.rest[end] == '"':
			quoted := w.rest[:end+1]
			w.rest = w.rest[end+1:]
			return unquoted(quoted, escaped)
		}
	}
}

func unquoted(quoted []byte, escaped bool) ([]byte, bool) {
	if !escaped {
		return quoted[1 : len(quoted)-1], true
	}
	var text string
	err := json.Unmarshal(quoted, &text)
	return []byte(text), err == nil
}
