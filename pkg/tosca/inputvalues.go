package tosca

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/holdfast/pkg/manifest"
)

// resolveInputs evaluates all inputs. It reports mistakes in the given values, and inputs without a value, which
// Validate accepts. Mistakes in defaults are collected in the inputs. Several missing inputs are one error with all
// names, so that the user can set them all at once.
func (e *evaluator) resolveInputs() {
	var missing []*input
	for _, name := range e.inputNames {
		in := e.inputs[name]
		if e.input(in, in.at); in.value.unset && in.required {
			missing = append(missing, in)
		}
		if in.given != nil {
			e.faults.addAll(in.mistakes...)
		}
	}
	if e.lenient || len(missing) == 0 {
		return
	}
	if len(missing) == 1 {
		e.faults.add(missing[0].at, MissingInput, "required input has no value and no default")
		return
	}
	names := collectNames(missing, func(in *input) string { return in.name })
	at := missing[0].at
	at.path = at.path.up
	e.faults.add(at, MissingInput, "required inputs have no value and no default: %s", strings.Join(names, ", "))
}

// input returns the value of an input, and evaluates it once. from is the position of the reference. A value is secret
// if the input has a sensitive name, or was given as sensitive. Values are cached, also after an error. Errors in the
// value are collected: the default of an input may be wrong, and that matters only if the value is used.
func (e *evaluator) input(in *input, from fileNode) value {
	switch {
	case in.done:
		return in.value
	case in.asked:
		return e.fail(from, PropertyLoop, "the defaults of inputs depend on each other in a loop")
	}
	in.asked = true
	in.mistakes = e.collect(func() {
		v, at := e.inputValue(in)
		v.secret = v.secret || IsSensitive(in.name) || (in.given != nil && in.given.Sensitive)
		// A missing required input is reported once, and everything that depends on it is unknown.
		v.unknown = v.unknown || (v.unset && in.required)
		in.value = e.completed(v, in.schema, at)
		e.check(at, in.value, in.schema)
	})
	in.done = true
	return in.value
}

// inputValue returns the given value, the default, or the key value of TOSCA 1.3, and its position. A default that is
// get_input of the input itself is a common mistake of generators, and counts as none.
func (e *evaluator) inputValue(in *input) (value, fileNode) {
	if in.given != nil {
		return e.givenValue(in), in.at
	}
	for _, initial := range []fileNode{in.initial, in.at.get("value")} {
		if itself, single := initial.only(); single && strings.TrimPrefix(itself.name(), "$") == "get_input" && itself.text() == in.name {
			e.warn(initial, "is the input itself: it has no default")
			continue
		}
		if initial.exists() && !initial.isNull() {
			return e.eval(initial, scope{want: in.schema}), initial
		}
	}
	return value{unset: true}, in.at
}

// givenInputs returns the given values whose types are known.
func (t *model) givenInputs() map[string]any {
	given := map[string]any{}
	for name, in := range t.inputs {
		if in.given != nil && (t.baseOf(in.schema) != "" || !in.at.get("type").exists()) {
			given[name] = t.givenValue(in).any
		}
	}
	return given
}

// givenValue returns the given value in the type of the input. Errors never contain the value. A null counts as no
// value, so a required input with a given null is missing.
func (t *model) givenValue(in *input) value {
	base, text := t.baseOf(in.schema), in.given.Text
	// A string for an input of another type is read as YAML, as on the command line.
	if written, isText := in.given.Value.(string); isText && text == nil && base != "" && base != "any" {
		text = &written
	}
	var content any
	var problem string
	if text != nil {
		content, problem = fromText(*text, base)
	} else {
		content, problem = normal(in.given.Value, maxNesting)
	}
	if problem != "" {
		return t.fail(in.at, ValueTypeMismatch, "the given value %s", problem)
	}
	size := sizeOf(content)
	if size > maxManifest {
		return t.fail(in.at, LimitExceeded, "the given value is larger than %d bytes", maxManifest)
	}
	return value{any: content, size: size, unset: content == nil}
}

// fromText converts a string to the type base. For a type that takes text, the string is unchanged. Otherwise it is
// read as YAML, like a value in a template. A simple scalar is read without the YAML parser. The problem never
// contains the string.
//
//	text         base       content
//	1.10         string     "1.10"
//	12           integer    12
//	yes          boolean    true
//	[1, a]       list       a list of 1 and "a"
//	- a          list       a list of "a"
//	"" or blank  map        null, which counts as no value
func fromText(text, base string) (content any, problem string) {
	if primitives[base].takesText {
		return text, ""
	}
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || !strings.ContainsAny(text, "[{:\n\"'#&*!|>%@`") && !strings.HasPrefix(trimmed, "- ") {
		node := yaml.Node{Kind: yaml.ScalarNode, Value: trimmed}
		content, err := manifest.Scalar(&node, base == "boolean")
		if err != nil {
			return nil, err.Error()
		}
		return content, ""
	}
	documents, err := manifest.Read("", []byte("value:\n  "+strings.ReplaceAll(text, "\n", "\n  ")))
	if err != nil || len(documents) != 1 || len(documents[0].Value) != 1 {
		return nil, "is not valid YAML"
	}
	return documents[0].Value["value"], ""
}

// normal returns a copy of a value with the types of this package: integral numbers are int64. It returns a problem
// for values that JSON does not have. depth is the number of levels that are still allowed.
//
//	8080.0 as float64     8080 as int64
//	1.5                   1.5
//	int, from Go code     int64
//	json.Number, structs  a problem
func normal(content any, depth int) (made any, problem string) {
	if depth == 0 {
		return nil, "is nested too deep"
	}
	switch content := content.(type) {
	case nil, string, bool, int64:
		return content, ""
	case int:
		return int64(content), ""
	case float64:
		if whole := int64(content); float64(whole) == content && content > -1e18 && content < 1e18 {
			return whole, ""
		}
		return content, ""
	case []any:
		made := make([]any, len(content))
		for i, element := range content {
			if made[i], problem = normal(element, depth-1); problem != "" {
				return nil, problem
			}
		}
		return made, ""
	case map[string]any:
		made := make(map[string]any, len(content))
		for key, element := range content {
			if made[key], problem = normal(element, depth-1); problem != "" {
				return nil, problem
			}
		}
		return made, ""
	default:
		return nil, "is not a JSON value"
	}
}
