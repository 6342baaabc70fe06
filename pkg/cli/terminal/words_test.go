package terminal

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/delta"
)

func TestVisible(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"plain text is unchanged", "a → b\n\tü", "a → b\n\tü"},
		{"an escape sequence is escaped", "\x1b[31m", `\x1b[31m`},
		{"a carriage return is escaped", "a\rb", `a\x0db`},
		{"a change of direction is escaped", "a\u202eb", `a\u202eb`},
		{"a no-break space is escaped", "a\u00a0b", `a\xa0b`},
		{"invalid UTF-8 is escaped", "a\xffb", `a\xffb`},
		{"the replacement character is escaped", "a\ufffdb", `a\ufffdb`},
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
		{"an absent value", delta.Value{}, "(absent)"},
		{"a string that reads (absent) is quoted", delta.NewValue("(absent)"), `"(absent)"`},
		{"null is not absence", delta.NewValue(nil), "null"},
		{"a word", delta.NewValue("live"), "live"},
		{"a text that looks like a number", delta.NewValue("1"), `"1"`},
		{"a text that kubectl takes for a boolean", delta.NewValue("yes"), `"yes"`},
		{"an empty text", delta.NewValue(""), `""`},
		{"a number", delta.NewValue(int64(1)), "1"},
		{"a fraction", delta.NewValue(0.5), "0.5"},
		{"a boolean", delta.NewValue(false), "false"},
		{"a map", delta.NewValue(map[string]any{"value": "x", "name": "web", "a": []any{}}), "{name: web, a: [], value: x}"},
		{"a masked value has no quotes", delta.NewValue("*** (desired)"), "*** (desired)"},
		{"an image", delta.NewValue("web:1.2@sha256:0"), "web:1.2@sha256:0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, ok := Inline(row.value)
			assert.True(t, ok)
			assert.Equal(t, row.want, got)
		})
	}
	_, ok := Inline(delta.NewValue("two\nlines"))
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

func TestChangedLinesShowTrailingBlanks(t *testing.T) {
	assert.Equal(t, []MarkedLine{
		{" ", "same "},
		{"-", `a\x20\x20`},
		{"-", `b\x09`},
		{"-", `\x20`},
		{"+", "a"},
		{"+", "b"},
		{"+", ""},
	}, changedLines("same \na  \nb\t\n \n", "same \na\nb\n\n"))
}

func TestTextDiffersFromMapWithSameSpelling(t *testing.T) {
	text, object := delta.NewValue("a: 1\n"), delta.NewValue(map[string]any{"a": int64(1)})
	assert.Equal(t, []MarkedLine{{"-", "|"}, {"-", "  a: 1"}, {"+", "a: 1"}}, BlockLines(text, object))
	assert.Empty(t, BlockLines(text, text))
}

func TestWrap(t *testing.T) {
	assert.Equal(t, []string{"one two", "three", "muchlongerthanthat", "x", "next"}, Wrap("one two three muchlongerthanthat x\nnext", 8))
	assert.Equal(t, []string{"one", "`two three`,", "or `four"}, Wrap("one `two three`, or `four", 8), "commands remain whole")
}

func TestLengthIsInColumns(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       int
	}{
		{"nothing", "", 0},
		{"plain text", "web:1", 5},
		{"accents in the letter", "éà", 2},
		{"accents of their own", "e\u0301a\u0300", 2},
		{"Chinese", "你好", 4},
		{"Japanese of half the width", "ｱｲ", 2},
		{"letters of full width", "ＡＢ", 4},
		{"an emoji", "🚀", 2},
		{"lines and arrows", "├─ → …", 6},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, Length(row.text))
		})
	}
}

func TestClip(t *testing.T) {
	for _, row := range []struct {
		name, line string
		columns    int
		want       string
	}{
		{"a short line", "web  Current", 12, "web  Current"},
		{"a long line is truncated", "web  Current", 11, "web  Curre…"},
		{"a character of two columns is not halved", "你好世界", 6, "你好…"},
		{"one column is left for the sign", "你好", 3, "你…"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := Clip(row.line, row.columns)
			assert.Equal(t, row.want, got)
			assert.LessOrEqual(t, Length(got), row.columns)
		})
	}
}

func TestColumnsAlignForAnyText(t *testing.T) {
	assert.Equal(t, []string{
		"NAME  HEALTH   AGE",
		"你好  Current  3s",
		"e\u0301     -        4d",
	}, Aligned([][]string{{"NAME", "HEALTH", "AGE"}, {"你好", "Current", "3s"}, {"e\u0301", "-", "4d"}}))
	assert.Empty(t, Aligned(nil))
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 fields", 1: "1 field", 2: "2 fields"} {
		assert.Equal(t, want, Plural(n, "field"))
	}
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		name string
		past time.Duration
		want string
	}{
		{"now", 0, "0s ago"},
		{"seconds", 3 * time.Second, "3s ago"},
		{"minutes and seconds, as long as both matter", 5*time.Minute + 46*time.Second, "5m46s ago"},
		{"hours", 18 * time.Hour, "18h ago"},
		{"days", 4 * 24 * time.Hour, "4d ago"},
		{"a clock that is behind the server's", -2 * time.Second, "0s ago"},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, Ago(now, now.Add(-row.past)))
		})
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	streams := Streams{Out: &strings.Builder{}, Getenv: func(string) string { return "" }}
	for color, want := range map[string]string{
		"auto": "text", "never": "text", "always": "\x1b[31mtext\x1b[0m",
	} {
		palette, err := PaletteFor(color, streams)
		require.NoError(t, err)
		assert.Equal(t, want, palette.Paint(Red, "text"), color)
		assert.Equal(t, "text", palette.Paint(Plain, "text"), color)
		assert.Empty(t, palette.Paint(Red, ""), color)
	}
	_, err := PaletteFor("Always", streams)
	assert.EqualError(t, err, `invalid color mode "Always": --color must be auto, always or never`)
}

func TestNoFormat(t *testing.T) {
	assert.EqualError(t, NoFormat("yml", "yaml", "json"), `invalid output format "yml": -o must be yaml or json`)
	assert.EqualError(t, NoFormat("table", "yaml", "json", "name"), `invalid output format "table": -o must be yaml, json or name`)
}

func TestFinishTellsErrorsAndTheStatus(t *testing.T) {
	two := errors.Join(errors.New("a.yaml: one"), errors.New("b.yaml: two: see `holdfast diff`"))
	for _, row := range []struct {
		name   string
		err    error
		status int
		want   string
	}{
		{"no error", nil, 0, ""},
		{"several errors are several lines, and commands are called as this one is", two, 2, "error: a.yaml: one\nerror: b.yaml: two: see `kubectl holdfast diff`\n"},
		{"a remedy", errors.New("web is not ready. For details, run: holdfast status web"), 2, "error: web is not ready. For details, run: kubectl holdfast status web\n"},
		{"a status without an error", &Exit{Status: StatusDifferent}, 1, ""},
		{"not ready in time", &Exit{Status: StatusDifferent, Err: errors.New("late")}, 1, "error: late\n"},
		{"interrupted", Interrupted(""), 130, "error: interrupted\n"},
		{"interrupted while the controller continues", Interrupted("the controller continues"), 130, "error: interrupted: the controller continues\n"},
		{"a command line that cannot be understood", &UsageError{Command: "holdfast get", Err: errors.New("what?")}, 2, "error: what?\nSee 'holdfast get --help'.\n"},
		{"nothing that acts on a terminal", errors.New("\x1b[2Jgone"), 2, "error: \\x1b[2Jgone\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var told strings.Builder
			assert.Equal(t, row.status, Finish(row.err, "kubectl holdfast", &told))
			assert.Equal(t, row.want, told.String())
		})
	}
}
