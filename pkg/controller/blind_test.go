package controller_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
)

// impatient has short timeouts for tests. Streams may be quiet for a long time.
var impatient = cluster.StallTimeouts{
	Failing: 5 * time.Second, Quiet: time.Hour, Answer: 2 * time.Second, Longest: time.Hour, Check: 50 * time.Millisecond,
}

// scissors cut the streams of a resource and hold back requests for it. The events of open streams are
// not held back.
type scissors struct {
	http.RoundTripper
	resource string

	mu    sync.Mutex
	cutAt context.Context //nolint:containedctx // its end closes the streams
	cut   context.CancelFunc
	hung  bool
}

func newScissors(resource string) *scissors {
	s := &scissors{resource: resource}
	s.cutAt, s.cut = context.WithCancel(context.Background())
	return s
}

func (s *scissors) wrap(next http.RoundTripper) http.RoundTripper {
	s.RoundTripper = next
	return s
}

func (s *scissors) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet || !strings.HasSuffix(request.URL.Path, s.resource) {
		return s.RoundTripper.RoundTrip(request)
	}
	s.mu.Lock()
	end, hung := s.cutAt, s.hung
	s.mu.Unlock()
	if hung {
		select {
		case <-end.Done():
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
	if request.URL.Query().Get("watch") == "" {
		return s.RoundTripper.RoundTrip(request)
	}
	ctx, cancel := context.WithCancel(request.Context())
	context.AfterFunc(end, cancel)
	return s.RoundTripper.RoundTrip(request.WithContext(ctx))
}

// Cut closes the open streams and releases hanging requests.
func (s *scissors) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hung = false
	s.cut()
	s.cutAt, s.cut = context.WithCancel(context.Background())
}

// Hang makes new requests hang until Cut.
func (s *scissors) Hang() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hung = true
}

// AwaitUnknown waits until the condition Held is Unknown for a reason, and returns the condition.
func (f *fixture) AwaitUnknown(name, reason string) metav1.Condition {
	f.t.Helper()
	app := f.AwaitApplication(name, "not known to be held because "+reason, func(app *v1alpha1.Application) bool {
		held := condition(app, v1alpha1.ConditionHeld)
		return held.Status == metav1.ConditionUnknown && held.Reason == reason
	})
	assert.Equal(f.t, metav1.ConditionUnknown, condition(app, v1alpha1.ConditionReady).Status)
	return condition(app, v1alpha1.ConditionHeld)
}

// The controller has the rights that the deploy manifests grant. One of them is revoked while the
// controller runs.
func TestARightToWatchThatIsRevoked(t *testing.T) {
	f := givenAlone(t, testcluster.Options{ControllerManager: true})
	streams, metrics := newScissors("/configmaps"), controller.NewMetrics()
	acting := f.asController()
	f.RunThrough(func(next http.RoundTripper) http.RoundTripper { return streams.wrap(acting(next)) },
		controller.Options{Patience: impatient, Metrics: metrics})
	f.Submit("app", oneConfig)
	f.Submit("other", `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: secret}, stringData: {key: ours}}]}`)
	f.AwaitReady("app")
	f.AwaitReady("other")
	mayWatch := func() bool {
		_, err := f.cluster.Kubectl(t.Context(), "", "auth", "can-i", "watch", "configmaps", "--all-namespaces",
			"--as=system:serviceaccount:holdfast-system:holdfast-controller")
		return err == nil
	}
	f.Quiet(time.Second)
	f.Mark()

	_, err := f.cluster.Kubectl(t.Context(), "", "delete", "clusterrole", "holdfast-kinds-workloads")
	require.NoError(t, err)
	f.eventually("the end of the right", func() bool { return !mayWatch() })
	// As long as the stream is open, drift is seen.
	f.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)
	f.AwaitValue(configMaps, "config", "ours", "data", "key")
	f.AwaitReady("app")
	// The stream ends after some minutes.
	streams.Cut()

	held := f.AwaitUnknown("app", v1alpha1.ReasonForbidden)
	assert.Contains(t, held.Message, "the controller may not list and watch configmaps")
	f.AwaitReady("other")
	assert.InDelta(t, 1, sum(t, metrics, "holdfast_dead_watches"), 0)
	f.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)

	// Then: the command in the message grants the right, and drift is corrected.
	_, commands, _ := strings.Cut(held.Message, "Grant it: ")
	for command := range strings.SplitSeq(commands, " && ") {
		_, err := f.cluster.Kubectl(t.Context(), "", strings.Fields(strings.TrimPrefix(command, "kubectl "))...)
		require.NoError(t, err, command)
	}
	f.AwaitValue(configMaps, "config", "ours", "data", "key")
	f.AwaitReady("app")
	f.eventually("a metric without dead watches", func() bool { return sum(t, metrics, "holdfast_dead_watches") == 0 })
	f.Quiet(quiet)
	assert.LessOrEqual(t, counts(f.Requests())["patch applications/status"], 6, "for two corrections, and two words about the watch:\n%s", f.Requests())
}

// A stream is open but delivers nothing, and new requests get no response.
func TestAWatchThatIsDead(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	streams, metrics := newScissors("/configmaps"), controller.NewMetrics()
	soon := impatient
	soon.Quiet, soon.Longest = 3*time.Second, 3*time.Second
	f.RunThrough(streams.wrap, controller.Options{Patience: soon, Metrics: metrics})
	f.Submit("app", oneConfig)
	f.AwaitReady("app")

	streams.Hang()

	held := f.AwaitUnknown("app", v1alpha1.ReasonRetrying)
	assert.Contains(t, held.Message, "ConfigMap")
	assert.InDelta(t, 1, sum(t, metrics, "holdfast_dead_watches"), 0)
	f.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)

	streams.Cut()
	f.AwaitValue(configMaps, "config", "ours", "data", "key")
	f.AwaitReady("app")
	f.eventually("a metric without dead watches", func() bool { return sum(t, metrics, "holdfast_dead_watches") == 0 })
}

// The status cannot be written during an outage of the API server. When the outage is over, there is
// nothing to report.
func TestAnOutageMakesNoStatus(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	metrics := controller.NewMetrics()
	starting := impatient
	starting.Failing = 15 * time.Second // responses are slow after the outage
	f.Run(controller.Options{Patience: starting, Metrics: metrics})
	const n = 30
	for i := range n {
		f.Submit(fmt.Sprint("app-", i), fmt.Sprintf(`{manifest: [
			{apiVersion: v1, kind: ConfigMap, metadata: {name: held-%[1]d}}, {apiVersion: v1, kind: Secret, metadata: {name: held-%[1]d}},
			{apiVersion: v1, kind: Service, metadata: {name: held-%[1]d}, spec: {ports: [{port: 80}]}}]}`, i))
	}
	for i := range n {
		f.AwaitReady(fmt.Sprint("app-", i))
	}
	f.awaitEvents(n)
	f.Quiet(time.Second)
	f.Mark()

	require.NoError(t, f.cluster.Kill(testcluster.APIServer))
	f.eventually("watches that have heard nothing for too long", func() bool { return sum(t, metrics, "holdfast_dead_watches") >= 3 })
	require.NoError(t, f.cluster.Restart(testcluster.APIServer))
	f.eventually("their return", func() bool { return sum(t, metrics, "holdfast_dead_watches") == 0 })
	f.Quiet(quiet)

	assert.Empty(t, withoutEvents(f.Requests()).Writes())
	f.Patch("mallory", configMaps, "held-7", `{data: {key: theirs}}`)
	f.Patch("mallory", services, "held-7", `{spec: {ports: [{port: 81}]}}`)
	f.AwaitValue(services, "held-7", int64(80), "spec", "ports", "0", "port")
}
