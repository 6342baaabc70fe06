package reconcile

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/worker"
)

var (
	passing      = &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: "a timeout"}
	forbidden403 = &plan.Problem{Reason: v1alpha1.ReasonForbidden, Message: "no rights"}
	rejected     = &plan.Problem{Reason: v1alpha1.ReasonRejected, Message: "immutable"}
)

func duration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

func TestWaits(t *testing.T) {
	three := int32(3)
	one := int32(1)
	const ms, s, m = time.Millisecond, time.Second, time.Minute
	for _, row := range []struct {
		name    string
		policy  *v1alpha1.RetryPolicy
		problem *plan.Problem
		want    []time.Duration // after the first attempt, the second, …
	}{
		{"a transient problem is retried with a doubled interval", nil, passing, []time.Duration{250 * ms, 500 * ms, s, 2 * s}},
		{"missing permissions have a longer interval", nil, forbidden403, []time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 5 * m, 5 * m}},
		{"a problem that needs a user waits for minutes", nil, rejected, []time.Duration{2 * m, 4 * m, 8 * m, 16 * m, 16 * m}},
		{"an initial interval applies to all problems", &v1alpha1.RetryPolicy{InitialInterval: duration(s)}, rejected, []time.Duration{s, 2 * s, 4 * s}},
		{"a multiplier", &v1alpha1.RetryPolicy{Multiplier: &three}, passing, []time.Duration{250 * ms, 750 * ms, 2250 * ms}},
		{"a multiplier of one waits the same each time", &v1alpha1.RetryPolicy{Multiplier: &one, InitialInterval: duration(s)}, passing, []time.Duration{s, s, s}},
		{"a longest interval", &v1alpha1.RetryPolicy{MaxInterval: duration(1600 * ms)}, passing, []time.Duration{250 * ms, 500 * ms, s, 1600 * ms, 1600 * ms}},
		{"intervals below a second are a second", &v1alpha1.RetryPolicy{InitialInterval: duration(1), MaxInterval: duration(1), Multiplier: &one}, passing, []time.Duration{s, s, s}},
		{"a wait that never grows is a second", &v1alpha1.RetryPolicy{Multiplier: &one}, passing, []time.Duration{s, s, s}},
		{"a longest interval cuts the first one, too", &v1alpha1.RetryPolicy{MaxInterval: duration(s)}, rejected, []time.Duration{s, s}},
		{"an initial interval beyond the usual longest one counts", &v1alpha1.RetryPolicy{InitialInterval: duration(time.Hour)}, passing, []time.Duration{time.Hour, time.Hour}},
		{"an API server that asks for more gets more", nil, &plan.Problem{Reason: v1alpha1.ReasonRetrying, RetryAfter: s}, []time.Duration{s, s, s, 2 * s}},
	} {
		t.Run(row.name, func(t *testing.T) {
			for i, want := range row.want {
				assert.Equal(t, want, retryOf(row.policy).wait(row.problem, i+1), "after attempt %d", i+1)
			}
		})
	}
}

func TestNoWaitIsNegativeOrLongerThanTheLongest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		multiplier := rapid.Int32Range(1, 10).Draw(t, "multiplier")
		longest := time.Duration(rapid.Int64Range(1, int64(1000*time.Hour)).Draw(t, "longest"))
		r := retryOf(&v1alpha1.RetryPolicy{
			InitialInterval: duration(time.Duration(rapid.Int64Range(1, int64(1000*time.Hour)).Draw(t, "initial"))),
			Multiplier:      &multiplier, MaxInterval: duration(longest),
		})
		attempts := rapid.IntRange(1, 1_000_000).Draw(t, "attempts")
		wait, next := r.wait(passing, attempts), r.wait(passing, attempts+1)
		if wait <= 0 || wait > max(longest, shortestWait) || next < wait {
			t.Fatalf("after attempt %d: %v, then %v; the longest is %v", attempts, wait, next, longest)
		}
	})
}

// Objects that fail at the same time are not retried at the same time.
func TestWaitsAreSpread(t *testing.T) {
	const wait = 250 * time.Millisecond
	m := &State{retries: retries{jitter: worker.Jitter, failures: map[manifest.ID]*failure{}, retry: retryOf(nil)}}
	seen := map[time.Duration]bool{}
	for i := range 100 {
		name := strconv.Itoa(i)
		retried := m.failed(manifest.ID{Kind: "ConfigMap", Name: name}, passing, time.Unix(1000, 0)).RetryAfter
		assert.GreaterOrEqual(t, retried, wait)
		assert.LessOrEqual(t, retried, wait+wait/10)
		seen[retried] = true
	}
	assert.Greater(t, len(seen), 50)
}

func TestTheLastAttempt(t *testing.T) {
	id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "config"}
	now := time.Unix(1000, 0)
	later := now.Add(1000 * time.Hour)
	m := &State{retries: retries{jitter: worker.Jitter, failures: map[manifest.ID]*failure{}, retry: retryOf(&v1alpha1.RetryPolicy{MaxAttempts: 2})}}

	first := m.failed(id, passing, now)
	assert.Positive(t, first.RetryAfter)
	assert.False(t, first.Stalled())
	assert.Empty(t, m.blocked(later), "it is tried again")

	last := m.failed(id, passing, now)
	assert.Zero(t, last.RetryAfter)
	assert.True(t, last.Stalled())
	assert.Equal(t, v1alpha1.ReasonRetriesExhausted, last.Reason)
	assert.Equal(t, "a timeout (given up after 2 of 2 attempts, until something changes)", last.Message)
	require.Contains(t, m.blocked(later), id, "it is never tried again")
	assert.Equal(t, last, m.blocked(later)[id], "and the last error is still reported")

	m.tryAgain()
	assert.Empty(t, m.blocked(now), "something has changed: it is tried at once")
	assert.Equal(t, last, m.failed(id, passing, now), "once, and the message is the same")
	assert.Contains(t, m.blocked(later), id)

	assert.Equal(t, v1alpha1.ReasonRejected, m.failed(id, rejected, now).Reason, "a problem with a remedy keeps its reason")
}

func TestARefusedLeafIsGivenUpToo(t *testing.T) {
	now := time.Unix(1000, 0)
	leaf := plan.Leaf{ID: manifest.ID{Kind: "Service", Name: "web"}, Path: "/spec/clusterIP"}
	m := &State{retries: retries{jitter: worker.Jitter, retry: retryOf(&v1alpha1.RetryPolicy{MaxAttempts: 2})}}
	m.plan.Rejections = map[plan.Leaf]*plan.Rejection{leaf: {Problem: rejected, Times: 1, Until: now.Add(time.Minute)}}
	m.giveUpRefused(now)
	assert.False(t, m.plan.HeldBack(leaf, now.Add(time.Hour)))

	m.plan.Rejections[leaf].Times = 2
	m.giveUpRefused(now)
	assert.True(t, m.plan.HeldBack(leaf, now.Add(1000*time.Hour)))

	m.tryAgain()
	m.giveUpRefused(now)
	assert.False(t, m.plan.HeldBack(leaf, now), "something has changed")
}
