package manifest

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// RawText compares JSON text with values, which is much cheaper than decoding it. The text must have the format of
// encoding/json: no spaces, and fields in ascending order. Other texts never match. After a method has returned false,
// the position has no meaning. Records in a status rarely change. Comparing their text with the values of the manifest
// avoids most of the decoding after a restart.
type RawText struct {
	rest []byte
}

// NewRawText returns a RawText at the start of the text.
func NewRawText(text []byte) *RawText { return &RawText{text} }

// IsDone reports whether the entire text was compared.
func (w *RawText) IsDone() bool { return len(w.rest) == 0 }

// IsTextOf reports whether the text encodes the value, so that DecodeJSON returns an equal value. It returns false for
// fractions. A false result does not mean that the values differ: the caller then decodes the text.
func IsTextOf(text []byte, value any) bool {
	w := NewRawText(text)
	return w.SkipValue(value) && w.IsDone()
}

// SkipValue reports whether the value is next, and skips it.
func (w *RawText) SkipValue(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return w.SkipObject(len(value), func(name []byte) bool {
			child, has := value[string(name)]
			return has && w.SkipValue(child)
		})
	case []any:
		return w.SkipList(len(value), func(i int) bool { return w.SkipValue(value[i]) })
	case string:
		return w.SkipString(value)
	case bool:
		return w.skip(strconv.FormatBool(value))
	case int64:
		var digits [20]byte
		text := strconv.AppendInt(digits[:0], value, 10)
		return w.skip(string(text)) && (len(w.rest) == 0 || bytes.IndexByte([]byte(",]}"), w.rest[0]) >= 0)
	}
	return false
}

// SkipString reports whether the string is next, and skips it.
func (w *RawText) SkipString(value string) bool {
	text, ok := w.text()
	return ok && string(text) == value
}

// SkipObject reports whether an object with that number of fields is next, and is returns true for each of them. It
// skips the object. is must skip the value of the field. name is valid only during the call.
func (w *RawText) SkipObject(fields int, is func(name []byte) bool) bool {
	if !w.skip("{") {
		return false
	}
	// Ascending names cannot repeat, so each name matches another field.
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

// SkipList reports whether a list with that number of elements is next, and is returns true for each of
// them. It skips the list.
func (w *RawText) SkipList(elements int, is func(i int) bool) bool {
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

// skip reports whether the text is next, and skips it.
func (w *RawText) skip(text string) bool {
	if len(w.rest) < len(text) || string(w.rest[:len(text)]) != text {
		return false
	}
	w.rest = w.rest[len(text):]
	return true
}

// text reads a string, and returns it without quotes and escapes.
func (w *RawText) text() ([]byte, bool) {
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

// unquoted returns the content of a JSON string. Without escapes, the result is a part of quoted.
func unquoted(quoted []byte, escaped bool) ([]byte, bool) {
	if !escaped {
		return quoted[1 : len(quoted)-1], true
	}
	var text string
	err := json.Unmarshal(quoted, &text)
	return []byte(text), err == nil
}
