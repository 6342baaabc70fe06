package tosca

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Source: TOSCA Simple Profile in YAML 1.3, section "Version Comparison".
func TestVersionOrder(t *testing.T) {
	ascending := []string{
		"0.9", "1.0.0.alpha-2", "1.0.0.alpha-10", "1.0.0.beta", "1.0", "1.0.1.rc", "1.0.1", "1.2", "1.10",
		"99999999999999999999", "100000000000000000000",
	}
	for i, a := range ascending {
		for k, b := range ascending {
			assert.Equal(t, i < k, compareVersions(a, b) < 0, "%s < %s", a, b)
			assert.Equal(t, i > k, compareVersions(a, b) > 0, "%s > %s", a, b)
		}
	}
}
