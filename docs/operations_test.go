package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/internal/facts"
)

// The table lists the reasons that need more explanation than the contract contains. Its first column can
// contain several reasons per row.
func TestEveryRemedyIsForAConditionReason(t *testing.T) {
	table := facts.Table(t, read(t, "docs/operations.md"), "| reason |")
	var helped []string
	for line := range strings.SplitSeq(table, "\n") {
		columns := strings.Split(line, " | ")
		if len(columns) != 2 {
			continue
		}
		assert.NotEmpty(t, strings.Trim(columns[1], " |"), line)
		for _, match := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(columns[0], -1) {
			helped = append(helped, match[1])
		}
	}
	assert.NotEmpty(t, helped)
	assert.Subset(t, reasons(t), helped, "the table of docs/operations.md and the constants of pkg/api/v1alpha1")
}
