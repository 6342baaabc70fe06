package manifest

import (
	"fmt"
	"strconv"
	"strings"
)

// Path is the path from the root of a document to a field: a string for a map key, an int for a list index.
type Path []any

// Messages must be readable even for hostile documents, so long keys and long paths are shortened.
const (
	maxPrintedKey  = 80
	maxPrintedPath = 24
)

// String returns the path in the format of observer.Path, for example spec.ports[0].name. Keys that are not
// plain are quoted: metadata.labels['app.kubernetes.io/name'].
//
//	[spec ports 0 name]                          spec.ports[0].name
//	[metadata labels app.kubernetes.io/name]     metadata.labels['app.kubernetes.io/name']
//	30 elements                                  the first and last twelve, with … between them
func (p Path) String() string {
	if len(p) > maxPrintedPath {
		half := maxPrintedPath / 2
		return p[:half].String() + "…" + p[len(p)-half:].String()
	}
	var text strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&text, "[%d]", step)
		case string:
			writeKey(&text, step)
		default:
			fmt.Fprintf(&text, "[%v]", step)
		}
	}
	return text.String()
}

// writeKey appends a key with the syntax that its place requires: after a dot, or in brackets and quotes.
func writeKey(text *strings.Builder, key string) {
	switch {
	case len(key) > maxPrintedKey:
		text.WriteString("['" + escapeKey(strings.ToValidUTF8(key[:maxPrintedKey], "")) + "'…]")
		return
	case !IsPlain(key):
		text.WriteString("['" + escapeKey(key) + "']")
		return
	}
	if text.Len() > 0 {
		text.WriteByte('.')
	}
	text.WriteString(key)
}

// escapeKey escapes a key for use in single quotes. Invisible characters are escaped, too. it's becomes it\'s, a
// newline \n, and a character of another script is unchanged.
func escapeKey(key string) string {
	escaped := strconv.Quote(key)
	return unescaped.Replace(escaped[1 : len(escaped)-1])
}

// unescaped adapts the escapes of double quotes to single quotes.
var unescaped = strings.NewReplacer(`\\`, `\\`, `\"`, `"`, `'`, `\'`)

// IsPlain reports whether a key needs no quotes in a path: it has only ASCII letters, digits, _, - and $.
func IsPlain(key string) bool {
	if key == "" {
		return false
	}
	for i := range len(key) {
		c := key[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '$':
		default:
			return false
		}
	}
	return true
}

// QuoteKey quotes a key for a message and truncates a long one. The result is one line of printable characters, also
// for a hostile key.
func QuoteKey(key string) string {
	if len(key) > maxPrintedKey {
		return strconv.Quote(strings.ToValidUTF8(key[:maxPrintedKey], "")) + "…"
	}
	return strconv.Quote(key)
}

// with returns a copy with more elements. The receiver is often a stack that changes afterwards.
func (p Path) with(steps ...any) Path {
	return append(append(make(Path, 0, len(p)+len(steps)), p...), steps...)
}
