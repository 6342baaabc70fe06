package tosca

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/holdfast/pkg/manifest"
)

// input is an input of the template and the value it was given.
type input struct {
	*schema
	name  string
	given *Input
	read  any // what was given, as the type reads it
	value value
	// asked and done say how far the value is: a default may call for other inputs.
	asked, done bool
}

// readInputs reads the declarations and matches the given values with them.
func (t *translator) readInputs(given map[string]Input) {
	t.inputs = map[string]*input{}
	p := t.entry.topology().get("inputs")
	if t.wantMap(p) {
		for _, entry := range p.entries() {
			t.readInput(entry, given)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if t.inputs[name] != nil {
			continue
		}
		at := t.inputsPlace(p)
		t.faults.add(at, UnknownInput, "unknown input %s%s", shown(name), t.declared(name))
	}
}

// inputsPlace is where messages about inputs that are not declared point at.
func (t *translator) inputsPlace(p place) place {
	if p.exists() {
		return p
	}
	at := t.entry.root
	at.path = &trail{key: "inputs"}
	return at
}

func (t *translator) readInput(p place, given map[string]Input) {
	if !p.isMap() {
		t.faults.add(p, InvalidShape, "must be a map with a type, not %s", p.describe())
		return
	}
	t.known(p, parameterKeys)
	in := &input{schema: t.readSchema(p, false), name: p.name()}
	if value, there := given[in.name]; there {
		in.given = &value
	}
	t.inputs[in.name] = in
	t.inputNames = append(t.inputNames, in.name)
}

// declared helps with a name that is no input: the nearest one, or all.
func (t *translator) declared(name string) string {
	if near := t.didYouMean(name, t.inputNames); near != "" {
		return near
	}
	if len(t.inputNames) == 0 {
		return ": the template declares no inputs"
	}
	const most = 10
	names := t.inputNames
	more := ""
	if len(names) > most {
		names, more = names[:most], ", …"
	}
	return " (declared: " + strings.Join(names, ", ") + more + ")"
}

// resolveInputs gives every input its value.
func (e *evaluator) resolveInputs() {
	var missing []*input
	for _, name := range e.inputNames {
		in := e.inputs[name]
		if e.input(in, in.at); in.value.unset && in.required {
			missing = append(missing, in)
		}
	}
	if e.lenient || len(missing) == 0 {
		return
	}
	if len(missing) == 1 {
		e.faults.add(missing[0].at, MissingInput, "required input has no value and no default")
		return
	}
	names := make([]string, len(missing))
	for i, in := range missing {
		names[i] = in.name
	}
	at := missing[0].at
	at.path = at.path.up
	e.faults.add(at, MissingInput, "required inputs have no value and no default: %s", strings.Join(names, ", "))
}

// input is the value of an input, evaluated once. from is where it is asked for.
func (e *evaluator) input(in *input, from place) value {
	switch {
	case in.done:
		return in.value
	case in.asked:
		e.faults.add(from, PropertyLoop, "the defaults of inputs depend on each other in a loop")
		return unknown
	}
	in.asked = true
	v, at := e.inputValue(in)
	v.secret = v.secret || IsSensitive(in.name) || (in.given != nil && in.given.Sensitive)
	v.unknown = v.unknown || (v.unset && in.required)
	v = e.completed(v, in.schema, at)
	e.check(at, v, in.schema)
	in.value, in.done = v, true
	return v
}

// inputValue is the given value, the default, or what 1.3 calls value, and where
// it is written.
func (e *evaluator) inputValue(in *input) (value, place) {
	if in.given != nil {
		given := e.givenValue(in)
		in.read = given.any
		return given, in.at
	}
	for _, initial := range []place{in.initial, in.at.get("value")} {
		if initial.exists() && !initial.isNull() {
			return e.eval(initial, scope{want: in.schema}), initial
		}
	}
	return value{unset: true}, in.at
}

// givenInputs are the values that were given.
func (e *evaluator) givenInputs() map[string]any {
	given := map[string]any{}
	for name, in := range e.inputs {
		if in.given != nil {
			given[name] = in.read
		}
	}
	return given
}

func (e *evaluator) givenValue(in *input) value {
	var content any
	var problem string
	if in.given.Text != nil {
		base := e.baseOf(in.schema)
		content, problem = fromText(*in.given.Text, base)
	} else {
		content, problem = normal(in.given.Value, e.limits.Nesting)
	}
	if problem != "" {
		e.faults.add(in.at, ValueTypeMismatch, "the given value %s", problem)
		return unknown
	}
	size := sizeOf(content)
	if size > e.limits.Manifest {
		e.faults.add(in.at, LimitExceeded, "the given value is larger than %d bytes", e.limits.Manifest)
		return unknown
	}
	return value{any: content, size: size, unset: content == nil}
}

// fromText reads text as a type wants it.
func fromText(text, base string) (content any, problem string) {
	if takesText(base) {
		return text, ""
	}
	node := yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(text)}
	if strings.TrimLeft(text, " \n\t") == "" || !strings.ContainsAny(text, "[{:\n\"'#&*!|>%@`") {
		content, err := manifest.Scalar(&node, base == "boolean")
		if err != nil {
			return nil, err.Error()
		}
		return content, ""
	}
	documents, err := manifest.Read("", fmt.Appendf(nil, "value:%s", indented(text)))
	if err != nil || len(documents) != 1 || len(documents[0].Value) != 1 {
		return nil, "is not valid YAML"
	}
	return documents[0].Value["value"], ""
}

// indented makes text the value of a key.
func indented(text string) string {
	return "\n  " + strings.ReplaceAll(text, "\n", "\n  ")
}

// normal makes the numbers of a value what they are everywhere here, and refuses
// what no JSON has.
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
		return nil, "is no JSON value"
	}
}
