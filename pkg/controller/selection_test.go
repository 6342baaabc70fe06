package controller_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
)

// When namespaces are watched separately, an object in another namespace is found again only if it was
// recorded before its creation.
func TestAnObjectElsewhereOutlivesADeath(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.GrantEverywhere()
	other := f.Elsewhere(t)
	both := controller.Options{Selection: cluster.Selection{Namespaces: []string{f.namespace, other.namespace}}}
	// The process writes to its own namespace twice: first the annotations, then the status.
	end := &death{namespace: f.namespace + "/", at: 2, when: beforeSending, died: make(chan struct{})}
	first := f.RunThrough(end.wrap, both)
	f.Submit("app", `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: far, namespace: `+other.namespace+`}, data: {key: ours}}]`)
	<-end.died
	first.Stop()
	assert.NotNil(t, other.Get(configMaps, "far"))
	assert.Empty(t, f.Application("app").Status.Resources, "the process died before it wrote the status")

	f.Submit("app", oneConfig)
	f.Run(both)
	f.AwaitReady("app")
	other.AwaitGone(configMaps, "far")
	f.Quiet(quiet)
}

func TestWatchesAreAsNarrowAsTheSelection(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	other := f.Elsewhere(t)
	one := cluster.Selection{Namespaces: []string{f.namespace}}
	all := cluster.Selection{}
	running := f.Run(controller.Options{Selection: one})
	for _, in := range []*fixture{f, other} {
		in.Submit("app", oneConfig)
	}
	f.AwaitReady("app")
	assert.Nil(t, other.Get(configMaps, "config"))
	assert.Equal(t, 1, running.Watching())

	wide := time.Now()
	running.Select(all)
	other.AwaitReady("app")
	f.eventually("one watch for all", func() bool { return running.Watching() == 1 })
	f.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)
	f.AwaitValue(configMaps, "config", "ours", "data", "key")

	f.Quiet(time.Second)
	narrowAgain := time.Now()
	running.Select(one)
	// The audit log contains a watch only after it has ended.
	wideOnes := func() testcluster.Requests {
		requests, err := f.cluster.Requests(0)
		require.NoError(t, err)
		return requests.By(f.agent).Where(func(r testcluster.Request) bool { return r.Namespace == "" && r.Resource == configMaps.Resource })
	}
	f.eventually("the end of the watch of all namespaces", func() bool { return len(wideOnes()) > 0 })
	f.eventually("one watch of one namespace", func() bool { return running.Watching() == 1 })
	f.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)
	f.AwaitValue(configMaps, "config", "ours", "data", "key")
	f.Quiet(quiet)
	f.Mark()
	other.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)
	f.Quiet(quiet)
	assert.Empty(t, withoutEvents(f.Requests())) // the event of the last correction can come now
	assert.Equal(t, "theirs", value(other.Get(configMaps, "config"), "data", "key"))
	for _, r := range wideOnes() {
		assert.True(t, r.Time.After(wide) && r.Time.Before(narrowAgain), "all namespaces are watched while all are selected: %s", r)
	}
}
