package manifest

import (
	"fmt"
	"strconv"
	"strings"
)

// Path leads from the top of a document to a field: a string for a key of a
// map, an int for an index of a list.
type Path []any

// A message must stay readable whatever a hostile document is made of, so long
// keys and long paths are shortened when they are printed.
const (
	longestKey  = 80
	longestPath = 24
)

// String prints the path as observer.Path does, spec.ports[0].name; a key that is not plain
// is quoted: metadata.labels['app.kubernetes.io/name'].
func (p Path) String() string {
	if len(p) > longestPath {
		half := longestPath / 2
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

func writeKey(text *strings.Builder, key string) {
	switch {
	case len(key) > longestKey:
		text.WriteString("['" + inQuotes(strings.ToValidUTF8(key[:longestKey], "")) + "'…]")
		return
	case !IsPlain(key):
		text.WriteString("['" + inQuotes(key) + "']")
		return
	}
	if text.Len() > 0 {
		text.WriteByte('.')
	}
	text.WriteString(key)
}

// inQuotes escapes a key that stands in single quotes. What cannot be seen is shown.
func inQuotes(key string) string {
	escaped := strconv.Quote(key)
	return unescaped.Replace(escaped[1 : len(escaped)-1])
}

var unescaped = strings.NewReplacer(`\\`, `\\`, `\"`, `"`, `'`, `\'`)

// IsPlain reports whether a key reads well in a path without quotes.
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

// quoteKey quotes a key for a message and cuts it if it is too long for one.
func quoteKey(key string) string {
	if len(key) > longestKey {
		return strconv.Quote(strings.ToValidUTF8(key[:longestKey], "")) + "…"
	}
	return strconv.Quote(key)
}

// with returns a new path: p itself is often a stack that is about to change.
func (p Path) with(steps ...any) Path {
	return append(append(make(Path, 0, len(p)+len(steps)), p...), steps...)
}
