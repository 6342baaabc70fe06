package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible escapes characters that would control a terminal, or would look like other characters: control
// characters, marks that change the direction of text, and unusual spaces. Invalid UTF-8 is escaped by byte. Line
// breaks and tabs are unchanged.
//
//	"\x1b[2Jweb"   \x1b[2Jweb   (would clear the screen)
//	"a\u202eb"     a\u202eb     (would print the rest from right to left)
//	"\xff"         \xff         (an invalid byte)
//	"Grüße 日本"    Grüße 日本
func Visible(text string) string {
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		// Range returns RuneError for an invalid byte, and for the character U+FFFD itself.
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hidden reports whether a character must be escaped. A replacement character counts, because it can stand for an
// invalid byte; Visible distinguishes them.
func hidden(r rune) bool {
	return r != '\n' && r != '\t' && (r == utf8.RuneError || !unicode.IsPrint(r))
}
