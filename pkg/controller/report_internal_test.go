package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

// While there is something to correct, postponed reports are written one at a time.
func TestReportsDoNotCompeteWithCorrections(t *testing.T) {
	c := &Controller{changed: map[types.UID]struct{}{}}
	now := time.Now()
	fresh, due := &postponed{since: now}, &postponed{since: now.Add(-reportDelay)}
	in := func(report *postponed) (time.Duration, func()) { return c.reportIn(report, now) }

	wait, _ := in(fresh)
	assert.Equal(t, reportDelay, wait, "more may be corrected")
	c.changed["somebody"] = struct{}{}
	wait, first := in(due)
	assert.Zero(t, wait, "reports come to their end though there is always news")
	wait, _ = in(due)
	assert.Positive(t, wait, "the second one")
	first()
	wait, second := in(due)
	assert.Zero(t, wait)
	delete(c.changed, "somebody")
	wait, third := in(due)
	assert.Zero(t, wait, "nothing is to be corrected")
	second()
	third()
	assert.Zero(t, c.reporting)
}
