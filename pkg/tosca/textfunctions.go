package tosca

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/holdfast/pkg/manifest"
)

// matching evaluates matches: [text, pattern]. The pattern can be computed, so it is checked here. The result is secret
// if the text or the pattern is.
func matching(e *evaluator, args fileNode, s scope) value {
	elements := args.elements()
	if len(elements) != 2 {
		return e.fail(args, InvalidFunction, "matches needs a text and a pattern")
	}
	text, pattern := e.eval(elements[0], s), e.eval(elements[1], s)
	if text.unknown || pattern.unknown {
		return unknown
	}
	if problem := e.checkPattern(pattern.any); problem != "" {
		return e.fail(elements[1], InvalidFunction, "%s", problem)
	}
	problem := e.patternProblem(text.any, pattern.any)
	return value{any: problem == "", size: 16, secret: text.secret || pattern.secret}
}

// concat joins strings. If a part ends with a YAML key and the next part is the value of a function, it
// adds a space between them, because the value would otherwise become part of the key. An input of type
// string remains a string: 1.10 is quoted (docs/tosca.md, "The space in concat").
//
//	["replicas:", {get_input: n}]       replicas: 3
//	["a-", {get_input: n}]              a-3
//	["a: b\n  c:", {get_input: n}]      a: b, and then c: 3 on its own line
//	["version:", {get_input: text}]     version: "1.10"
//	["http://host:", {get_input: n}]    http://host:3
func concat(e *evaluator, args fileNode, s scope) value {
	parts, ok := e.texts(args, s, "concat")
	if !ok {
		return unknown
	}
	if len(parts) == 0 {
		return e.fail(args, InvalidFunction, "concat needs a list that is not empty")
	}
	b := builder{e: e, at: args}
	for i, part := range parts {
		// The space depends on all parts so far: a key can be made of several parts.
		line := b.lastLine()
		if part.evaluated && !e.options.StrictConcat && keyAtEnd.MatchString(strings.TrimRight(line, " ")) {
			if !strings.HasSuffix(line, " ") && !strings.HasPrefix(part.text, " ") && !strings.HasPrefix(part.text, "\n") {
				b.add(" ", false)
			}
			if endsLine := i+1 == len(parts) || strings.HasPrefix(parts[i+1].text, "\n"); endsLine && part.fromInput && !staysText(part.text) {
				// The author wrote an input of type string, and YAML would read another type.
				part.text = strconv.Quote(part.text)
			}
		}
		b.add(part.text, part.secret)
	}
	return b.value()
}

// joined evaluates join: [[text…], delimiter]. Without a delimiter, the parts are joined directly.
func joined(e *evaluator, args fileNode, s scope) value {
	elements := args.elements()
	if len(elements) == 0 || len(elements) > 2 {
		return e.fail(args, InvalidFunction, "join needs a list of texts and, if any, a delimiter")
	}
	parts, ok := e.texts(elements[0], s, "join")
	delimiter := textPart{}
	if len(elements) == 2 {
		var fine bool
		delimiter, fine = e.textOf(elements[1], s)
		ok = ok && fine
	}
	if !ok {
		return unknown
	}
	b := builder{e: e, at: args}
	for i, part := range parts {
		if i > 0 {
			b.add(delimiter.text, delimiter.secret)
		}
		b.add(part.text, part.secret)
	}
	return b.value()
}

// token evaluates token: [text, separators, index]. Each character of separators is one.
//
//	[a.b.c, ., 1]      b
//	[a.b-c, .-, 2]     c
//	[a..b, ., 1]       the empty text
//	[a.b, ., 2]        an error with the number of tokens, unless the text is secret
func token(e *evaluator, args fileNode, s scope) value {
	elements := args.elements()
	if len(elements) != 3 {
		return e.fail(args, InvalidFunction, "token needs three arguments: a text, its separators, and an index")
	}
	text, textOK := e.textOf(elements[0], s)
	separators, separatorsOK := e.textOf(elements[1], s)
	index := e.eval(elements[2], s)
	if !textOK || !separatorsOK || index.unknown {
		return unknown
	}
	i, isInteger := index.any.(int64)
	if !isInteger || separators.text == "" {
		return e.fail(args, InvalidFunction, "token needs three arguments: a text, its separators, and an index")
	}
	const charactersPerStep, separatorsPerPass = 64, 32
	e.spend(1 + len(text.text)*(1+len(separators.text)/separatorsPerPass)/charactersPerStep)
	found, count := tokenAt(text.text, separators.text, i)
	if i < 0 || i >= count {
		has := fmt.Sprintf(": the text has %d tokens", count)
		if text.secret || separators.secret {
			has = ""
		}
		return e.fail(elements[2], InvalidFunction, "the index %s does not exist%s", forMessage(i, index.secret), has)
	}
	return value{any: found, size: sizeOf(found), secret: text.secret || index.secret || separators.secret}
}

// tokenAt splits at each of several characters, and returns the token at an index and the
// count of all. Between two adjacent characters there is an empty token.
func tokenAt(text, separators string, index int64) (found string, count int64) {
	for more := true; more; count++ {
		at := strings.IndexAny(text, separators)
		token, size := text, 0
		if more = at >= 0; more {
			token = text[:at]
			_, size = utf8.DecodeRuneInString(text[at:])
		}
		if count == index {
			found = token
		}
		text = text[len(token)+size:]
	}
	return found, count
}

// textPart is one part of a text. evaluated decides about the space in concat: a literal is exactly what the author
// wrote.
type textPart struct {
	text string
	// evaluated is set if the part is the result of a function.
	evaluated bool
	// fromInput is set if the part is an input of type string.
	fromInput bool
	secret    bool
}

// staysText reports whether YAML reads a string without quotes as a string. yes, 1.10 and null do not, because kubectl
// reads them as other types.
func staysText(text string) bool {
	plain := yaml.Node{Kind: yaml.ScalarNode, Value: text}
	content, err := manifest.Scalar(&plain, true)
	return err == nil && isOf[string](content)
}

// texts evaluates a list of parts, or a function that returns one. It returns false after an error, or if a part is
// unknown. name is the calling function, for messages. All parts are evaluated, to find the errors in each.
func (e *evaluator) texts(list fileNode, s scope, name string) ([]textPart, bool) {
	if !list.isList() {
		return e.partsOf(list, e.eval(list, s), name)
	}
	parts, ok := make([]textPart, 0, len(list.node.Content)), true
	for _, element := range list.elements() {
		part, fine := e.textOf(element, s)
		parts, ok = append(parts, part), ok && fine
	}
	return parts, ok
}

// partsOf returns the elements of a list that a function returned.
func (e *evaluator) partsOf(at fileNode, v value, name string) ([]textPart, bool) {
	if v.unknown {
		return nil, false
	}
	list, isList := v.any.([]any)
	if !isList {
		e.faults.add(at, InvalidFunction, "%s needs a list, not %s", name, manifest.Describe(v.any))
		return nil, false
	}
	parts := make([]textPart, len(list))
	for i, element := range list {
		parts[i] = textPart{text: value{any: element}.text(), evaluated: true, secret: v.secret}
	}
	return parts, true
}

// textOf evaluates one part. It keeps the notation of a scalar: 1.10 does not become 1.1. An unset value is an error:
// an empty text in its place could be a valid manifest with another meaning.
func (e *evaluator) textOf(p fileNode, s scope) (textPart, bool) {
	if p.isScalar() && !p.isNull() {
		e.step()
		return textPart{text: p.text()}, true
	}
	called, isCall, _ := e.callIn(p)
	v := e.eval(p, s)
	if v.unset && !v.unknown {
		e.faults.add(p, MissingInput, "has no value to insert into a text")
		return textPart{}, false
	}
	if v.unknown {
		return textPart{}, false
	}
	return textPart{text: v.text(), evaluated: isCall, fromInput: called.name == "get_input" && isOf[string](v.any), secret: v.secret}, true
}

// builder joins parts within the limits. The result is secret if one of the parts is.
type builder struct {
	e *evaluator
	// at is the call, for errors.
	at     fileNode
	text   strings.Builder
	secret bool
}

// add appends a text. It ends the translation if the result is too large.
func (b *builder) add(text string, secret bool) {
	b.e.spend(len(text) / textPerStep)
	if b.text.Len()+len(text) > maxManifest {
		b.e.tooLarge(b.at, "text")
	}
	b.text.WriteString(text)
	b.secret = b.secret || secret
}

// value returns the joined text.
func (b *builder) value() value {
	text := b.text.String()
	return value{any: text, size: sizeOf(text), secret: b.secret}
}

// keyAtEnd matches a line that contains only a key, or only the dashes of a list. The key contains no colon
// or blank: in http://host: the author means a port, in "echo result:" a string.
var keyAtEnd = regexp.MustCompile("^ *(- +)*(-|[^\\s:\"'#{}\\[\\],&*!|>%@`-][^\\s:\"']*:|\"[^\"\\\\]*\":|'[^']*':)$")

// lastLine returns the last line, or empty if it is too long for a key. It looks at the last 1,024 bytes only, so that
// a text of many parts takes linear time.
func (b *builder) lastLine() string {
	const longest = 1024
	text := b.text.String()
	last := text[max(0, len(text)-longest):]
	at := strings.LastIndexByte(last, '\n')
	if at < 0 && len(last) < len(text) {
		return ""
	}
	return last[at+1:]
}
