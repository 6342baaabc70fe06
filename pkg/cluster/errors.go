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
