package controller_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/controller"
)

// An API server that never responds to requests for events must not delay any Application. The test
// makes twice as many Applications drift as there are workers.
func TestEventsNeverDelayAnything(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	answer := make(chan struct{})
	sent := make(chan struct{}, 1)
	f.RunThrough(func(next http.RoundTripper) http.RoundTripper {
		return sender(func(request *http.Request) (*http.Response, error) {
			if strings.Contains(request.URL.Path, "/events") {
				select {
				case sent <- struct{}{}:
				default:
				}
				select {
				case <-answer:
				case <-request.Context().Done():
				}
			}
			return next.RoundTrip(request)
		})
	}, controller.Options{Concurrency: 2})
	t.Cleanup(func() { close(answer) })
	name := func(i int) string { return fmt.Sprintf("app-%d", i) }
	config := func(i int) string { return fmt.Sprintf("config-%d", i) }
	for i := range 5 {
		f.Submit(name(i), strings.Replace(oneConfig, "name: config", "name: "+config(i), 1))
	}
	for i := range 5 {
		f.AwaitReady(name(i))
		f.Patch("mallory", configMaps, config(i), `{data: {key: theirs}}`)
	}
	<-sent
	for i := range 5 {
		f.AwaitValue(configMaps, config(i), "ours", "data", "key")
		f.eventually("a report", func() bool {
			resources := f.Application(name(i)).Status.Resources
			return len(resources) == 1 && resources[0].LastCorrection != nil
		})
	}
	assert.Empty(t, counts(f.Requests())["create events"])
}
