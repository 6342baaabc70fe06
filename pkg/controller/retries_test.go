package controller_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/hooks"
)

// failing responds to creates of ConfigMaps with a server error while broken is true.
type failing struct {
	http.RoundTripper
	broken   atomic.Bool
	attempts atomic.Int64
}

func (b *failing) wrap(next http.RoundTripper) http.RoundTripper {
	b.RoundTripper = next
	return b
}

func (b *failing) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/configmaps") {
		b.attempts.Add(1)
		if b.broken.Load() {
			return failure(request, http.StatusInternalServerError, "InternalError"), nil
		}
	}
	return b.RoundTripper.RoundTrip(request)
}

// After the last attempt, the controller waits until something happens. Any event then starts another
// attempt. A success resets the count.
func TestAttemptsThatAreLimited(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	bad := &failing{}
	bad.broken.Store(true)
	f.RunThrough(bad.wrap, controller.Options{})
	spec := func(value string) string {
		return `
retry: {initialInterval: 1s, multiplier: 1, maxAttempts: 3}
manifest:
- {apiVersion: v1, kind: Secret, metadata: {name: other}, data: {key: b3Vycw==}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ` + value + `}}`
	}
	// The watch may deliver our own correction before its response arrives. Then it counts like any other
	// change and causes one more attempt.
	last := int64(0)
	givenUp := func(attempts int64, what string) {
		t.Helper()
		f.eventually(what, func() bool { return bad.attempts.Load() >= last+attempts })
		app, message := f.AwaitReason("app", v1alpha1.ReasonRetriesExhausted)
		assert.Contains(t, message, "injected", "the last error")
		assert.Contains(t, message, "given up after 3 of 3 attempts")
		assert.Equal(t, metav1.ConditionTrue, condition(app, v1alpha1.ConditionStalled).Status)
		f.Quiet(time.Second)
		tried := bad.attempts.Load() - last
		assert.True(t, tried == attempts || tried == attempts+1, "%s: %d attempts", what, tried)
		last += tried
	}

	f.Submit("app", spec("one"))
	givenUp(3, "as many attempts as are allowed")

	f.Patch("mallory", secrets, "other", `{data: {key: dGhlaXJz}}`)
	f.AwaitValue(secrets, "other", "b3Vycw==", "data", "key")
	givenUp(1, "drift of another object: one more")

	f.Patch("user", applications, "app", `{metadata: {labels: {team: web}}}`)
	givenUp(1, "a label of the Application: one more")

	f.Patch("user", applications, "app", `{metadata: {annotations: {holdfast.dev/reconcile: now}}}`)
	givenUp(3, "a request to reconcile: all of them")

	f.Submit("app", spec("two"))
	givenUp(3, "another spec: all of them")

	bad.broken.Store(false)
	f.Patch("mallory", secrets, "other", `{data: {key: dGhlaXJz}}`)
	f.AwaitReady("app")
	last = bad.attempts.Load()

	bad.broken.Store(true)
	f.Delete(configMaps, "config")
	givenUp(3, "a success resets the count")
}

// Updates that request nothing do not start a reconcile: a status, or a new field manager.
func TestAnUpdateThatAsksForNothingStartsNothing(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	metrics := controller.NewMetrics()
	f.Run(controller.Options{Metrics: metrics})
	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	f.Quiet(time.Second)
	reconciles := func() float64 { return sum(t, metrics, "holdfast_reconciles_total") }
	f.Mark()
	before := reconciles()

	for range 5 {
		body, err := json.Marshal(map[string]any{"status": map[string]any{"summary": time.Now().String()}})
		require.NoError(t, err)
		_, err = f.in("mallory", applications).Patch(t.Context(), "app", types.MergePatchType, body, metav1.PatchOptions{}, "status")
		require.NoError(t, err)
	}
	// When the last Application is ready, the watch has delivered all of these updates.
	f.Submit("last", strings.ReplaceAll(oneConfig, "name: config", "name: last"))
	f.AwaitReady("last")
	f.Quiet(time.Second)

	assert.Empty(t, f.Requests().Where(func(r testcluster.Request) bool { return r.Name == "app" && r.Resource == "applications" }))
	last := sum(t, metrics, "holdfast_reconciles_total") - before
	f.Patch("user", applications, "app", `{metadata: {labels: {team: web}}}`)
	f.eventually("a label is looked at", func() bool { return reconciles() > before+last })
	assert.LessOrEqual(t, last, float64(10), "of the other Application alone")
}

// together counts the concurrent requests for one Application's object.
type together struct {
	http.RoundTripper
	mu        sync.Mutex
	now, most int
	slow      chan struct{} // a token for each request that may continue
}

func (c *together) wrap(next http.RoundTripper) http.RoundTripper {
	c.RoundTripper = next
	return c
}

func (c *together) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPatch || !strings.Contains(request.URL.Path, "/configmaps/") {
		return c.RoundTripper.RoundTrip(request)
	}
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.now--
		c.mu.Unlock()
	}()
	<-c.slow
	return c.RoundTripper.RoundTrip(request)
}

func TestOneApplicationIsNeverHandledTwiceAtATime(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	slow := &together{slow: make(chan struct{})}
	f.RunThrough(slow.wrap, controller.Options{Concurrency: 8})
	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	f.Quiet(time.Second)

	f.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)
	f.eventually("a correction that takes its time", func() bool {
		slow.mu.Lock()
		defer slow.mu.Unlock()
		return slow.now > 0
	})
	for i := range 20 { // each of them causes a reconcile
		f.Patch("mallory", configMaps, "config", `{data: {key: theirs-`+string(rune('a'+i))+`}}`)
		f.Patch("user", applications, "app", `{metadata: {annotations: {holdfast.dev/reconcile: "`+string(rune('a'+i))+`"}}}`)
	}
	f.Submit("other", strings.ReplaceAll(oneConfig, "name: config", "name: other"))
	f.AwaitReady("other") // other Applications are reconciled meanwhile
	close(slow.slow)
	f.AwaitValue(configMaps, "config", "ours", "data", "key")
	f.AwaitReady("app")

	slow.mu.Lock()
	defer slow.mu.Unlock()
	assert.Equal(t, 1, slow.most)
}

// When a process is told to end, it finishes the reconcile in progress. The next process does the rest.
func TestAnEndInMidWorkLeavesNothingHalfDone(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	gate := &held{arrived: make(chan struct{}), goOn: make(chan struct{})}
	first := f.RunThrough(gate.wrap, controller.Options{Concurrency: 1, Drain: patience})
	f.Submit("app", configs(20))
	<-gate.arrived
	f.Submit("later", strings.ReplaceAll(configs(2), "config-", "later-"))

	first.Kill()
	stopped := make(chan struct{})
	go func() {
		first.Stop()
		close(stopped)
	}()
	close(gate.goOn)
	<-stopped

	list, err := f.in("user", configMaps).List(t.Context(), metav1.ListOptions{LabelSelector: v1alpha1.LabelApplicationUID})
	require.NoError(t, err)
	assert.Len(t, list.Items, 20)
	assert.Len(t, f.Application("app").Status.Resources, 20, "and its report is written")

	f.Mark()
	f.Run(controller.Options{})
	f.AwaitReady("later")
	f.AwaitReady("app")
	assert.Equal(t, 2, counts(f.Requests())["create configmaps"])
}

// held holds back the first create of a ConfigMap.
type held struct {
	http.RoundTripper
	once          sync.Once
	arrived, goOn chan struct{}
}

func (h *held) wrap(next http.RoundTripper) http.RoundTripper {
	h.RoundTripper = next
	return h
}

func (h *held) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/configmaps") {
		h.once.Do(func() {
			close(h.arrived)
			<-h.goOn
		})
	}
	return h.RoundTripper.RoundTrip(request)
}

// An Application is reconciled when its interval is over, even without any event.
func TestAnApplicationHasAnInterval(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	metrics := controller.NewMetrics()
	f.Run(controller.Options{Metrics: metrics, ResyncInterval: 500 * time.Millisecond})
	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	f.awaitEvents(1)
	f.Quiet(time.Second)
	f.Mark()

	before := sum(t, metrics, "holdfast_reconciles_total")
	f.eventually("three more looks", func() bool { return sum(t, metrics, "holdfast_reconciles_total") >= before+3 })
	assert.Empty(t, f.Requests(), "which cost no request")
}

// The Application's own interval takes precedence. It is shortened slightly, so that not all
// Applications are reconciled at once.
func TestTheIntervalOfAnApplicationComesFirst(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	var mu sync.Mutex
	var looks []time.Time
	looked := func() []time.Time {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(looks)
	}
	h := hooks.New()
	h.ApplicationPreReconcile.Listen("look", func(*hooks.Lifecycle) error {
		mu.Lock()
		defer mu.Unlock()
		looks = append(looks, time.Now())
		return nil
	})
	f.Run(controller.Options{Hooks: h}) // no periodic reconcile by default
	f.Submit("app", "interval: 10s"+oneConfig)
	f.AwaitReady("app")
	f.Quiet(time.Second)
	n := len(looked())
	f.eventually("two looks more", func() bool { return len(looked()) > n+1 })
	assert.GreaterOrEqual(t, looked()[n+1].Sub(looked()[n]), 9*time.Second)
}
