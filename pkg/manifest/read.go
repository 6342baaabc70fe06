package manifest

import (
	"bytes"
	"errors"
	"regexp"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits of the input: far above the limits of an API server, and far below sizes that cause problems.
const (
	// maxDepth is the maximum depth of maps and lists.
	maxDepth = 500
	// maxErrors is the maximum number of errors that are reported for a stream.
	maxErrors = MaxFaults
	// maxCopies is the maximum number of nodes that the aliases of one stream create. Other nodes are not
	// limited: their number is bounded by the size of the input.
	maxCopies = 100_000
)

// Read reads a stream of YAML or JSON documents. Each must be a map. Empty documents are skipped. Scalars
// have the same meaning as in kubectl, which reads YAML 1.1: yes and on are true, 0644 is 420, a date is a
// string.
//
// Some inputs that other parsers accept are errors: duplicate keys, integers beyond 64 bits, NaN, custom tags. The
// error joins one *Error for each problem. In this case no documents are returned, because a partial stream has another
// meaning. file is used in messages only. The error is a single *Error if the encoding is wrong.
func Read(file string, data []byte) ([]Document, error) {
	text, fault := decodeText(data)
	if fault != nil {
		fault.File = file
		return nil, fault
	}
	roots, fault := parse(text)
	// The documents before a syntax error are converted as well, so that their errors are reported, too.
	c := converter{file: file}
	documents := c.documents(roots)
	if fault != nil {
		fault.File = file
		c.faults = append(c.faults, fault)
	}
	if len(c.faults) > 0 {
		return nil, errors.Join(c.faults...)
	}
	return documents, nil
}

// parse returns the documents before the first syntax error. JSON is not parsed as YAML, because YAML rejects tabs and
// long keys. Text that begins with [ is JSON or a YAML list, and neither is a manifest: the error then comes from the
// parser that got further.
func parse(text []byte) ([]*yaml.Node, *Error) {
	if !jsonStart.Match(text) {
		return parseYAML(text)
	}
	roots, jsonFault := parseJSON(text)
	if jsonFault == nil {
		return roots, nil
	}
	// JSON followed by a --- or a comment is YAML.
	roots, yamlFault := parseYAML(text)
	if yamlFault != nil && !yamlFault.after(jsonFault) {
		return roots, jsonFault
	}
	return roots, yamlFault
}

// jsonStart distinguishes JSON from YAML in braces such as {a: 1}.
var jsonStart = regexp.MustCompile(`^[ \t\r\n]*(\[|\{[ \t\r\n]*["}])`)

// after reports whether e is further down in the file. If both parsers fail, the error of the one that got further is
// more useful. Both are in the same file.
func (e *Error) after(other *Error) bool {
	if e.Line != other.Line {
		return e.Line > other.Line
	}
	return e.Column > other.Column
}

// utf8BOM is the byte order mark that some editors on Windows write.
var utf8BOM = []byte("\ufeff")

// decodeText validates the encoding and removes byte order marks: at the start of the file, and at the start of lines,
// where concatenating files leaves them. The marks are tested in the order of their lengths, because that of UTF-32
// begins with that of UTF-16.
func decodeText(data []byte) ([]byte, *Error) {
	for _, encoding := range []struct{ mark, name string }{
		{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"}, {"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"},
	} {
		if bytes.HasPrefix(data, []byte(encoding.mark)) {
			return nil, &Error{Line: 1, Column: 1, Message: "the text is " + encoding.name + ": save it as UTF-8"}
		}
	}
	text := bytes.TrimPrefix(data, utf8BOM)
	if !utf8.Valid(text) {
		return nil, faultAt(text, firstInvalid(text), "the text is not valid UTF-8: save it as UTF-8")
	}
	if afterBreak := append([]byte("\n"), utf8BOM...); bytes.Contains(text, afterBreak) {
		text = bytes.ReplaceAll(text, afterBreak, []byte("\n"))
	}
	return text, nil
}

// firstInvalid returns the offset of the first byte that is not UTF-8, or the length of the text.
func firstInvalid(text []byte) int {
	offset := 0
	for offset < len(text) {
		r, size := utf8.DecodeRune(text[offset:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		offset += size
	}
	return offset
}
