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
func Estimate(text []byte) (size Size) {
	var isMap [MaxDepth + 2]bool
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[':
			if depth++; depth > size.Depth {
				size.Depth = depth
			}
			if depth > MaxDepth {
				return size
			}
			isMap[depth] = c == '{'
			empty := i+1 < len(text) && text[i+1] == c+2 // the closing character
			switch {
			case c == '{' && empty:
				size.Bytes += mapBytes
			case c == '{':
				size.Bytes += mapBytes + groupBytes
			default:
				size.Bytes += listBytes + elementBytes
				if depth == 1 && !empty {
					size.Elements = 1
				}
			}
		case '}', ']':
			depth = max(depth-1, 0)
		case ':':
			size.Bytes += keyBytes
		case ',':
			if !isMap[depth] {
				size.Bytes += elementBytes
				if depth == 1 {
					size.Elements++
				}
			}
		case '"':
			n := stringEnd(text[i+1:])
			size.Bytes += stringBytes + n
			i += 1 + n
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			size.Bytes += numberBytes
			for i+1 < len(text) && isNumber(text[i+1]) {
				i++
			}
		}
	}
	return size
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

func isNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == '+' || c == '-' || c == 'e' || c == 'E'
}

// Excess is the error for something that exceeds a limit.
type Excess struct {
	// Number is 0 if only the limit is known, because the rest was not read.
	Number, Limit int
	// Unit is what is counted, such as "elements".
	Unit string
}

// Error returns the number and the limit. The caller adds what it is about, and a verb.
func (e *Excess) Error() string {
	if e.Number == 0 {
		return fmt.Sprintf("more than the limit of %d %s", e.Limit, e.Unit)
	}
	return fmt.Sprintf("%d %s, more than the limit of %d", e.Number, e.Unit, e.Limit)
}
