package terminal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/delta"
)

func TestVisible(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"text stays as it is", "a → b\n\tü", "a → b\n\tü"},
		{"an escape sequence is written out", "\x1b[31m", `\x1b[31m`},
		{"a return to the line's beginning is written out", "a\rb", `a\x0db`},
		{"a change of direction is written out", "a\u202eb", `a\u202eb`},
		{"a space that is none is written out", "a\u00a0b", `a\xa0b`},
		{"what is no text is written out", "a\xffb", `a\xffb`},
		{"the sign for what is no text is written out", "a\ufffdb", `a\ufffdb`},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, Visible(row.text))
		})
	}
}

func TestInline(t *testing.T) {
	for _, row := range []struct {
		name  string
		value delta.Value
		want  string
	}{
		{"nothing is said to be absent", delta.Value{}, "(absent)"},
		{"a text that says so is in quotes", delta.Some("(absent)"), `"(absent)"`},
		{"null is not absence", delta.Some(nil), "null"},
		{"a word", delta.Some("live"), "live"},
		{"a text that looks like a number", delta.Some("1"), `"1"`},
		{"a text that kubectl takes for a boolean", delta.Some("yes"), `"yes"`},
		{"an empty text", delta.Some(""), `""`},
		{"a number", delta.Some(int64(1)), "1"},
		{"a fraction", delta.Some(0.5), "0.5"},
		{"a boolean", delta.Some(false), "false"},
		{"a map", delta.Some(map[string]any{"value": "x", "name": "web", "a": []any{}}), "{name: web, a: [], value: x}"},
		{"a masked value has no quotes", delta.Some("*** (desired)"), "*** (desired)"},
		{"an image", delta.Some("web:1.2@sha256:0"), "web:1.2@sha256:0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, ok := Inline(row.value)
			assert.True(t, ok)
			assert.Equal(t, row.want, got)
		})
	}
	_, ok := Inline(delta.Some("two\nlines"))
	assert.False(t, ok, "a text of two lines does not go on one")
}

func TestObjectYAMLIsInReadingOrder(t *testing.T) {
	assert.Equal(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: b\n  labels: {}\n  annotations: {}\ndata: {}\nstatus: {}\n",
		ObjectYAML(map[string]any{
			"status": map[string]any{}, "data": map[string]any{}, "kind": "ConfigMap", "apiVersion": "v1",
			"metadata": map[string]any{"annotations": map[string]any{}, "labels": map[string]any{}, "namespace": "b", "name": "a"},
		}))
}

func TestChangedLines(t *testing.T) {
	var long []string
	for _, letter := range "abcdefghijklmnopqrst" {
		long = append(long, string(letter))
	}
	before := strings.Join(long, "\n") + "\n"
	after := strings.Replace(strings.Replace(before, "b\n", "B\n", 1), "t\n", "t", 1)
	assert.Equal(t, []MarkedLine{
		{" ", "a"},
		{"-", "b"},
		{"+", "B"},
		{" ", "c"},
		{" ", "d"},
		{" ", "e"},
		{" ", "…"},
		{" ", "q"},
		{" ", "r"},
		{" ", "s"},
		{"-", "t"},
		{"+", "t"},
		{" ", "(no line break at the end)"},
	}, changedLines(before, after))
}

func TestATextIsToldFromAMapThatReadsLikeIt(t *testing.T) {
	text, object := delta.Some("a: 1\n"), delta.Some(map[string]any{"a": int64(1)})
	assert.Equal(t, []MarkedLine{{"-", "|"}, {"-", "  a: 1"}, {"+", "a: 1"}}, BlockLines(text, object))
	assert.Empty(t, BlockLines(text, text))
}

func TestWrap(t *testing.T) {
	assert.Equal(t, []string{"one two", "three", "muchlongerthanthat", "x", "next"}, Wrap("one two three muchlongerthanthat x\nnext", 8))
}
