package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/worker"
)

// While there is drift to correct, postponed status reports are written one at a time. An Application
// whose report has to wait is requeued later.
func TestReportsDoNotCompeteWithCorrections(t *testing.T) {
	c := &Controller{registry: registry{changed: map[types.UID]struct{}{"another": {}, "one more": {}}}, queue: worker.NewQueue[types.NamespacedName]("")}
	defer c.queue.ShutDown()
	named := func(name string) types.NamespacedName { return types.NamespacedName{Name: name} }
	queued := func() (names []string) {
		for c.queue.Len() > 0 {
			key, _ := c.queue.Get()
			c.queue.Done(key)
			names = append(names, key.Name)
		}
		return names
	}

	first := c.mayReport(named("first"))
	assert.NotNil(t, first, "the first report is admitted")
	for _, name := range []string{"second", "third", "second", "fourth", "fifth"} {
		assert.Nil(t, c.mayReport(named(name)))
	}
	assert.Empty(t, queued(), "no reconcile is queued")
	first()
	assert.Equal(t, []string{"second"}, queued())
	third := c.mayReport(named("third"))
	assert.NotNil(t, third, "a reconcile with another cause is admitted")
	assert.Nil(t, c.mayReport(named("second")))
	third()
	assert.Equal(t, []string{"fourth"}, queued(), "not the third, which waits no more")
	c.taken("another")
	assert.Empty(t, queued(), "one is still to be corrected")
	c.taken("one more")
	assert.Equal(t, []string{"fifth", "second"}, queued())
	second, fifth := c.mayReport(named("second")), c.mayReport(named("fifth"))
	second()
	fifth()
	assert.Empty(t, queued())
	assert.Equal(t, 0, c.reports.writing)
	assert.Empty(t, c.reports.waiting)
	assert.Empty(t, c.reports.order)
}
