package facts_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/facts"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestConstants(t *testing.T) {
	source := file(t, `package a

const one = "alone"

const (
	ReasonA Reason = "A"
	ReasonB        = "B"
	reasonC        = "c"
	ReasonMany     = 3
	ReasonSame     = ReasonA
)
`)
	assert.Equal(t, []string{"A", "B"}, facts.Constants(t, source, "Reason"))
	assert.Equal(t, []string{"alone", "A", "B", "c"}, facts.Constants(t, source, ""))
}

func TestMetrics(t *testing.T) {
	document := "# Page\n\n| `before` | |\n\n| metric | |\n|---|---|\n| `first_total` | `label` |\n| `second` | |\n\n| `after` | |\n"
	assert.Equal(t, []string{"first_total", "second"}, facts.Metrics(t, file(t, document)))
}
