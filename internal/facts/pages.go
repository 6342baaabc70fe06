package facts

import (
	"regexp"
	"strings"

	"github.com/stretchr/testify/assert"
)

// Blocks returns the fenced blocks of a page in a language.
func Blocks(page, language string) []string {
	var found []string
	for _, match := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(page, -1) {
		found = append(found, match[1])
	}
	return found
}

// Example is a command in a console block of a page, with the output that the page shows.
type Example struct{ Command, Output string }

// Examples returns the commands in the console blocks of a page. A line that begins with "$ " is a command, with the
// following lines as long as the previous one ends in a backslash.
func Examples(page string) []Example {
	var found []Example
	for _, block := range Blocks(page, "console") {
		for _, example := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, output, _ := strings.Cut(example, "\n")
			for strings.HasSuffix(command, "\\") {
				var next string
				next, output, _ = strings.Cut(output, "\n")
				command += "\n" + next
			}
			found = append(found, Example{command, output})
		}
	}
	return found
}

// AssertShows checks that a page shows exactly the printed text, except for the parts that a line "…"
// replaces.
func AssertShows(t assert.TestingT, shown, printed string) bool {
	shown = strings.TrimRight(shown, "\n")
	rest := printed
	for i, part := range strings.Split("\n"+shown+"\n", "\n…\n") {
		part = strings.TrimPrefix(part, "\n")
		at := strings.Index(rest, part)
		if !assert.GreaterOrEqual(t, at, 0, "%q is not printed in:\n%s", part, printed) || i == 0 && !assert.Zero(t, at, "the output does not begin with %q:\n%s", part, printed) {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(shown, "…") || assert.Empty(t, rest, "the page does not show the end of the output")
}

var (
	age   = regexp.MustCompile(`\b(\d+(\.\d+)?(ms|[smhd]))+\b`)
	space = regexp.MustCompile(` +`)
)

// WithoutAges returns an output without the differences between two runs: ages, and the width of columns.
func WithoutAges(output string) string {
	return space.ReplaceAllString(age.ReplaceAllString(output, "0s"), " ")
}
