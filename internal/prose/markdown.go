package prose

import (
	"regexp"
	"strings"
)

var (
	htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	codeFence   = regexp.MustCompile("^\\s*(```|~~~)")
	indented    = regexp.MustCompile(`^( {4}|\t)`)
	listItem    = regexp.MustCompile(`^\s*([*-]|\d+\.) `)
	newBlock    = regexp.MustCompile(`^\s*([*-] |\d+\. |\||#)`)
	tableRule   = regexp.MustCompile(`^\s*\|[-| :]+\|\s*$`)
)

// markup are the parts of a Markdown line that are not prose, with their replacements.
var markup = []struct {
	match       *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`<[^>]+>`), " "},
	{quoted, "CODE"},
	{regexp.MustCompile(`\]\([^)]*\)?`), "]"},
	{regexp.MustCompile(`https?://\S+`), "URL"},
	{regexp.MustCompile(`[\[\]*_#>]`), " "},
}

// markdownParagraphs returns the paragraphs, headings, list items and table rows of a Markdown file, without code.
func markdownParagraphs(source string) []paragraph {
	source = htmlComment.ReplaceAllStringFunc(source, func(comment string) string { return strings.Repeat("\n", strings.Count(comment, "\n")) })
	var paragraphs []paragraph
	var current []line
	flush := func() {
		if current != nil {
			paragraphs = append(paragraphs, paragraph{Markdown, current})
		}
		current = nil
	}
	inCode, previous := false, ""
	for i, text := range strings.Split(source, "\n") {
		isFence := codeFence.MatchString(text)
		isCode := indented.MatchString(text) && !listItem.MatchString(text) && !listItem.MatchString(previous) && current == nil
		previous = text
		switch prose := proseOf(text); {
		case isFence:
			inCode = !inCode
			flush()
		case inCode || isCode || prose == "" || strings.Contains(text, "prose:ok"):
			flush()
		default:
			if newBlock.MatchString(text) {
				flush()
			}
			current = append(current, line{i + 1, prose})
		}
	}
	flush()
	return paragraphs
}

// proseOf returns a line of Markdown without markup.
func proseOf(text string) string {
	if tableRule.MatchString(text) {
		return ""
	}
	for _, m := range markup {
		text = m.match.ReplaceAllString(text, m.replacement)
	}
	return strings.TrimSpace(text)
}
