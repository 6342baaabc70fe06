package manifest

import (
	"bytes"
	"errors"
	"regexp"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits of what is read: far above what an API server accepts or a person
// reads, far below what hurts.
const (
	// maxDepth is how deep maps and lists may be nested.
	maxDepth = 500
	// maxFaults is how many faults of a stream are told.
	maxFaults = 100
	// maxCopies is how many nodes the aliases of one stream may make. Nodes that
	// are written out are not counted: they cost their author as much as us.
	maxCopies = 100_000
)

// Read reads a stream of YAML or JSON documents. Each must be a map; empty ones
// are skipped. Scalars mean what they mean to kubectl, which reads YAML 1.1:
// yes and on are true, 0644 is 420, a date is a string.
//
// What other readers let pass is an error here: a key that is there twice, an
// integer beyond 64 bits, NaN, a tag of one's own. The error joins one *Error
// for each fault. Then no document is returned, for half a stream is another
// stream.
func Read(file string, data []byte) ([]Document, error) {
	text, fault := decodeText(data)
	if fault != nil {
		fault.File = file
		return nil, fault
	}
	roots, fault := parse(text)
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

// parse returns the documents up to the first syntax error. JSON is read as
// JSON and not as the YAML that it almost is: YAML refuses tabs and long keys.
func parse(text []byte) ([]*yaml.Node, *Error) {
	if !jsonStart.Match(text) {
		return parseYAML(text)
	}
	roots, jsonFault := parseJSON(text)
	if jsonFault == nil {
		return roots, nil
	}
	// JSON with a --- or a comment after it is YAML.
	roots, yamlFault := parseYAML(text)
	if yamlFault != nil && !yamlFault.after(jsonFault) {
		return roots, jsonFault
	}
	return roots, yamlFault
}

// jsonStart tells JSON from YAML in braces: {a: 1}.
var jsonStart = regexp.MustCompile(`^[ \t\r\n]*(\[|\{[ \t\r\n]*["}])`)

// after reports whether e is further down. Of two readers that gave up, the one
// that came further knows better what the text was meant to be.
func (e *Error) after(other *Error) bool {
	if e.Line != other.Line {
		return e.Line > other.Line
	}
	return e.Column > other.Column
}

var utf8BOM = []byte("\ufeff")

// decodeText checks the encoding and drops byte order marks: at the beginning,
// and at the beginning of any line, where joining files leaves them.
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
