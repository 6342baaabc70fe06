package manifests_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// stages are those of the Dockerfile, as the image builder reads it.
func stages(t *testing.T) []instructions.Stage {
	t.Helper()
	file, err := os.Open(root + "/Dockerfile")
	require.NoError(t, err)
	defer file.Close()
	parsed, err := parser.Parse(file)
	require.NoError(t, err)
	assert.Empty(t, parsed.Warnings)
	found, _, err := instructions.Parse(parsed.AST, nil)
	require.NoError(t, err)
	require.Len(t, found, 2)
	return found
}

// only is the one command of a type in a stage.
func only[T instructions.Command](t *testing.T, stage instructions.Stage) T {
	t.Helper()
	var found []T
	for _, command := range stage.Commands {
		if c, ok := command.(T); ok {
			found = append(found, c)
		}
	}
	require.Len(t, found, 1)
	return found[0]
}

func TestTheImageHasTheProgramAndNothingToRunBesideIt(t *testing.T) {
	image := stages(t)[1]
	assert.Equal(t, "gcr.io/distroless/static-debian12:nonroot", image.BaseName)
	assert.Equal(t, "65532:65532", only[*instructions.UserCommand](t, image).User)
	entry := only[*instructions.EntrypointCommand](t, image)
	assert.False(t, entry.PrependShell, "there is no shell")
	assert.Equal(t, []string{"/holdfast-controller"}, entry.CmdLine)
	for _, command := range image.Commands {
		assert.NotEqual(t, "RUN", strings.ToUpper(command.Name()), "there is nothing to run it with")
	}
}

// From the files that the Dockerfile takes, with the command that it has, twice in
// two places: the same bytes.
func TestTheImageIsBuiltAgainTheSame(t *testing.T) {
	build := stages(t)[0]
	var script string
	for _, command := range build.Commands {
		if run, ok := command.(*instructions.RunCommand); ok {
			script = run.CmdLine[0]
		}
	}
	require.Contains(t, script, "-trimpath")
	programs := make([][]byte, 2)
	for i := range programs {
		source, program := t.TempDir(), filepath.Join(t.TempDir(), "program")
		sent(t, build, source)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(script, " -o /holdfast-controller", " -o "+program, 1))
		cmd.Dir = source
		cmd.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH=amd64", "VERSION=v1.2.3", "GOWORK=off", "GOFLAGS=")
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", output)
		programs[i], err = os.ReadFile(program)
		require.NoError(t, err)
	}
	assert.True(t, slices.Equal(programs[0], programs[1]))
	assert.Contains(t, string(programs[0]), "v1.2.3", "its version")
}

// sent copies the files that a stage takes from the checkout, without those that are
// ignored.
func sent(t *testing.T, stage instructions.Stage, to string) {
	t.Helper()
	file, err := os.Open(root + "/.dockerignore")
	require.NoError(t, err)
	defer file.Close()
	patterns, err := ignorefile.ReadAll(file)
	require.NoError(t, err)
	ignored, err := patternmatcher.New(patterns)
	require.NoError(t, err)
	for _, command := range stage.Commands {
		taken, ok := command.(*instructions.CopyCommand)
		if !ok {
			continue
		}
		for _, path := range taken.SourcePaths {
			send(t, ignored, path, to)
		}
	}
}

func send(t *testing.T, ignored *patternmatcher.PatternMatcher, path, to string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, path), func(found string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(root, found)
		if err != nil {
			return err
		}
		if skip, err := ignored.MatchesOrParentMatches(relative); err != nil || skip {
			return err
		}
		content, err := os.ReadFile(found)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o600)
	})
	require.NoError(t, err)
}
