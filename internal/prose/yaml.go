package prose

import (
	"regexp"
	"strings"
)

var (
	yamlComment  = regexp.MustCompile(`^(.*?\s)?#+ (.*)$`)
	templateNote = regexp.MustCompile(`\{\{-? ?/\* ?(.*?) ?\*/ ?-?\}\}`)
	yamlText     = regexp.MustCompile(`^(\s*)(?:- )?(?:description|summary|message|messageExpression): (.*)$`)
)

// yamlParagraphs returns the comments of a YAML file or template, and the values of fields that users read, such as
// descriptions. A comment in the line of a value is a paragraph of its own.
func yamlParagraphs(source string) []paragraph {
	var paragraphs []paragraph
	var comment, text []line
	flush := func(kind Kind, lines *[]line) {
		if *lines != nil {
			paragraphs = append(paragraphs, paragraph{kind, *lines})
		}
		*lines = nil
	}
	indent := -1 // of the field whose value is continued
	for i, raw := range strings.Split(source, "\n") {
		found := yamlComment.FindStringSubmatch(templateNote.ReplaceAllString(raw, "# $1"))
		isOwnLine := len(found) > 1 && strings.TrimSpace(found[1]) == ""
		if !isOwnLine {
			flush(Comments, &comment)
		}
		field := yamlText.FindStringSubmatch(raw)
		isContinued := indent >= 0 && strings.TrimSpace(raw) != "" && len(raw)-len(strings.TrimLeft(raw, " ")) > indent
		if !isContinued {
			flush(Strings, &text)
			indent = -1
		}
		switch {
		case found != nil && !isContinued:
			comment = append(comment, line{i + 1, quoted.ReplaceAllString(found[2], "CODE")})
			if !isOwnLine {
				flush(Comments, &comment)
			}
		case field != nil:
			indent, text = len(field[1]), []line{{i + 1, strings.Trim(field[2], ">-|'\"")}}
		case isContinued:
			text = append(text, line{i + 1, strings.TrimSpace(raw)})
		}
	}
	flush(Comments, &comment)
	flush(Strings, &text)
	return paragraphs
}
