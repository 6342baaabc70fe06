// Package footprint estimates the memory of decoded JSON before it is decoded. Short JSON can take fifty times its length.
package footprint

import (
	"bytes"
	"fmt"
)

// MaxDepth is the number of nested maps and lists that is accepted.
const MaxDepth = 1000

// The memory that encoding/json allocates for a map[string]any, a []any, and their parts. A list of elements grows by
// doubling, so it has spare room.
const (
	mapBytes     = 48  // an empty map
	groupBytes   = 300 // the first eight keys of a map
	keyBytes     = 40
	listBytes    = 24
	elementBytes = 24
	stringBytes  = 16
	numberBytes  = 8
)

// Size is the result of a scan.
type Size struct {
	// Bytes is the estimated memory of the decoded text.
	Bytes int
	// Depth is the number of nested maps and lists, at most MaxDepth+1: the scan ends there.
	Depth int
	// Elements is the number of elements of the outermost list; 0 if the text is no list.
	Elements int
}

// Estimate scans JSON without an allocation. The JSON can be invalid: it is judged by the decoder.
func Estimate(text []byte) Size {
	var s scan
	for i := 0; i < len(text) && s.depth <= MaxDepth; i++ {
		switch text[i] {
		case '{', '[':
			s.open(text[i:])
		case '}', ']':
			s.depth = max(s.depth-1, 0)
		case ':':
			s.Bytes += keyBytes
		case ',':
			if !s.isMap[s.depth] {
				s.element()
			}
		case '"':
			n := stringEnd(text[i+1:])
			s.Bytes += stringBytes + n
			i += 1 + n
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			s.Bytes += numberBytes
			i += numberEnd(text[i+1:])
		}
	}
	return s.Size
}

// scan is the state of a scan: the number of open maps and lists, and which of them are maps.
type scan struct {
	Size

	depth int
	isMap [MaxDepth + 2]bool
}

// open begins the map or list at the start of a text.
func (s *scan) open(text []byte) {
	s.depth++
	s.Depth = max(s.Depth, s.depth)
	s.isMap[s.depth] = text[0] == '{'
	isEmpty := len(text) > 1 && text[1] == text[0]+2 // the closing character
	switch {
	case s.isMap[s.depth] && isEmpty:
		s.Bytes += mapBytes
	case s.isMap[s.depth]:
		s.Bytes += mapBytes + groupBytes
	case isEmpty:
		s.Bytes += listBytes
	default:
		s.Bytes += listBytes
		s.element()
	}
}

// element adds an element of the innermost list.
func (s *scan) element() {
	s.Bytes += elementBytes
	if s.depth == 1 {
		s.Elements++
	}
}

// stringEnd returns the length of a string up to its closing quotation mark, or to the end of the text.
func stringEnd(text []byte) int {
	for from := 0; ; {
		quote := bytes.IndexByte(text[from:], '"')
		if quote < 0 {
			return len(text)
		}
		end, escapes := from+quote, 0
		for escapes < quote && text[end-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
		from = end + 1
	}
}

// numberEnd returns the length of the rest of a number.
func numberEnd(text []byte) int {
	for i, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '+' && c != '-' && c != 'e' && c != 'E' {
			return i
		}
	}
	return len(text)
}

// Excess is the error for something that exceeds a limit.
type Excess struct {
	// Number is 0 if only the limit is known, because the rest was not read.
	Number, Limit int
	// Unit names the counted things, such as "elements".
	Unit string
}

// Error returns the number and the limit. The caller adds what it is about, and a verb.
func (e *Excess) Error() string {
	if e.Number == 0 {
		return fmt.Sprintf("more than the limit of %d %s", e.Limit, e.Unit)
	}
	return fmt.Sprintf("%d %s, more than the limit of %d", e.Number, e.Unit, e.Limit)
}
