package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
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
			assert.Equal(t, row.want, visible(row.text))
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
			got, ok := inline(row.value)
			assert.True(t, ok)
			assert.Equal(t, row.want, got)
		})
	}
	_, ok := inline(delta.Some("two\nlines"))
	assert.False(t, ok, "a text of two lines does not go on one")
}

func TestObjectYAMLIsInReadingOrder(t *testing.T) {
	assert.Equal(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: b\n  labels: {}\n  annotations: {}\ndata: {}\nstatus: {}\n",
		objectYAML(map[string]any{
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
	assert.Equal(t, []markedLine{
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
	assert.Equal(t, []markedLine{{"-", "|"}, {"-", "  a: 1"}, {"+", "a: 1"}}, blockLines(text, object))
	assert.Empty(t, blockLines(text, text))
}

func TestWrap(t *testing.T) {
	assert.Equal(t, []string{"one two", "three", "muchlongerthanthat", "x", "next"}, wrap("one two three muchlongerthanthat x\nnext", 8))
}

func TestDidYouMean(t *testing.T) {
	names := []string{"manifest", "observerSchema", "suspend", "live"}
	for _, row := range []struct{ name, typed, want string }{
		{"a letter too few", "manifst", ": did you mean manifest?"},
		{"two letters swapped", "lvie", ": did you mean live?"},
		{"another case", "observerschema", ": did you mean observerSchema?"},
		{"the beginning", "obs", ": did you mean observerSchema?"},
		{"nothing near", "replicas", ""},
		{"nothing at all", "", ""},
		{"very much", strings.Repeat("manifest", 1000), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, didYouMean(row.typed, names))
		})
	}
}

// What observer.Path prints, parsePath reads.
func TestParsePath(t *testing.T) {
	root := (*observer.Path)(nil)
	for _, row := range []struct {
		printed *observer.Path
		want    manifest.Path
	}{
		{nil, nil},
		{root.Field("spec"), manifest.Path{"spec"}},
		{root.Field("spec").Field("ports").Element("[12]", -1).Field("port"), manifest.Path{"spec", "ports", 12, "port"}},
		{root.Field("metadata").Field("labels").Field("a.b/c"), manifest.Path{"metadata", "labels", "a.b/c"}},
		{root.Field("data").Field("it's").Field("x"), manifest.Path{"data", "it's", "x"}},
		{root.Field("data").Field("").Field("x"), manifest.Path{"data", "", "x"}},
		{root.Field("a").Element("[0]", 0).Element("[1]", 1), manifest.Path{"a", 0, 1}},
		{root.Field("env").Element("[name=A]", 0).Field("value"), manifest.Path{"env"}},
	} {
		t.Run(row.printed.String(), func(t *testing.T) {
			assert.Equal(t, row.want, parsePath(row.printed.String()))
		})
	}
}

func TestProgramName(t *testing.T) {
	for path, want := range map[string]string{
		"holdfast":                    "holdfast",
		"/usr/bin/holdfast-v1":        "holdfast",
		"/usr/bin/kubectl-holdfast":   "kubectl holdfast",
		"kubectl-holdfast.exe":        "kubectl holdfast",
		"/home/me/go/bin/holdfast.go": "holdfast",
	} {
		assert.Equal(t, want, programName(path), path)
	}
}

func TestHelpFitsAnOldTerminal(t *testing.T) {
	root := NewCommand("kubectl holdfast", Streams{})
	for _, command := range append([]*cobra.Command{root}, root.Commands()...) {
		var help strings.Builder
		command.SetOut(&help)
		assert.NoError(t, command.Help())
		for line := range strings.Lines(help.String()) {
			assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 80, "%s: %s", command.Name(), line)
		}
		if command != root {
			assert.Contains(t, help.String(), "\nExit status:\n", command.Name())
			assert.NotEmpty(t, command.Example, command.Name())
		}
	}
}
