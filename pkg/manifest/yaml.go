package manifest

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML returns the documents before the first syntax error.
func parseYAML(text []byte) ([]*yaml.Node, *Error) {
	roots, err := yamlNodes(bytes.NewReader(text))
	if err != nil {
		return roots, yamlFault(text, err)
	}
	return roots, nil
}

// yamlNodes converts a panic of the library to an error: its parser panics in states that it considers impossible. The
// panic's message is dropped, because it can quote a value. The documents before an error are returned with it.
func yamlNodes(text io.Reader) (roots []*yaml.Node, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the YAML library cannot parse this")
		}
	}()
	decoder := yaml.NewDecoder(text)
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return roots, nil
		}
		if err != nil {
			return roots, err
		}
		roots = append(roots, document.Content...)
	}
}

// parserProblems maps problems of the library's parser to helpful messages. The line is the start of the broken
// construct. The texts are from go.yaml.in/yaml/v3. An unknown one is shown unchanged.
var parserProblems = map[string]string{
	"did not find expected key":              "this map is invalid further down: each of its lines must be a key, or be indented as part of a value",
	"did not find expected '-' indicator":    "this list is invalid further down: each of its lines must begin with '- ', or be indented as part of an element",
	"did not find expected ',' or ']'":       "this list is invalid: a ',' or a ']' is missing",
	"did not find expected ',' or '}'":       "this map is invalid: a ',' or a '}' is missing",
	"did not find expected node content":     "a value is missing",
	"did not find expected <document start>": "a '---' is missing before this document",
	"found incompatible YAML document":       "the version of YAML is not supported: remove the %YAML line",
	"found duplicate %YAML directive":        "there is a second %YAML line",
	"found duplicate %TAG directive":         "there is a second %TAG line for one handle",
	"found undefined tag handle":             "the handle of the tag is not defined",
}

// scannerProblems maps problems of the library's scanner.
var scannerProblems = map[string]string{
	"found character that cannot start any token":                  "a character that no value can begin with: put the text in quotes",
	"mapping values are not allowed in this context":               "a ': ' where no key can be: put the text in quotes, or correct the indentation",
	"could not find expected ':'":                                  "a key without a ':'",
	"found unexpected end of stream":                               "this quote is not closed",
	"found a tab character that violates indentation":              tabIndents,
	"found a tab character where an indentation space is expected": tabIndents,
}

const tabIndents = "a tab in the indentation: YAML is indented with spaces"

var (
	yamlProblem   = regexp.MustCompile(`(?s)^(?:yaml: )?(?:line (\d+): )?(.*)$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// yamlFault returns the position of a syntax error. The library reports only a line, and none for the first
// line. Its parser counts lines from 0, but its scanner from 1. Therefore yamlFault parses again with an
// empty first line: then nothing is on the first line, and the parser's count is correct.
func yamlFault(text []byte, err error) *Error {
	if _, again := yamlNodes(io.MultiReader(strings.NewReader("\n"), bytes.NewReader(text))); again != nil {
		err = again
	}
	parts := yamlProblem.FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(parts[1])
	problem := parts[2]
	if meaning, ok := parserProblems[problem]; ok {
		return faultOnLine(text, line, meaning)
	}
	if anchor := unknownAnchor.FindStringSubmatch(problem); anchor != nil {
		return faultAt(text, aliasOffset(text, anchor[1]), "unknown anchor "+QuoteKey(anchor[1])+" before this alias")
	}
	if problem == "control characters are not allowed" {
		return faultAt(text, controlOffset(text), "a control character: YAML allows it only escaped, in double quotes")
	}
	return scannerFault(text, line-1, problem)
}

// scannerFault returns the error for a problem of the library's scanner. A tab in the indentation can also be reported
// as a character that cannot start a token. A problem that is not in the table keeps the words of the library, which
// contain no value.
func scannerFault(text []byte, line int, problem string) *Error {
	meaning, known := scannerProblems[problem]
	if !known {
		meaning = problem
	}
	if meaning == tabIndents || problem == "found character that cannot start any token" {
		if tab, found := indentingTab(text, line); found && (meaning == tabIndents || tab.Line == line) {
			return tab
		}
	}
	return faultOnLine(text, line, meaning)
}

// faultOnLine returns an error at the first text of a line. The library counts the end of a text without a
// trailing newline as a separate line.
func faultOnLine(text []byte, line int, message string) *Error {
	offset := lineStart(text, min(line, bytes.Count(text, []byte("\n"))+1))
	for offset < len(text) && text[offset] == ' ' {
		offset++
	}
	return faultAt(text, offset, message)
}

// tabInIndent matches the first tab in the indentation of a line, with the spaces before it.
var tabInIndent = regexp.MustCompile(`(?m)^ *\t`)

// indentingTab finds the first tab in an indentation, starting at a line. The library reports the start of
// the text that contains the tab.
func indentingTab(text []byte, line int) (fault *Error, found bool) {
	from := lineStart(text, line)
	at := tabInIndent.FindIndex(text[from:])
	if at == nil {
		return nil, false
	}
	return faultAt(text, from+at[1]-1, tabIndents), true
}

// aliasOffset finds the first alias of that name. The library does not report its position. A comment or string with
// the same text can precede the alias; the message is correct nevertheless.
func aliasOffset(text []byte, name string) int {
	alias := regexp.MustCompile(`\*` + regexp.QuoteMeta(name) + `(?:[^\w-]|$)`)
	if at := alias.FindIndex(text); at != nil {
		return at[0]
	}
	return 0
}

// controlOffset finds the first character that is not c-printable in YAML.
func controlOffset(text []byte) int {
	return max(0, bytes.IndexFunc(text, func(r rune) bool {
		switch r {
		case '\t', '\n', '\r', 0x85:
			return false
		default:
			return r < 0x20 || r >= 0x7F && r < 0xA0 || r == 0xFFFE || r == 0xFFFF
		}
	}))
}
