package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pinned matches an action with the digest of a commit, and the version as a comment.
var pinned = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)

func TestActionsArePinnedByDigest(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(checkout, ".github", "workflows", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(text), "\npermissions: ", "%s has the default permissions", path)
		for line := range strings.Lines(string(text)) {
			if _, action, uses := strings.Cut(line, "uses: "); uses {
				assert.Regexp(t, pinned, strings.TrimSpace(action), path)
			}
		}
	}
}

// The changelog has a section for the next release: without it there are no release notes.
func TestChangelogHasTheNextRelease(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(checkout, "CHANGELOG.md"))
	require.NoError(t, err)
	notes, err := section(string(text), "0.1.0")
	require.NoError(t, err)
	assert.NotContains(t, notes, "<!--")
}
