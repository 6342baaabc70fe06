package manifests_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"holdfast.dev/holdfast/internal/testcluster/installed"
)

const root = "../.."

// The output of `make sbom` lists exactly the modules that the program is linked from.
func TestBillOfMaterialsIsComplete(t *testing.T) {
	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	output, err := exec.CommandContext(t.Context(), "go", "run", "-trimpath", "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod", "bin", "-json", "-std", "-version", "v1.2.3", installed.Program(t, "holdfast-controller")).Output()
	require.NoError(t, err)
	var bill struct {
		BOMFormat  string
		Components []struct{ Name, Version, PURL string }
	}
	require.NoError(t, json.Unmarshal(output, &bill))
	assert.Equal(t, "CycloneDX", bill.BOMFormat)
	var listed []string
	for _, component := range bill.Components {
		assert.True(t, strings.HasPrefix(component.PURL, "pkg:golang/"), component.PURL)
		if component.Name != "std" {
			listed = append(listed, component.Name+" "+component.Version)
		}
	}
	assert.Len(t, bill.Components, len(listed)+1, "and the standard library")

	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if .Version}}{{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/holdfast-controller")
	command.Dir = checkout
	output, err = command.Output()
	require.NoError(t, err)
	linked := strings.Split(strings.TrimSpace(string(output)), "\n")
	slices.Sort(linked)
	assert.ElementsMatch(t, slices.Compact(linked), listed)
}
