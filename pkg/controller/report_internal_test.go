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
	r := &registry{changed: map[types.UID]struct{}{"another": {}, "one more": {}}, queue: worker.NewQueue("", namespaceOf)}
	defer r.queue.ShutDown()
	named := func(name string) types.NamespacedName { return types.NamespacedName{Name: name} }
	queued := func() (names []string) {
		for r.queue.Len() > 0 {
			key, _ := r.queue.Get()
			r.queue.Done(key)
			names = append(names, key.Name)
		}
		return names
	}

	first := r.mayReport(named("first"))
	assert.NotNil(t, first, "the first report is admitted")
	for _, name := range []string{"second", "third", "second", "fourth", "fifth"} {
		assert.Nil(t, r.mayReport(named(name)))
	}
	assert.Empty(t, queued(), "no reconcile is queued")
	first()
	assert.Equal(t, []string{"second"}, queued())
	third := r.mayReport(named("third"))
	assert.NotNil(t, third, "a reconcile with another cause is admitted")
	assert.Nil(t, r.mayReport(named("second")))
	third()
	assert.Equal(t, []string{"fourth"}, queued(), "not the third, which waits no more")
	r.taken("another")
	assert.Empty(t, queued(), "one is still to be corrected")
	r.taken("one more")
	assert.Equal(t, []string{"fifth", "second"}, queued())
	second, fifth := r.mayReport(named("second")), r.mayReport(named("fifth"))
	second()
	fifth()
	assert.Empty(t, queued())
	assert.Equal(t, 0, r.reports.writing)
	assert.Empty(t, r.reports.waiting)
	assert.Empty(t, r.reports.order)
}
