package tosca_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/tosca"
)

// files is a Resolver.
type files map[string]string

func (f files) Resolve(_ context.Context, location string) ([]byte, error) {
	text, there := f[location]
	switch {
	case there:
		return []byte(text), nil
	case strings.Contains(location, "://"):
		return nil, errors.New("host not in the allowed list")
	default:
		return nil, fs.ErrNotExist
	}
}

const header = "tosca_definitions_version: tosca_simple_yaml_1_3\n"

// withSpec returns a template with one node, whose spec is on line 7.
func withSpec(inputs, spec string) string {
	return header + "topology_template:\n  inputs: " + inputs + "\n  node_templates:\n    a: {type: tosca.nodes.indigo.KubernetesObject, properties: {\n        spec: " + spec + "}}\n"
}

func source(template string) tosca.Source {
	return tosca.Source{Name: "t.yaml", Data: []byte(template)}
}

func translate(t *testing.T, template string, options tosca.Options) (tosca.Result, error) {
	t.Helper()
	return tosca.Translate(t.Context(), source(template), nil, options)
}

// The handling of spaces in concat, rule by rule. spec is the text that Options.Raw returns.
func TestConcat(t *testing.T) {
	for _, row := range []struct{ name, parts, want string }{
		{"a key and the value of a function get a space", `["replicas:", {get_input: n}]`, "replicas: 3"},
		{"an indented key", `["a: b\n  replicas:", {get_input: n}]`, "a: b\n  replicas: 3"},
		{"a key of a list's element", `["- port:", {get_input: n}]`, "- port: 3"},
		{"a key of a list in a list", `["- - port:", {get_input: n}]`, "- - port: 3"},
		{"a bare dash", `["ports:\n  -", {get_input: n}]`, "ports:\n  - 3"},
		{"a key in quotes", `['"a b":', {get_input: n}]`, `"a b": 3`},
		{"a key like that of a label", `["app.kubernetes.io/part-of:", {get_input: n}]`, "app.kubernetes.io/part-of: 3"},
		{"the value of another function", `["a:", {concat: [x, y]}]`, "a: xy"},
		{"a literal gets none", `["a:", b]`, "a:b"},
		{"something after the colon", `["image: nginx:", {get_input: n}]`, "image: nginx:3"},
		{"a URL", `["- http://host:", {get_input: n}]`, "- http://host:3"},
		{"within quotes", `['password: "', {get_input: n}, '"']`, `password: "3"`},
		{"a text with blanks before the colon", `["echo result:", {get_input: n}]`, "echo result:3"},
		{"a blank that is there already", `["a: ", {get_input: n}]`, "a: 3"},
		{"a value that begins with one", `["a:", {get_input: blank}]`, "a: x"},
		{"a key before the last line", `["a:\n", {get_input: n}]`, "a:\n3"},
		{"the beginning", `[{get_input: n}, "."]`, "3."},
		{"a dash within a word", `["a-", {get_input: n}]`, "a-3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			template := withSpec(`{n: {type: integer, default: 3}, blank: {type: string, default: " x"}}`, "{concat: "+row.parts+"}")
			result, err := translate(t, template, tosca.Options{Raw: true})
			require.NoError(t, err)
			require.Len(t, result.Texts, 1)
			assert.Equal(t, tosca.Text{Node: "a", Line: 6, Text: row.want}, result.Texts[0])
			assert.Empty(t, result.Objects)
		})
	}
}

// A text input remains a text even where a manifest would read another type.
func TestTextsInConcat(t *testing.T) {
	for _, row := range []struct{ name, parts, want string }{
		{"what looks like a number", `["tag: ", {get_input: tag}, "\nb: c"]`, "tag: \"1.10\"\nb: c"},
		{"without a space", `["tag:", {get_input: tag}]`, "tag: \"1.10\""},
		{"an element of a list", `["a:\n- ", {get_input: tag}]`, "a:\n- \"1.10\""},
		{"a boolean of YAML 1.1", `["on: ", {get_input: yes}]`, "on: \"yes\""},
		{"nothing", `["a: ", {get_input: empty}]`, "a: \"\""},
		{"a number", `["n: ", {get_input: n}]`, "n: 3"},
		{"what is text anyway", `["a: ", {get_input: text}]`, "a: abc"},
		{"YAML", `["a: ", {get_input: flow}]`, "a: {b: c}"},
		{"a part of a value", `["a: ", {get_input: tag}, "-alpine"]`, "a: 1.10-alpine"},
		{"the end of a value", `["image: nginx:", {get_input: tag}]`, "image: nginx:1.10"},
		{"within quotes", `['a: "', {get_input: tag}, '"']`, `a: "1.10"`},
		{"the value of another function", `["a: ", {concat: ["8", {get_input: n}]}]`, "a: 83"},
	} {
		t.Run(row.name, func(t *testing.T) {
			inputs := `{tag: {type: string, default: "1.10"}, yes: {type: string, default: "yes"}, empty: {type: string, default: ""}, n: {type: integer, default: 3}, text: {type: string, default: abc}, flow: {type: string, default: "{b: c}"}}`
			result, err := translate(t, withSpec(inputs, "{concat: "+row.parts+"}"), tosca.Options{Raw: true})
			require.NoError(t, err)
			assert.Equal(t, row.want, result.Texts[0].Text)
		})
	}
}

func TestStrictConcatAddsNothing(t *testing.T) {
	result, err := translate(t, withSpec(`{n: {type: integer, default: 3}, s: {type: string, default: "1.10"}}`, `{concat: ["a:", {get_input: n}, "\nb: ", {get_input: s}]}`), tosca.Options{Raw: true, StrictConcat: true})
	require.NoError(t, err)
	assert.Equal(t, "a:3\nb: 1.10", result.Texts[0].Text)
}

func TestLongNamesAreCutAtACharacter(t *testing.T) {
	name := strings.Repeat("a", 79)
	_, err := translate(t, withSpec("{}", "{a: {get_input: "+name+"é}}"), tosca.Options{})
	assert.ErrorContains(t, err, `unknown input "`+name+`"…`)
}

// A change in an import must not look as if all objects had been removed.
func TestATemplateOfForeignNodesOnlyIsRefused(t *testing.T) {
	template := header + "topology_template: {node_templates: {a: {type: tosca.nodes.Compute}, b: {type: tosca.nodes.Database}, c: {type: tosca.nodes.Compute}}}\n"
	for _, ignore := range []bool{false, true} {
		_, err := translate(t, template, tosca.Options{IgnoreForeignNodes: ignore})
		require.EqualError(t, err, "t.yaml:2:21: node_templates: none of the node templates is a Kubernetes object, but 2 of type tosca.nodes.Compute, 1 of tosca.nodes.Database: "+
			"derive your node types from tosca.nodes.indigo.KubernetesObject (docs/tosca.md, \"Nodes of other types\")")
		assert.Equal(t, tosca.ForeignNode, tosca.Errors(err)[0].Code)
	}
	result, err := tosca.Validate(t.Context(), source(template), nil, tosca.Options{IgnoreForeignNodes: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"t.yaml:2:21: node_templates: none of the node templates is a Kubernetes object: there is nothing to translate"}, texts(result.Warnings))
}

func TestAFileOfTypesIsValid(t *testing.T) {
	for _, content := range []string{"", "topology_template: {inputs: {}}\n"} {
		result, err := tosca.Validate(t.Context(), source(header+"node_types: {acme.A: {derived_from: tosca.nodes.Root}}\n"+content), nil, tosca.Options{})
		require.NoError(t, err)
		require.Len(t, result.Warnings, 1)
		assert.Contains(t, result.Warnings[0].Msg, "there is nothing to translate")
	}
}

func TestTexts(t *testing.T) {
	for _, row := range []struct{ name, expression, want string }{
		{"scalars of a literal are as they are written", `{concat: [1.10, "|", yes, "|", 0x10, "|", 2020-01-01]}`, "1.10|yes|0x10|2020-01-01"},
		{"scalars of inputs are as YAML writes them", `{join: [[{get_input: f}, {get_input: b}, {get_input: i}], "|"]}`, "1.5|true|16"},
		{"lists and maps are JSON", `{concat: [{get_input: l}, {get_input: m}]}`, `[1,"<a>"]{"k":[true]}`},
		{"join without a delimiter", `{join: [[a, b]]}`, "ab"},
		{"join of a list that is an input", `{join: [{get_input: l}, ", "]}`, "1, <a>"},
		{"separators are a set of characters", `{token: ["a:b;c", ";:", 2]}`, "c"},
		{"nothing between separators is a token", `{token: ["a::b", ":", 1]}`, ""},
		{"separators beyond ASCII", `{token: ["aéb", "é", 1]}`, "b"},
		{"functions in functions", `{token: [{concat: [a, ".", {get_input: i}]}, ".", {get_input: one}]}`, "16"},
	} {
		t.Run(row.name, func(t *testing.T) {
			inputs := `{f: {type: float, default: 1.50}, b: {type: boolean, default: on}, i: {type: integer, default: 0x10}, one: {type: integer, default: 1}, l: {type: list, default: [1, <a>]}, m: {type: map, default: {k: [true]}}}`
			result, err := translate(t, withSpec(inputs, row.expression), tosca.Options{Raw: true})
			require.NoError(t, err)
			assert.Equal(t, row.want, result.Texts[0].Text)
		})
	}
}

func TestATextIsReadAsItsInputWants(t *testing.T) {
	for _, row := range []struct {
		kind, text string
		want       any
	}{
		{"string", "1.10", "1.10"},
		{"string", "yes", "yes"},
		{"string", " a: b\n", " a: b\n"},
		{"version", "1.10", "1.10"},
		{"integer", "12", int64(12)},
		{"float", "1.5", 1.5},
		{"boolean", "yes", true},
		{"list", "[1, a]", []any{int64(1), "a"}},
		{"list", "- 1\n- a", []any{int64(1), "a"}},
		{"list", "- a", []any{"a"}},
		{"list", " -  12 ", []any{int64(12)}},
		{"integer", "-5", int64(-5)},
		{"map", "a: {b: 1}", map[string]any{"a": map[string]any{"b": int64(1)}}},
	} {
		t.Run(row.kind+" "+row.text, func(t *testing.T) {
			template := withSpec("{i: {type: "+row.kind+"}}", "{apiVersion: v1, kind: Secret, metadata: {name: a}, value: {get_input: i}}")
			result, err := tosca.Translate(t.Context(), source(template), map[string]tosca.Input{"i": tosca.TextInput(row.text, false)}, tosca.Options{})
			require.NoError(t, err)
			assert.Equal(t, row.want, result.Objects[0]["value"])
			read, err := tosca.ReadInputs(t.Context(), source(template), map[string]tosca.Input{"i": tosca.TextInput(row.text, false)})
			require.NoError(t, err)
			assert.Equal(t, map[string]any{"i": row.want}, read)
			result, err = tosca.Translate(t.Context(), source(template), map[string]tosca.Input{"i": {Value: row.text}}, tosca.Options{})
			require.NoError(t, err)
			assert.Equal(t, row.want, result.Objects[0]["value"], "a string in an Application")
		})
	}
	result, err := tosca.Translate(t.Context(), source(withSpec("{i: {type: any}}", "{apiVersion: v1, kind: Secret, metadata: {name: a}, value: {get_input: i}}")), map[string]tosca.Input{"i": {Value: "12"}}, tosca.Options{})
	require.NoError(t, err)
	assert.Equal(t, "12", result.Objects[0]["value"])
	template := withSpec("{i: {type: list}}", "{}")
	_, err = tosca.Translate(t.Context(), source(template), map[string]tosca.Input{"i": tosca.TextInput("[hunter2", true)}, tosca.Options{})
	assert.EqualError(t, err, "t.yaml:3:12: inputs.i: the given value is not valid YAML")
}

// Translate accepts the same texts as numbers and booleans as the parsers of TOSCA 1.x.
func TestQuotedDefaults(t *testing.T) {
	const inputs = `{i: {type: integer, default: "6"}, b: {type: boolean, default: "true"}, f: {type: float, default: "1.5"}, s: {type: string, default: "6"}, l: {type: list, entry_schema: integer, default: ["7"]}}`
	spec := "{apiVersion: v1, kind: X, metadata: {name: a}, value: [{get_input: i}, {get_input: b}, {get_input: f}, {get_input: s}, {get_input: l}]}"
	result, err := translate(t, withSpec(inputs, spec), tosca.Options{})
	require.NoError(t, err)
	assert.Equal(t, []any{int64(6), true, 1.5, "6", []any{int64(7)}}, result.Objects[0]["value"])

	for _, row := range []struct{ kind, value, want string }{
		{"integer", `"6.5"`, `"6.5" is not an integer`},
		{"integer", `"six"`, `"six" is not an integer`},
		{"boolean", `"maybe"`, `"maybe" is not a boolean`},
		{"boolean", `"1"`, `"1" is not a boolean`},
		{"float", `""`, `"" is not a number`},
	} {
		_, err := translate(t, withSpec("{i: {type: "+row.kind+", default: "+row.value+"}}", "{apiVersion: v1, kind: Secret, metadata: {name: a}, x: {get_input: i}}"), tosca.Options{})
		assert.ErrorContains(t, err, row.want)
	}
	strict := strings.Replace(withSpec(inputs, strings.ReplaceAll(spec, "get_input", "$get_input")), "tosca_simple_yaml_1_3\ntopology_template", "tosca_2_0\nservice_template", 1)
	_, err = translate(t, strict, tosca.Options{})
	assert.ErrorContains(t, err, `inputs.i.default: "6" is not an integer`)
}

func TestSensitiveInputsAreMasked(t *testing.T) {
	template := withSpec("{plain: {type: integer}, other: {type: string}}", "{apiVersion: v1, kind: Secret, metadata: {name: a}}") +
		"  outputs:\n    direct: {value: {get_input: other}}\n    joined: {value: {concat: [a, {get_input: other}]}}\n    nested: {value: [{a: {get_input: other}}]}\n    part: {value: {token: [{get_input: other}, t, 0]}}\n    free: {value: 1}\n"
	inputs := map[string]tosca.Input{"plain": {Value: "hunter2", Sensitive: true}, "other": {Value: "hunter2", Sensitive: true}}
	_, err := tosca.Translate(t.Context(), source(template), inputs, tosca.Options{})
	assert.EqualError(t, err, "t.yaml:3:12: inputs.plain: (hidden) is not an integer")
	inputs["plain"] = tosca.Input{Value: 1}
	typed := "data_types: {Login: {properties: {hunter1: {type: string, required: false}}}}\ntopology_template"
	_, err = tosca.Translate(t.Context(), source(strings.Replace(strings.Replace(template, "topology_template", typed, 1), "other: {type: string}", "other: {type: Login}", 1)),
		map[string]tosca.Input{"plain": inputs["plain"], "other": {Value: map[string]any{"hunter2": "x"}, Sensitive: true}}, tosca.Options{})
	assert.ErrorContains(t, err, "Login has no property (hidden)")
	assert.NotContains(t, err.Error(), "hunter")
	result, err := tosca.Translate(t.Context(), source(template), inputs, tosca.Options{})
	require.NoError(t, err)
	assert.NotContains(t, fmt.Sprint(result.Outputs, result.Warnings), "hunter2")
	assert.Equal(t, tosca.Output{Name: "free", Value: int64(1), State: tosca.Available}, result.Outputs[4])
	for _, output := range result.Outputs[:4] {
		assert.Equal(t, tosca.Hidden, output.State, output.Name)
		assert.Nil(t, output.Value)
	}
}

// The name of a field of a data type decides as the name of an input does.
func TestSensitiveFieldsAreMasked(t *testing.T) {
	template := header + "data_types: {Login: {properties: {user: {type: string}, password: {type: string, constraints: [{min_length: 8}]}}}}\n" +
		"topology_template: {inputs: {db: {type: Login}, all: {type: list, entry_schema: Login, required: false}}, " +
		"outputs: {whole: {value: {get_input: db}}, within: {value: [{a: {get_input: db}}]}, user: {value: {get_input: [db, user]}}}, " +
		"node_templates: {a: {type: tosca.nodes.indigo.KubernetesObject, properties: {spec: {apiVersion: v1, kind: Secret, metadata: {name: a}}}}}}\n"
	given := func(password string) tosca.Input {
		return tosca.Input{Value: map[string]any{"user": "u", "password": password}}
	}
	result, err := tosca.Translate(t.Context(), source(template), map[string]tosca.Input{"db": given("hunter2hunter2")}, tosca.Options{})
	require.NoError(t, err)
	assert.NotContains(t, fmt.Sprint(result.Outputs), "hunter2")
	assert.Equal(t, tosca.Hidden, result.Outputs[0].State)
	assert.Equal(t, tosca.Hidden, result.Outputs[1].State)
	assert.Equal(t, tosca.Output{Name: "user", Value: "u", State: tosca.Available}, result.Outputs[2])
	_, err = tosca.Translate(t.Context(), source(template), map[string]tosca.Input{"db": given("hunter2")}, tosca.Options{})
	assert.EqualError(t, err, "t.yaml:3:30: inputs.db.password: value (hidden) has a length that is less than 8")
	_, err = tosca.Translate(t.Context(), source(template), map[string]tosca.Input{
		"db": given("hunter2hunter2"), "all": {Value: []any{map[string]any{"user": "u", "password": map[string]any{"hunter2": 1}}}},
	}, tosca.Options{})
	assert.EqualError(t, err, "t.yaml:3:49: inputs.all[0].password: (hidden) is not a string")
}

// A map whose only key is the name of a function is a call, at any position.
func TestCallsInMaps(t *testing.T) {
	for _, row := range []struct{ name, content, want string }{
		{"an input that is not there", "{get_input: knwon}", `: unknown input "knwon": did you mean known?`},
		{"text where a list is wanted", "{concat: text}", ".concat: the function concat needs a list of arguments, not text (if it is data, write !!map before the map)"},
		{"a key of a Secret", "{token: abc}", ".token: the function token needs a list of arguments, not text (if it is data, write !!map before the map)"},
		{"a property without a node", "{get_property: b}", ".get_property: the function get_property needs a list of arguments, not text (if it is data, write !!map before the map)"},
		{"what needs a running deployment", "{get_operation_output: [a, b, c, d]}", ".get_operation_output: needs a running deployment; not available when manifests are rendered"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := translate(t, withSpec("{known: {type: string, default: x}}", "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: "+row.content+"}}"), tosca.Options{})
			assert.ErrorContains(t, err, "node_templates.a.properties.spec.stringData.a"+row.want)
		})
	}
}

func TestMapThatResemblesCallRemainsMap(t *testing.T) {
	data := func(template string) (any, []string) {
		result, err := translate(t, template, tosca.Options{})
		require.NoError(t, err)
		return result.Objects[0]["stringData"], texts(result.Warnings)
	}
	misspelt := strings.Replace("get_attribute", "tt", "t", 1)
	content, warnings := data(withSpec("{known: {type: string, default: x}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: !!map {token: abc}, b: !!map {"+misspelt+": [x]}, c: {get_inputs: known}, d: {get_input: known}, e: {tokens: abc}, f: {on: [x]}}}"))
	assert.Equal(t, map[string]any{
		"a": map[string]any{"token": "abc"}, "b": map[string]any{misspelt: []any{"x"}}, "c": map[string]any{"get_inputs": "known"}, "d": "x",
		"e": map[string]any{"tokens": "abc"}, "f": map[string]any{"on": []any{"x"}},
	}, content)
	assert.Equal(t, []string{"t.yaml:6:137: node_templates.a.properties.spec.stringData.c.get_inputs: is not changed, because no function has that name: did you mean get_input? If it is data, write !!map before the map"}, warnings)

	content, warnings = data("tosca_definitions_version: tosca_2_0\nservice_template: {node_templates: {a: {type: holdfast.nodes.KubernetesObject, properties: {spec: " +
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: {token: abc}, b: {$$token: abc}, c: {concat: [x]}, d: !!map {concat: [x]}}}}}}}\n")
	assert.Equal(t, map[string]any{
		"a": map[string]any{"token": "abc"}, "b": map[string]any{"$token": "abc"}, "c": map[string]any{"concat": []any{"x"}}, "d": map[string]any{"concat": []any{"x"}},
	}, content)
	assert.Equal(t, []string{"t.yaml:2:204: node_templates.a.properties.spec.stringData.c.concat: is not a call: in TOSCA 2.0 functions begin with $, as in $concat; if it is data, write !!map before the map"}, warnings)
}

func TestValidateNeedsNoValues(t *testing.T) {
	template := withSpec("{n: {type: integer}}", `{concat: ["a: ", {get_input: n}]}`)
	_, err := tosca.Validate(t.Context(), source(template), nil, tosca.Options{})
	require.NoError(t, err)
	_, err = tosca.Validate(t.Context(), source(template), map[string]tosca.Input{"n": {Value: 1}}, tosca.Options{})
	require.Error(t, err, "with a value it is checked")
	_, err = tosca.Validate(t.Context(), source(strings.Replace(template, "get_input: n", "get_input: m", 1)), nil, tosca.Options{})
	assert.EqualError(t, err, `t.yaml:6:33: node_templates.a.properties.spec.concat[1]: unknown input "m" (declared: n)`)
}

func TestImportsAreRelativeToTheFileThatHasThem(t *testing.T) {
	resolver := files{
		"types/a.yaml":                       "imports: [../b.yaml, a.yaml]\n",
		"b.yaml":                             "node_types: {acme.B: {derived_from: tosca.nodes.indigo.KubernetesObject}}\n",
		"https://example.com/x/types/a.yaml": "imports: [../b.yaml]\n",
		"https://example.com/x/b.yaml":       "node_types: {acme.B: {derived_from: tosca.nodes.indigo.KubernetesObject}}\n",
	}
	template := header + "imports: [types/a.yaml]\ntopology_template: {node_templates: {a: {type: acme.B, properties: {spec: {apiVersion: v1, kind: Secret, metadata: {name: a}}}}}}\n"
	local, err := translate(t, template, tosca.Options{Resolver: resolver})
	require.NoError(t, err)
	assert.Equal(t, []string{"types/a.yaml:1:22: imports[1]: types/a.yaml is already loaded"}, texts(local.Warnings))
	fetched := source(template)
	fetched.URL = "https://example.com/x/t.yaml"
	remote, err := tosca.Translate(t.Context(), fetched, nil, tosca.Options{Resolver: resolver})
	require.NoError(t, err)
	assert.Equal(t, local.Objects, remote.Objects)

	_, err = translate(t, header+"imports: [nope.yaml, 'https://example.com/y', https://user:hunter2@example.com/z]\n", tosca.Options{Resolver: resolver})
	assert.EqualError(t, err, "t.yaml:2:11: imports[0]: nope.yaml: not found\n"+
		"t.yaml:2:22: imports[1]: https://example.com/y: host not in the allowed list\n"+
		"t.yaml:2:47: imports[2]: contains a user or password, which is not allowed in a template")
	_, err = translate(t, header+"repositories: {r: {url: https://example.com, credential: hunter2}}\nimports: [{file: b.yaml, repository: r}]\n", tosca.Options{Resolver: resolver})
	assert.EqualError(t, err, "t.yaml:2:46: repositories.r.credential: a credential must not be written into a template")
	fetched.Data = []byte(header + "imports: ['//user:hunter2@example.com/z', '//example.com/b.yaml', 'ftp:b.yaml']\n")
	_, err = tosca.Translate(t.Context(), fetched, nil, tosca.Options{Resolver: resolver, QuoteFetched: true})
	assert.EqualError(t, err, "t.yaml:2:11: imports[0]: contains a user or password, which is not allowed in a template\n"+
		"t.yaml:2:43: imports[1]: https://example.com/b.yaml: host not in the allowed list\n"+
		"t.yaml:2:67: imports[2]: ftp:b.yaml: is not an https URL")
}

func TestDigestCoversEverythingRead(t *testing.T) {
	template := header + "imports: [b.yaml]\ntopology_template: {node_templates: {a: {type: acme.B, properties: {spec: {apiVersion: v1, kind: Secret, metadata: {name: a}}}}}}\n"
	digest := func(template, imported string) string {
		result, err := translate(t, template, tosca.Options{Resolver: files{"b.yaml": imported}})
		require.NoError(t, err)
		assert.Regexp(t, "^sha256:[0-9a-f]{64}$", result.Digest)
		return result.Digest
	}
	const types = "node_types: {acme.B: {derived_from: tosca.nodes.indigo.KubernetesObject}}\n"
	one := digest(template, types)
	assert.Equal(t, one, digest(template, types))
	assert.NotEqual(t, one, digest(template+"\n", types))
	assert.NotEqual(t, one, digest(template, types+"\n"))
}

func TestMessagesAboutFetchedFilesQuoteNothing(t *testing.T) {
	const leak = "{hunter2: hunter2, tosca_definitions_version: hunter2, hunter2: [hunter2]}"
	fetched := tosca.Source{Name: "t.yaml", URL: "https://example.com/t.yaml", Data: []byte(leak)}
	_, err := tosca.Translate(t.Context(), fetched, nil, tosca.Options{})
	assert.EqualError(t, err, "t.yaml:1:20: the version of TOSCA is not known\nt.yaml:1:56: a map contains a key twice")
	_, err = tosca.Translate(t.Context(), fetched, nil, tosca.Options{QuoteFetched: true})
	assert.ErrorContains(t, err, "hunter2")
	for _, text := range []string{leak, "hunter2", "hunter2: *hunter2", header + "hunter2: x\nnode_types: {hunter2: {derived_from: hunter2}}"} {
		_, err = translate(t, header+"imports: ['https://example.com/x']\ntopology_template: {node_templates: {}}\n", tosca.Options{Resolver: files{"https://example.com/x": text}})
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "hunter2")
		assert.Contains(t, err.Error(), "https://example.com/x:", "but where it is")
	}
}

// The contents of a file that must not be quoted do not appear in errors of the other files in the archive,
// nor in warnings.
func TestNoPartOfASealedArchiveIsQuoted(t *testing.T) {
	const warned = "topology_template: {substitution_mappings: {}, node_templates: {hunter2: {type: tosca.nodes.indigo.KubernetesObject, interfaces: {}, properties: {spec: {apiVersion: v1, kind: Secret, metadata: {name: a}}}}}}\n"
	for _, source := range []tosca.Source{{URL: "https://example.com/shop.csar"}, {Sensitive: true}} {
		source.Name = "shop.csar"
		source.Data = zipOf(t, packed{"a.yaml", header + "imports: [d/b.yaml]\n" + warned}, packed{"d/b.yaml", "node_types: {hunter2: {derived_from: hunter2}, tosca.nodes.indigo.KubernetesObject: {derived_from: hunter3}}\n"})
		_, err := tosca.Translate(t.Context(), source, nil, tosca.Options{})
		require.EqualError(t, err, "shop.csar!d/b.yaml:1:86: the type is not known or not valid")
		source.Data = zipOf(t, packed{"a.yaml", header + warned})
		result, err := tosca.Translate(t.Context(), source, nil, tosca.Options{})
		require.NoError(t, err)
		require.NotEmpty(t, result.Warnings)
		for _, warning := range texts(result.Warnings) {
			assert.NotContains(t, warning, "hunter2")
			assert.Contains(t, warning, "has no effect, or not the expected effect")
		}
	}
}

func TestArchives(t *testing.T) {
	const kubernetes = "topology_template: {node_templates: {a: {type: tosca.nodes.indigo.KubernetesObject, properties: {spec: {apiVersion: v1, kind: Secret, metadata: {name: a}}}}}}\n"
	for _, row := range []struct {
		name  string
		files []packed
		want  string
	}{
		{"a template of 1.0 needs TOSCA.meta", []packed{{"a.yaml", "tosca_definitions_version: tosca_simple_yaml_1_0\n" + kubernetes}},
			"s.csar!a.yaml: a CSAR with a template of tosca_simple_yaml_1_0 needs a TOSCA-Metadata/TOSCA.meta"},
		{"an import outside", []packed{{"a.yaml", header + "imports: [../a.yaml, /../../b.yaml, nope.yaml, d/e.yaml]\n"}},
			"s.csar!a.yaml:2:11: imports[0]: ../a.yaml: points outside the CSAR\n" +
				"s.csar!a.yaml:2:22: imports[1]: /../../b.yaml: points outside the CSAR\n" +
				"s.csar!a.yaml:2:37: imports[2]: nope.yaml: not found in the archive\n" +
				"s.csar!a.yaml:2:48: imports[3]: d/e.yaml: not found in the archive"},
		{"an import that is an archive", []packed{{"a.yaml", header + "imports: [b.csar]\n"}, {"b.csar", string(zipOf(t, packed{"c.yaml", header}))}},
			"s.csar!b.csar:1:38: the text is not valid UTF-8: save it as UTF-8"},
		{"an artifact outside", []packed{{"a.yaml", header + "topology_template: {node_templates: {a: {type: tosca.nodes.indigo.KubernetesObject, artifacts: {manifest: ../../etc/passwd.yaml}}}}\n"}},
			"s.csar!a.yaml:2:97: node_templates.a.artifacts.manifest: ../../etc/passwd.yaml: points outside the CSAR"},
		{"an artifact that is no text", []packed{{"a.yaml", header + "topology_template: {node_templates: {a: {type: tosca.nodes.indigo.KubernetesObject, artifacts: {manifest: d/b.yaml}}}}\n"}, {"d/b.yaml", "\xff"}},
			"s.csar!a.yaml:2:97: node_templates.a.artifacts.manifest: the artifact is not text, or is larger than 1048576 bytes"},
		{"a broken TOSCA.meta", []packed{{"TOSCA.meta", "CSAR-Version: 2.0\nx\n"}}, "s.csar!TOSCA.meta:2:1: a line must have the form Name: value"},
		{"no zip", nil, "s.csar: the archive has no TOSCA-Metadata/TOSCA.meta, so it should have exactly one YAML file in its root, and has 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := tosca.Translate(t.Context(), tosca.Source{Name: "s.csar", Data: zipOf(t, row.files...)}, nil, tosca.Options{Resolver: files{}})
			assert.EqualError(t, err, row.want)
		})
	}
	result, err := tosca.Translate(t.Context(), tosca.Source{Name: "s.csar", Data: zipOf(t, packed{"a.yaml", header + kubernetes})}, nil, tosca.Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{
		"s.csar!a.yaml:1:1: a CSAR without TOSCA.meta should have template_name in its metadata",
		"s.csar!a.yaml:1:1: a CSAR without TOSCA.meta should have template_version in its metadata",
	}, texts(result.Warnings))
}

func TestJSONWithTabs(t *testing.T) {
	result, err := translate(t, "{\n\t\"tosca_definitions_version\":\t\"tosca_2_0\",\n\t\"service_template\": {\"node_templates\": {\"a\": {\"type\": \"holdfast.nodes.KubernetesObject\", \"properties\": {\"spec\": {\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"name\": \"a\"}, \"x\": \"\\t\"}}}}}\n}", tosca.Options{})
	require.NoError(t, err)
	assert.Equal(t, "\t", result.Objects[0]["x"])
}

func TestObjectsShareNothing(t *testing.T) {
	result, err := translate(t, withSpec("{m: {type: map, default: {a: {b: c}}}}", "[{apiVersion: v1, kind: Secret, metadata: {name: a}, x: {get_input: m}, y: {get_input: m}}]"), tosca.Options{})
	require.NoError(t, err)
	x := result.Objects[0]["x"].(map[string]any)
	x["a"].(map[string]any)["b"] = "changed"
	assert.Equal(t, map[string]any{"a": map[string]any{"b": "c"}}, result.Objects[0]["y"])
}

func TestACancelledContextEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	_, err := tosca.Translate(ctx, source(withSpec("{}", "{}")), nil, tosca.Options{})
	assert.ErrorIs(t, err, cause)
}

func TestAPanicBecomesAnError(t *testing.T) {
	resolver := panics{}
	_, err := translate(t, header+"imports: [a.yaml]\n", tosca.Options{Resolver: resolver})
	assert.EqualError(t, err, "t.yaml: the template cannot be translated because of a bug in Holdfast: please report it with the template")
}

type panics struct{}

func (panics) Resolve(context.Context, string) ([]byte, error) { panic("hunter2") }

func TestTypesMayHaveNoBody(t *testing.T) {
	const types = "interface_types: {my.I: }\ncapability_types:\n  my.C:\nnode_types: {my.N: }\ndata_types: {my.D: }\n"
	_, err := translate(t, types+withSpec("{}", "{apiVersion: v1, kind: Secret, metadata: {name: a}}"), tosca.Options{})
	assert.NoError(t, err)
}

// Unusual parts of nodes that are left out do not affect the manifests.
func TestForeignPartsMayBeOdd(t *testing.T) {
	const kubernetes = "k: {type: tosca.nodes.indigo.KubernetesObject, properties: {spec: {apiVersion: v1, kind: Secret, metadata: {name: a}}}}"
	resolver := files{
		"types/a.yaml": "imports: [more/b.yaml]\n",
		"types/c.yaml": "imports: [data/types/d.yaml]\n",
		"types/d.yaml": "node_types: {acme.B: {derived_from: tosca.nodes.Root}}\n",
		"more/b.yaml":  "node_types: {acme.B: {derived_from: tosca.nodes.Root}}\n",
	}
	for _, row := range []struct{ name, head, nodes, want string }{
		{"a nonstandard directive", header, "a: {type: tosca.nodes.Compute, directives: [proxy]}, " + kubernetes, ""},
		{"a nonstandard directive of a Kubernetes object", header, "k: {type: tosca.nodes.indigo.KubernetesObject, directives: [proxy]}", `there is no directive "proxy"`},
		{"requirements that make a loop", header, "a: {type: tosca.nodes.Compute, requirements: [{x: b}]}, b: {type: tosca.nodes.Compute, requirements: [{x: a}]}, " + kubernetes, ""},
		{"a loop that a Kubernetes object waits for", header, "a: {type: tosca.nodes.Compute, requirements: [{x: b}]}, b: {type: tosca.nodes.Compute, requirements: [{x: a}]}, " +
			strings.Replace(kubernetes, "properties", "requirements: [{x: a}], properties", 1), "requirements make a loop: a -> b -> a"},
		{"an import that is found from the template", header + "imports: [types/a.yaml]\n", "a: {type: acme.B}, " + kubernetes, ""},
		{"an import that is found without its first directory", header + "imports: [templates/more/b.yaml]\n", "a: {type: acme.B}, " + kubernetes, ""},
		{"an import in the directory of the file", header + "imports: [types/c.yaml]\n", "a: {type: acme.B}, " + kubernetes, ""},
		{"a parent that is not known", header + "node_types: {acme.A: {derived_from: acme.X, properties: {p: {type: int}}}}\n", kubernetes, ""},
		{"an import that is nowhere", header + "imports: [templates/more/d.yaml]\n", kubernetes, "imports[0]: templates/more/d.yaml: not found"},
		{"types in the sections of others", header + "node_types: {tosca.x.D: {derived_from: tosca.datatypes.Root}, tosca.x.R: {derived_from: tosca.relationships.Root}, acme.A: {derived_from: tosca.nodes.Root, properties: {p: {type: tosca.x.D, required: false}}}}\n", "a: {type: acme.A}, " + kubernetes, ""},
		{"the profile for edge computing", "tosca_definitions_version: tosca_simple_profile_for_mec_1_0_0\n", kubernetes, ""},
		{"keys that the specification prints", header + "node_types: {acme.A: {derived_from: tosca.nodes.Root, short_name: A, type_qualified_name: tosca:A}}\n", "a: {type: acme.A}, " + kubernetes, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			result, err := translate(t, row.head+"topology_template: {node_templates: {"+row.nodes+"}}\n", tosca.Options{Resolver: resolver, IgnoreForeignNodes: true})
			if row.want != "" {
				assert.ErrorContains(t, err, row.want)
				return
			}
			require.NoError(t, err)
			assert.Len(t, result.Objects, 1)
		})
	}
}

// The parsers of TOSCA 1.x use the last of two duplicate keys. In types, if a manifest needs no lost value,
// Translate does so, too, with a warning.
func TestAKeyThatIsTwiceInAType(t *testing.T) {
	const topology = "topology_template: {node_templates: {k: {type: acme.K}}}\n"
	const twice = "node_types:\n  acme.K:\n    derived_from: tosca.nodes.indigo.KubernetesObject\n    properties:\n" +
		"      size:\n        type: string\n        entry_schema:\n        type: integer\n        type: list\n        default: [1]\n" +
		"      spec: {type: string, default: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {get_property: [SELF, size]}}}\n"
	result, err := translate(t, header+twice+topology, tosca.Options{})
	require.NoError(t, err)
	assert.Equal(t, []any{int64(1)}, result.Objects[0]["data"])
	assert.Equal(t, []string{
		`t.yaml:9:9: duplicate key "type", first on line 7: the last value is used`,
		`t.yaml:10:9: duplicate key "type", first on line 9: the last value is used`,
	}, texts(result.Warnings))
	for name, template := range map[string]string{
		"in a manifest":   header + strings.Replace(twice, "kind: ConfigMap", "kind: ConfigMap, kind: Secret", 1) + topology,
		"in the topology": header + "topology_template: {node_templates: {k: {type: a, type: b}}}\n",
		"in TOSCA 2.0":    "tosca_definitions_version: tosca_2_0\n" + twice + "service_template: {node_templates: {k: {type: acme.K}}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := translate(t, template, tosca.Options{})
			assert.ErrorContains(t, err, "first on line")
		})
	}
}

func TestADefaultThatIsTheInputItselfIsNone(t *testing.T) {
	template := withSpec("{flavour: {type: string, default: {get_input: flavour}}}", "{apiVersion: v1, kind: X, metadata: {name: a}, f: {get_input: flavour}}")
	_, err := translate(t, template, tosca.Options{})
	require.EqualError(t, err, "t.yaml:3:12: inputs.flavour: required input has no value and no default")
	result, err := tosca.Translate(t.Context(), source(template), map[string]tosca.Input{"flavour": {Value: "small"}}, tosca.Options{})
	require.NoError(t, err)
	assert.Equal(t, "small", result.Objects[0]["f"])
}

// A map of constraints is a list with one element, and does not replace the validation.
func TestConstraintsAndValidationBothCount(t *testing.T) {
	template := "tosca_definitions_version: tosca_2_0\nservice_template: {inputs: {l: {type: string, constraints: {min_length: 1}, validation: {$max_length: [$value, 2]}}}, " +
		"node_templates: {a: {type: tosca.nodes.indigo.KubernetesObject, properties: {spec: {apiVersion: v1, kind: Secret, metadata: {name: a}}}}}}\n"
	for text, want := range map[string]string{"": "has length 0, less than 1", "abc": "has length 3, more than 2"} {
		_, err := tosca.Translate(t.Context(), source(template), map[string]tosca.Input{"l": tosca.TextInput(text, false)}, tosca.Options{})
		assert.ErrorContains(t, err, want)
	}
}
