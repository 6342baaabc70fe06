package docs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/internal/facts"
	"holdfast.dev/holdfast/pkg/cli"
)

func TestTheReferenceOfTheCommandLineIsCurrent(t *testing.T) {
	assert.Equal(t, string(cli.Reference()), read(t, "docs/cli.md"), "run `make generate`")
}

func TestTheReadmeNamesEveryCommand(t *testing.T) {
	var rows []string
	for _, group := range cli.Groups() {
		rows = append(rows, "| "+strings.ToLower(group.Title[:1])+group.Title[1:]+" | `"+strings.Join(group.Commands, "`, `")+"` |")
	}
	table := facts.Table(t, read(t, "README.md"), "| to | there are |")
	assert.Equal(t, "\n|---|---|\n"+strings.Join(rows, "\n"), table)
}
