package deploy_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/internal/facts"
)

// assertDocumented checks that all documented metrics are exposed, and that all of Holdfast's own metrics
// are documented. Tests in tools/manifests check the dashboard and the alert rules.
func assertDocumented(t *testing.T, exposition string) {
	t.Helper()
	var served []string
	for _, match := range regexp.MustCompile("(?m)^# TYPE ([a-z_]+) ").FindAllStringSubmatch(exposition, -1) {
		served = append(served, match[1])
	}
	documented := facts.Metrics(t, "../docs/operations.md")
	for _, name := range documented {
		assert.Contains(t, served, name, "docs/operations.md has it")
	}
	for _, name := range served {
		if strings.HasPrefix(name, "holdfast_") {
			assert.Contains(t, documented, name)
		}
	}
}
