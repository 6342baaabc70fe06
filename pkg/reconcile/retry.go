package reconcile

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// retry is the retry policy of an Application: the waits of spec.retry, and, where these are not set, waits
// by the kind of problem.
//
//	problem                      first wait   longest
//	may resolve automatically    250 ms       5 min
//	rights are missing           10 s         5 min
//	only a user can help         2 min        16 min
//
// Source: docs/status.md, "Retries".
type retry struct {
	initial, longest time.Duration // 0: by the kind of problem
	// multiplier is the factor between two waits, at least 1.
	multiplier float64
	attempts   int // 0: no limit
}

// shortestWait is the shortest wait that spec.retry can set, because a request that can never succeed is
// retried this often forever. The schema of the CRD also enforces it for new Applications.
const shortestWait = time.Second

// retryOf returns the retry policy for spec.retry; policy is nil if it is not set. It raises intervals below
// shortestWait.
func retryOf(policy *v1alpha1.RetryPolicy) retry {
	r := retry{multiplier: 2}
	if policy == nil {
		return r
	}
	if policy.InitialInterval != nil {
		r.initial = max(policy.InitialInterval.Duration, shortestWait)
	}
	if policy.MaxInterval != nil {
		r.longest = max(policy.MaxInterval.Duration, shortestWait)
	}
	if policy.Multiplier != nil {
		r.multiplier = float64(*policy.Multiplier)
	}
	r.attempts = int(policy.MaxAttempts)
	return r
}

// wait returns how long to wait after a number of failed attempts, which is at least one. If the problem requests a
// longer wait, for example by a Retry-After header of the API server, it returns that.
func (r retry) wait(problem *plan.Problem, attempts int) time.Duration {
	first, longest := 250*time.Millisecond, 5*time.Minute
	switch {
	case problem.Disposition() == v1alpha1.DispositionGrant:
		first = 10 * time.Second // a user runs the command in the message, and waits for the result
	case problem.Stalled():
		first, longest = 2*time.Minute, 16*time.Minute
	}
	first = cmp.Or(r.initial, first)
	// Without growth, the first wait applies forever.
	if r.multiplier == 1 {
		first = max(first, shortestWait)
	}
	longest = cmp.Or(r.longest, max(longest, first))
	wait := float64(first) * math.Pow(r.multiplier, float64(attempts-1))
	return max(time.Duration(min(wait, float64(longest))), problem.RetryAfter)
}

// exhausted reports whether no attempts are left after a number of attempts.
func (r retry) exhausted(attempts int) bool { return r.attempts > 0 && attempts >= r.attempts }

// givenUp returns the problem of a resource after its last attempt, without a retry. It sets the reason
// RetriesExhausted, which is stalled, except for a problem that is stalled anyway. It does not change last.
func givenUp(last *plan.Problem, attempts int) *plan.Problem {
	problem := *last
	if !problem.Stalled() {
		problem.Reason, problem.As = v1alpha1.ReasonRetriesExhausted, ""
	}
	problem.RetryAfter = 0
	problem.Message = fmt.Sprintf("%s (given up after %d of %d attempts, until something changes)", last.Message, attempts, attempts)
	return &problem
}

// MinWait returns the shorter of two waits, where 0 is no wait.
func MinWait(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
