package docs_test

import (
	"archive/zip"
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/facts"
	"holdfast.dev/holdfast/pkg/cli"
)

var update = flag.Bool("update", false, "write what the commands of docs/tosca.md print into it")

const toscaPage = "docs/tosca.md"

// TestToscaPageOutput runs the commands of the page in the directory of its files.
func TestToscaPageOutput(t *testing.T) {
	page, err := filepath.Abs("tosca.md")
	require.NoError(t, err)
	text := read(t, toscaPage)
	inTheShop(t)
	shown := 0
	run := regexp.MustCompile("(?s)```console\n(.*?)\n```").ReplaceAllStringFunc(text, func(block string) string {
		var now strings.Builder
		for line := range strings.Lines(block) {
			command, isCommand := strings.CutPrefix(line, "$ ")
			if !isCommand {
				continue
			}
			now.WriteString(line)
			if program, isOurs := strings.CutPrefix(command, "holdfast "); isOurs {
				now.WriteString(printed(t, strings.Fields(program)))
				shown++
			}
		}
		return "```console\n" + now.String() + "```"
	})
	assert.Positive(t, shown)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(run), 0o644))
		return
	}
	assert.Equal(t, text, run, "go test ./docs -run Tosca -update writes what is printed")
}

// inTheShop creates the directory in which a user runs the commands of the page, with the archive made with
// zip.
func inTheShop(t *testing.T) {
	t.Helper()
	files, err := filepath.Abs("tosca")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.CopyFS(".", os.DirFS(files)))
	var archive bytes.Buffer
	writer := zip.NewWriter(&archive)
	require.NoError(t, writer.AddFS(os.DirFS("csar")))
	require.NoError(t, writer.Close())
	require.NoError(t, os.WriteFile("shop.csar", archive.Bytes(), 0o644))
}

// printed returns the output of a command on a terminal.
func printed(t *testing.T, args []string) string {
	t.Helper()
	var terminal bytes.Buffer
	cli.Main(t.Context(), append([]string{"holdfast"}, args...), cli.Streams{
		In: strings.NewReader(""), Out: &terminal, Err: &terminal,
		Getenv: func(string) string { return "" }, Now: func() time.Time { return time.Unix(0, 0) },
	})
	return terminal.String()
}

func TestThePageOnToscaShowsItsFiles(t *testing.T) {
	text := read(t, toscaPage)
	for _, file := range []string{"shop.yaml", "site.yaml", "site-types.yaml", "application.yaml", "csar/definitions/main.yaml", "csar/definitions/page.yaml"} {
		assert.Contains(t, facts.Blocks(text, "yaml"), read(t, "docs/tosca/"+file), file)
	}
	assert.Contains(t, text, "```\n"+read(t, "docs/tosca/csar/TOSCA-Metadata/TOSCA.meta")+"```\n")
}

func TestEveryCodeOfToscaIsExplained(t *testing.T) {
	var codes []string
	for _, source := range []string{"../pkg/tosca/codes.go", "../pkg/tosca/csar/error.go"} {
		codes = append(codes, facts.Constants(t, source, "")...)
	}
	var explained []string
	for _, match := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(facts.Table(t, read(t, toscaPage), "| code |"), -1) {
		explained = append(explained, match[1])
	}
	assert.ElementsMatch(t, codes, explained)
}
