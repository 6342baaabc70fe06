package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

// While there is something to correct, postponed reports are written one at a time.
func TestReportsDoNotCompeteWithCorrections(t *testing.T) {
	c := &Controller{changed: map[types.UID]struct{}{}}
	report := home{c}.Report

	c.changed["another"] = struct{}{}
	first := report()
	assert.NotNil(t, first, "reports come to their end though there is always news")
	assert.Nil(t, report(), "the second one")
	first()
	second := report()
	assert.NotNil(t, second)
	delete(c.changed, "another")
	third := report()
	assert.NotNil(t, third, "nothing is to be corrected")
	second()
	third()
	assert.Zero(t, c.reporting)
}
