package facts_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/internal/facts"
)

func TestExamples(t *testing.T) {
	page := "# Page\n\n```console\n$ first\none\n$ second \\\n  --flag\n$ third\n```\n\n```sh\n$ no example\n```\n"
	assert.Equal(t, []facts.Example{{Command: "first", Output: "one"}, {Command: "second \\\n  --flag"}, {Command: "third"}}, facts.Examples(page))
	assert.Equal(t, []string{"$ no example\n"}, facts.Blocks(page, "sh"))
}

func TestAssertShows(t *testing.T) {
	const printed = "one\ntwo\nthree\n"
	for shown, shows := range map[string]bool{
		printed:            true,
		"one\n…\nthree\n":  true,
		"…\ntwo\n…":        true,
		"one\n…\n":         true,
		"":                 false,
		"one\ntwo\n":       false,
		"two\n…\n":         false,
		"three\n…\none\n…": false,
		"one\n…\nfour\n":   false,
	} {
		assert.Equal(t, shows, facts.AssertShows(new(quiet), shown, printed), "%q", shown)
	}
}

// quiet counts failed assertions.
type quiet int

func (q *quiet) Errorf(string, ...any) { *q++ }

func TestWithoutAges(t *testing.T) {
	assert.Equal(t, facts.WithoutAges("web    3/3   5m46s  lasted 12ms\n"), facts.WithoutAges("web  3/3 7d1.5h lasted 1s\n"))
	assert.NotEqual(t, facts.WithoutAges("web 3"), facts.WithoutAges("web 4"))
}
