package docs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/facts"
)

func TestThePageOfMysqlShowsTheSample(t *testing.T) {
	assert.Contains(t, facts.Blocks(read(t, "docs/mysql.md"), "yaml"), read(t, "testdata/mysql/the-sample/mysql.yaml"))
}

func TestMysqlPageOutput(t *testing.T) { printsWhatItShows(t, "docs/mysql.md") }

func TestThePageOfMysqlNamesEveryFieldOfTheSpec(t *testing.T) {
	page := read(t, "docs/mysql.md")
	definition := read(t, "deploy/crd/fnjoin.com_mysqls.yaml")
	_, spec, _ := strings.Cut(definition, "\n          spec:\n")
	spec, _, _ = strings.Cut(spec, "\n            type: object\n")
	named := 0
	for line := range strings.SplitSeq(spec, "\n") {
		name, isField := strings.CutPrefix(line, "              ")
		if !isField || strings.HasPrefix(name, " ") || !strings.HasSuffix(name, ":") {
			continue
		}
		named++
		assert.Contains(t, page, "| `"+strings.TrimSuffix(name, ":")+"` |")
	}
	assert.Equal(t, 9, named)
}

func TestTheTemplateThatIsShownIsTested(t *testing.T) {
	shown := facts.Blocks(read(t, "docs/templates.md"), "go")
	require.Len(t, shown, 1)
	assert.Contains(t, read(t, "pkg/controller/greeting_test.go"), shown[0])
}
