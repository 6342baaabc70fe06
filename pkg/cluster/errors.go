package cluster

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrKindUnknown is returned if the API server certainly does not serve a kind. If the server cannot
// answer, another error is returned.
var ErrKindUnknown = errors.New("is not served by the API server")

// KindUnknownError is an ErrKindUnknown for one kind.
type KindUnknownError struct {
	schema.GroupVersionKind
	// Suggestion is empty or, for example, ": did you mean autoscaling/v2?".
	Suggestion string
	// RetryAfter is the time after which the API server is asked again, unless a definition changes before.
	// It is 0 if no kind can have that name.
	RetryAfter time.Duration
}

func (e *KindUnknownError) Error() string {
	return fmt.Sprintf("%.63s: %.317s %v", e.Kind, e.GroupVersion(), ErrKindUnknown)
}

// Unwrap returns ErrKindUnknown.
func (e *KindUnknownError) Unwrap() error { return ErrKindUnknown }

// LookUpError is returned if a kind cannot be resolved now.
type LookUpError struct {
	Err error
	// RetryAfter is the time after which a retry makes sense.
	RetryAfter time.Duration
}

func (e *LookUpError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *LookUpError) Unwrap() error { return e.Err }

// RetryAfter returns the time after which to retry a lookup that failed with the error. It returns 0 if no
// kind can have that name.
func RetryAfter(err error) time.Duration {
	if unknown, ok := errors.AsType[*KindUnknownError](err); ok {
		return unknown.RetryAfter
	}
	if unclear, ok := errors.AsType[*LookUpError](err); ok {
		return unclear.RetryAfter
	}
	return 2 * time.Second
}

// The times for which a result is cached, unless a definition changes. They double each time.
const (
	// shortWait is the first delay for temporary results: the lookup has failed, or a definition has just
	// changed.
	shortWait = 500 * time.Millisecond
	// unservedWait is the first delay for kinds that are not served. The watch of definitions is faster,
	// but aggregated APIs have no definition, and the controller may not be allowed to watch definitions.
	unservedWait = 30 * time.Second
	maxWait      = 5 * time.Minute
)

// discoveryResult is the last result of a discovery request, and how long it is cached. The zero value means that
// there is none. The lock of its group guards it.
type discoveryResult struct {
	// err is the error of the request; nil if it succeeded, also if nothing was found.
	err error
	// wait is the time for which the result is cached. It doubles with each result, so a kind that remains missing
	// costs fewer and fewer requests.
	wait time.Duration
	// again is the time when the result expires.
	again time.Time
}

// record stores a result. first is the time for which the first of several equal results is cached.
func (a *discoveryResult) record(err error, first time.Duration, now time.Time) {
	if err != nil {
		first = shortWait
	}
	a.wait = min(max(2*a.wait, first), maxWait)
	a.err, a.again = err, now.Add(a.wait)
}

// remaining returns for how long the result remains cached.
func (a *discoveryResult) remaining(now time.Time) time.Duration {
	if now.Before(a.again) {
		return max(a.again.Sub(now), 10*time.Millisecond)
	}
	return 0
}
