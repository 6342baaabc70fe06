package manifest

import (
	"bytes"
	"unicode/utf8"
)

// cursor converts byte offsets to lines and columns. Both start at 1, and columns count characters. Offsets
// must not decrease, so that the text is scanned only once.
type cursor struct {
	text []byte
	// offset is in bytes, from the start of the text.
	offset int
	line   int
	column int
}

// newCursor returns a cursor at the start of a text.
func newCursor(text []byte) *cursor {
	return &cursor{text: text, line: 1, column: 1}
}

// moveTo moves the cursor forward to an offset in bytes.
func (c *cursor) moveTo(offset int) {
	passed := c.text[c.offset:offset]
	c.offset = offset
	if breaks := bytes.Count(passed, []byte("\n")); breaks > 0 {
		c.line += breaks
		c.column = 1
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	c.column += utf8.RuneCount(passed)
}

// faultAt returns an error at an offset in bytes. It scans the text from the beginning, so call it only once for a
// text.
func faultAt(text []byte, offset int, message string) *Error {
	c := newCursor(text)
	c.moveTo(offset)
	return &Error{Line: c.line, Column: c.column, Message: message}
}

// lineStart returns the offset of an existing line. Lines start at 1.
func lineStart(text []byte, line int) int {
	offset := 0
	for ; line > 1; line-- {
		offset += bytes.IndexByte(text[offset:], '\n') + 1
	}
	return offset
}
