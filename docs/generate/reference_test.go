package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/facts"
	"holdfast.dev/holdfast/pkg/cli"
)

func TestTheReferenceOfTheCommandLineIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../cli.md")
	require.NoError(t, err)
	assert.Equal(t, string(reference()), string(page), "run `make generate`")
}

func TestTheReadmeNamesEveryCommand(t *testing.T) {
	var rows []string
	root := cli.NewCommand("holdfast", cli.Streams{})
	for _, group := range root.Groups() {
		var names []string
		for _, command := range root.Commands() {
			if command.GroupID == group.ID && command.IsAvailableCommand() {
				names = append(names, command.Name())
			}
		}
		rows = append(rows, "| "+strings.ToLower(group.Title[:1])+group.Title[1:]+" | `"+strings.Join(names, "`, `")+"` |")
	}
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	table := facts.Table(t, string(readme), "| to | there are |")
	assert.Equal(t, "\n|---|---|\n"+strings.Join(rows, "\n"), table)
}

// The module k8s.io/api contains the kinds that are known without a cluster.
func TestTheReferenceNamesTheVersionOfKinds(t *testing.T) {
	modules, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	minor := regexp.MustCompile(`k8s\.io/api v0\.(\d+)\.`).FindSubmatch(modules)
	require.NotNil(t, minor)
	assert.Contains(t, referenceIntro, "the kinds of Kubernetes 1."+string(minor[1])+".")
}
