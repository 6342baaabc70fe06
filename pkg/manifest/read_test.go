package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func values(documents []Document) []map[string]any {
	var values []map[string]any
	for _, document := range documents {
		values = append(values, document.Value)
	}
	return values
}

func TestRead(t *testing.T) {
	a, ab := map[string]any{"a": int64(1)}, []map[string]any{{"a": int64(1)}, {"b": int64(2)}}
	rows := []struct {
		name, text string
		want       []map[string]any
	}{
		{"nothing", "", nil},
		{"only comments and separators", "# nothing\n---\n---\n# nothing\n...\n", nil},
		{"an empty document is skipped", "a: 1\n---\n---\nb: 2\n---\n", ab},
		{"a null document is skipped", "null\n---\na: 1\n", []map[string]any{a}},
		{"documents end with dots", "a: 1\n...\n---\nb: 2\n...\n", ab},
		{"a document begins on the line of its separator", "--- {a: 1}\n--- {b: 2}\n", ab},
		{"a directive of the supported version", "%YAML 1.1\n---\na: 1\n", []map[string]any{a}},
		{"CRLF", "a: 1\r\n---\r\nb: 2\r\n", ab},
		{"a byte order mark", "\ufeffa: 1\n", []map[string]any{a}},
		{"byte order marks left by joining files", "\ufeffa: 1\n\ufeff---\n\ufeffb: 2\n", ab},
		{"JSON", `{"a": 1}`, []map[string]any{a}},
		{"JSON after a byte order mark and with CRLF", "\ufeff{\r\n\"a\": 1\r\n}\r\n", []map[string]any{a}},
		{"JSON indented with tabs", "{\n\t\"a\":\t1\n}\n", []map[string]any{a}},
		{"JSON documents one after the other", "{\"a\":1}{\"b\":2}\n", ab},
		{"JSON documents, one on each line", "{\"a\":1}\n{\"b\":2}\n", ab},
		{"JSON documents between separators of YAML", "{\"a\":1}\n---\n{\"b\":2}\n", ab},
		{"YAML that begins like JSON", "{a: 1}\n---\nb: 2\n", ab},
		{"JSON with a comma too many is YAML", `{"a": 1,}`, []map[string]any{a}},
		{"a long key in JSON", `{"` + strings.Repeat("k", 70_000) + `": 1}`, []map[string]any{{strings.Repeat("k", 70_000): int64(1)}}},
		{"a number in JSON is an integer if its value is one", `{"a": 1.0}`, []map[string]any{a}},
		{"nulls are kept", "a: null\nb: ~\nc:\nd: [null]\n", []map[string]any{{"a": nil, "b": nil, "c": nil, "d": []any{nil}}}},
		{"nulls in JSON are kept", `{"a": null, "d": [null]}`, []map[string]any{{"a": nil, "d": []any{nil}}}},
		{"empty maps and lists are kept", "a: {}\nb: []\n", []map[string]any{{"a": map[string]any{}, "b": []any{}}}},
		{
			"a key is the text that is written", "y: 1\n1: 1\n0644: 1\n1.50: 1\ntrue: 1\n2001-01-01: 1\n\"~\": 1\n\"<<\": 1\n",
			[]map[string]any{{
				"y": int64(1), "1": int64(1), "0644": int64(1), "1.50": int64(1), "true": int64(1), "2001-01-01": int64(1),
				"~": int64(1), "<<": int64(1),
			}},
		},
		{
			"an alias is a copy", "a: &x {k: [1]}\nb: *x\n",
			[]map[string]any{{"a": map[string]any{"k": []any{int64(1)}}, "b": map[string]any{"k": []any{int64(1)}}}},
		},
		{"an alias as a key", "a: &x k\n*x : 1\n", []map[string]any{{"a": "k", "k": int64(1)}}},
		{"an alias of a key", "&x a: *x\n", []map[string]any{{"a": "a"}}},
		{
			"keys in a map have precedence over merged keys", "base: &x {k: 1, l: 1}\nafter: {k: 2, <<: *x}\nbefore: {<<: *x, k: 3}\ninline: {<<: {k: 4}}\n",
			[]map[string]any{{
				"base": map[string]any{"k": int64(1), "l": int64(1)}, "after": map[string]any{"k": int64(2), "l": int64(1)},
				"before": map[string]any{"k": int64(3), "l": int64(1)}, "inline": map[string]any{"k": int64(4)},
			}},
		},
		{
			"an anchor in a merged map",
			"<<: &x {a: 1}\nb: *x\n", []map[string]any{{"a": int64(1), "b": a}},
		},
		{
			"of several maps that are merged the first prevails", "a: &x {k: 1}\nb: &y {k: 2, l: 2}\nc: {<<: [*x, *y, {m: 3}]}\n",
			[]map[string]any{{
				"a": map[string]any{"k": int64(1)}, "b": map[string]any{"k": int64(2), "l": int64(2)},
				"c": map[string]any{"k": int64(1), "l": int64(2), "m": int64(3)},
			}},
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			documents, err := Read("a.yaml", []byte(row.text))
			require.NoError(t, err)
			assert.Equal(t, row.want, values(documents))
		})
	}
}

func TestReadRejects(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	rows := []struct{ name, text, want string }{
		{"a duplicate key", "a: 1\nb: 2\na: 3\n", `3:1: duplicate key "a", first on line 1`},
		{"a duplicate key in depth", "l:\n- m:\n    k: 1\n    k: 1\n", `4:5: duplicate key "k", first on line 3`},
		{"two keys with one text", "1: a\n\"1\": b\n", `2:1: duplicate key "1", first on line 1`},
		{"a duplicate key in JSON", "{\"l\": [\n {\"k\": 1,\n  \"k\": 1}]}", `3:3: duplicate key "k", first on line 2`},
		{"a duplicate key in an anchor once, regardless of its aliases", "a: &x {k: 1, k: 2}\nb: *x\nc: *x\n", `1:14: duplicate key "k", first on line 1`},
		{"all faults at once", "a: 1\na: .nan\n---\n- b\n---\nc: !x y\n", "2:4: " + errNotFinite.Error() + "\n" +
			`a.yaml:2:1: duplicate key "a", first on line 1` + "\na.yaml:4:1: must be a map with apiVersion, kind and metadata, not a list\n" +
			`a.yaml:6:4: the tag "!x" is not supported: Kubernetes has no custom YAML types`},
		{"faults before a syntax error too", "a: .nan\n---\nb: [\n", "1:4: " + errNotFinite.Error() + "\na.yaml:4:1: a value is missing"},

		{"a document that is a list", "- a\n", "1:1: must be a map with apiVersion, kind and metadata, not a list"},
		{"a document that is text", "hello\n", "1:1: must be a map with apiVersion, kind and metadata, not text"},
		{"a document that is a number", "a: 1\n--- 12\n", "2:5: must be a map with apiVersion, kind and metadata, not a number"},
		{"a JSON document that is a list", ` [{"a": 1}]`, "1:2: must be a map with apiVersion, kind and metadata, not a list"},

		{"an integer beyond 64 bits", "a:\n  b: 9223372036854775808\n", "2:6: " + errTooLarge.Error()},
		{"an integer beyond 64 bits in JSON", `{"é": 9223372036854775808}`, "1:7: " + errTooLarge.Error()},
		{"a float beyond 64 bits in JSON", `{"a": 1e400}`, "1:7: " + errTooLarge.Error()},
		{"NaN", "a: .NaN\n", "1:4: " + errNotFinite.Error()},

		{"a tab that indents a key", "a:\n\tb: 1\n", "2:1: a tab in the indentation: YAML is indented with spaces"},
		{"a tab after spaces", "a:\n  b: 1\n \tc: 2\n", "3:2: a tab in the indentation: YAML is indented with spaces"},
		{"a tab before a list element", "a:\n  - b\n\t- c\n", "3:1: a tab in the indentation: YAML is indented with spaces"},
		{"a tab in literal text", "a: |\n  x\n\ty\n", "3:1: a tab in the indentation: YAML is indented with spaces"},
		{"a tab on the first line", "\ta: 1\n", "1:1: a tab in the indentation: YAML is indented with spaces"},

		{"UTF-32, little endian", "\xff\xfe\x00\x00a\x00\x00\x00", "1:1: the text is UTF-32: save it as UTF-8"},
		{"UTF-32, big endian", "\x00\x00\xfe\xff\x00\x00\x00a", "1:1: the text is UTF-32: save it as UTF-8"},
		{"UTF-16, little endian", "\xff\xfea\x00", "1:1: the text is UTF-16: save it as UTF-8"},
		{"UTF-16, big endian", "\xfe\xff\x00a", "1:1: the text is UTF-16: save it as UTF-8"},
		{"invalid UTF-8", "a: 1\nbé: \xff\n", "2:5: the text is not valid UTF-8: save it as UTF-8"},
		{"invalid UTF-8 in JSON", "{\"a\": \"\xc3\"}", "1:8: the text is not valid UTF-8: save it as UTF-8"},
		{"a control character", "a: 1\nb: x\x01\n", "2:5: a control character: YAML allows it only escaped, in double quotes"},
		{"a NUL", "a: \x00", "1:4: a control character: YAML allows it only escaped, in double quotes"},

		{"aliases that explode", bomb, "5:45: the aliases of this stream create more than 100000 copies"},
		{"an anchor that contains itself", "a: &x\n- b: *x\n", `2:6: the anchor "x" contains this alias of it`},
		{"an anchor that merges itself", "a: &x\n  <<: *x\n", `2:7: the anchor "x" contains this alias of it`},
		{"an anchor that is not there", "z: 1\na: *x\n", `2:4: unknown anchor "x" before this alias`},
		{"an anchor of another document", "a: &x 1\n---\nb: *x\n", `3:4: the anchor "x" is in another document`},
		{"a merge of text", "a: {<<: b}\n", "1:9: the key << needs a map or a list of maps"},
		{"a merge of a list of texts", "a: {<<: [b]}\n", "1:9: the key << needs a map or a list of maps"},
		{"two merges in one map", "x: &x {k: 1}\na:\n  <<: *x\n  <<: *x\n", "3:3: duplicate key << in this map: write it once, with a list"},

		{"a null key", "a:\n  ~: 1\n", "2:3: a key must be text, not null: put it in quotes"},
		{"an empty key", "a:\n  ? \n  : 1\n", "2:4: a key must be text, not null: put it in quotes"},
		{"a list as a key", "? [a]\n: 1\n", "1:3: a key must be text, not a list or a map"},
		{"a map as a key", "{a: 1}: 1\n", "1:1: a key must be text, not a list or a map"},
		{"a binary key", "!!binary YQ==: 1\n", "1:1: " + errBinary.Error()},
		{"a key with a tag of one's own", "!x a: 1\n", `1:1: the tag "!x" is not supported: Kubernetes has no custom YAML types`},

		{"501 lists in each other", "a: " + strings.Repeat("[", 500) + strings.Repeat("]", 500), "1:503: nested deeper than 500 levels"},
		{"501 maps in each other in JSON", strings.Repeat(`{"a":`, 501) + "1" + strings.Repeat("}", 501), "1:2501: nested deeper than 500 levels"},
		{"10000 lists in each other", strings.Repeat("- ", 9999), "1:1001: nested deeper than 500 levels"},
		{"20000 lists in each other, which the YAML library refuses", "a: " + strings.Repeat("[", 20000), "1:1: exceeded max depth of 10000"},
		{"20000 lists in each other in JSON", strings.Repeat("[", 20000), "1:501: nested deeper than 500 levels"},
		{"500 levels through an alias", "a: &x " + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "\nb: " + strings.Repeat("[", 300) + "*x" + strings.Repeat("]", 300), "2:304: nested deeper than 500 levels"},

		{"a map that is broken", "- x\n---\nk:\n  a: 1\n  b:\n    - x\n   - y\n", "1:1: must be a map with apiVersion, kind and metadata, not a list\n" +
			"a.yaml:4:3: this map is invalid further down: each of its lines must be a key, or be indented as part of a value"},
		{"a list that is broken", "k:\n- a\n- b\nl:\n  - a\n  b: 1\n", "5:3: this list is invalid further down: each of its lines must begin with '- ', or be indented as part of an element"},
		{"a list that is not closed", "x: 1\na: [1,2\nb: 3\n", "2:1: this list is invalid: a ',' or a ']' is missing"},
		{"a map that is not closed", "a: {b: 1\nc: 3\n", "1:1: this map is invalid: a ',' or a '}' is missing"},
		{"a key in a value", "x: 1\na: b: c\n", "2:1: a ': ' where no key can be: put the text in quotes, or correct the indentation"},
		{"a quote that is not closed", "x: 1\na: 'x\n\n", "2:1: this quote is not closed"},
		{"a key without a colon", "a: 1\nb\nc: 2\n", "2:1: a key without a ':'"},
		{"a value that begins with an at sign", "a: 1\nb: @x\n", "2:1: a character that no value can begin with: put the text in quotes"},
		{"a key that is indented too far", "a: 1\n b: 2\n", "2:2: a ': ' where no key can be: put the text in quotes, or correct the indentation"},
		{"an unknown escape", "a: 1\nb: \"\\q\"\n", "2:1: found unknown escape character"},
		{"a version of YAML that the library does not know", "%YAML 1.2\n---\na: 1\n", "1:1: the version of YAML is not supported: remove the %YAML line"},
		{"a document after dots without a separator", "a: 1\n...\nb: 1\n", "3:1: a '---' is missing before this document"},

		{"YAML in braces", "{a: [1}\n", "1:1: this list is invalid: a ',' or a ']' is missing"},
		{"JSON without a comma", "{\"a\": 1,\n \"b\": 2\n \"c\": 3}", `3:2: invalid character '"' after object key:value pair`},
		{"JSON that is cut off", "{\"a\": [1,", "1:10: the document ends before it is complete"},
		{"JSON that is cut off in a string", "{\"a\": \"b", "1:7: the document ends before it is complete"},
		{"YAML after JSON", "{\"a\": 1}\n---\nx: 1\na: b: c\n", "4:1: a ': ' where no key can be: put the text in quotes, or correct the indentation"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			documents, err := Read("a.yaml", []byte(row.text))
			assert.EqualError(t, err, "a.yaml:"+row.want)
			assert.Nil(t, documents)
		})
	}
}

func TestReadNeverQuotesAValue(t *testing.T) {
	for _, text := range []string{
		"a: !!int hunter2\n", "a: !x hunter2\n", "a: hunter2: b\n", "a: 'hunter2\n", "a: [hunter2\n", "a: \"hunter2\\q\"\n", "{\"a\": hunter2]",
		"{\"a\": \"hunter2\n\"", "- hunter2", "hunter2", "a: 98765432109876543210\n", "a: |\n  hunter2\n\thunter2\n",
	} {
		_, err := Read("", []byte(text))
		require.Error(t, err, text)
		assert.NotContains(t, err.Error(), "hunter2")
		assert.NotContains(t, err.Error(), "9876")
	}
}

func TestReadLimitsErrors(t *testing.T) {
	_, err := Read("", []byte(strings.Repeat("a: 1\n", 100_000)))
	faults := strings.Split(err.Error(), "\n")
	assert.Len(t, faults, 21)
	assert.Equal(t, "22:1: there are more than 20 errors: correct those above first", faults[20])
}

func TestReadErrorsHavePaths(t *testing.T) {
	_, err := Read("", []byte("spec:\n  ports:\n  - name: a\n    name: b\n"))
	var fault *Error
	require.ErrorAs(t, err, &fault)
	assert.Equal(t, "spec.ports[0].name", fault.Path.String())
	assert.Equal(t, `4:5: duplicate key "name", first on line 3`, fault.Error())
}

func TestReadJSONRoundTrip(t *testing.T) {
	value := map[string]any{
		"text": "é\n\t\"\\ \u2028<&>", "": "empty key", "a.b/c~d": true, "integer": int64(-9223372036854775808), "float": 0.1, "large": 1e300,
		"null": nil, "list": []any{nil, []any{}, map[string]any{}, "yes", "12", "~", false}, "map": map[string]any{"<<": "x", "yes": nil},
	}
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	documents, err := Read("", raw)
	require.NoError(t, err)
	assert.Equal(t, []map[string]any{value}, values(documents))

	decoded, err := DecodeJSON(raw)
	require.NoError(t, err)
	assert.Equal(t, value, decoded)
}

func TestDecodeJSONRejectsNonObjects(t *testing.T) {
	for text, want := range map[string]string{
		"null": "decode manifest: must be a JSON object, not null",
		"[]":   "decode manifest: must be a JSON object, not a list",
		"{":    "decode manifest: unexpected end of JSON input",
	} {
		_, err := DecodeJSON([]byte(text))
		assert.EqualError(t, err, want, text)
	}
}
