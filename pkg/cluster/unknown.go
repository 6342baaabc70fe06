package cluster

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ErrKindUnknown says that the API server does not serve a kind. It is certain:
// a server that could not answer gives another error.
var ErrKindUnknown = errors.New("is not served by the API server")

// KindUnknownError is an ErrKindUnknown about one kind.
type KindUnknownError struct {
	schema.GroupVersionKind
	// Suggestion is like ": did you mean autoscaling/v2?", or empty.
	Suggestion string
	// RetryAfter is when the API server is asked again, if a definition does not
	// tell before; 0: never, because there can be no such kind.
	RetryAfter time.Duration
}

func (e *KindUnknownError) Error() string {
	return fmt.Sprintf("%.63s: %.317s %v", e.Kind, e.GroupVersion(), ErrKindUnknown)
}

// Unwrap is ErrKindUnknown.
func (e *KindUnknownError) Unwrap() error { return ErrKindUnknown }

// LookUpError says that it cannot be told now where a kind is served.
type LookUpError struct {
	Err error
	// RetryAfter is when it is worth to ask again.
	RetryAfter time.Duration
}

func (e *LookUpError) Error() string { return e.Err.Error() }

// Unwrap is what went wrong.
func (e *LookUpError) Unwrap() error { return e.Err }

// RetryAfter returns when it is worth to ask a Mapper again that gave an error; 0:
// never, there can be no such kind.
func RetryAfter(err error) time.Duration {
	var unknown *KindUnknownError
	var unclear *LookUpError
	switch {
	case errors.As(err, &unknown):
		return unknown.RetryAfter
	case errors.As(err, &unclear):
		return unclear.RetryAfter
	}
	return 2 * time.Second
}

// IsKind reports whether an API server could serve a kind of that name. Any other
// name is never looked up: it is what a user wrote, and would be a path on the
// API server, or any number of bytes that are remembered.
func IsKind(gvk schema.GroupVersionKind) bool {
	return IsGroup(gvk.Group) && isLabel(gvk.Version) && isLabel(strings.ToLower(gvk.Kind))
}

// IsGroup reports whether there can be a group of that name. The core group is "".
func IsGroup(group string) bool {
	short := len(group) <= validation.DNS1123SubdomainMaxLength // before its letters are looked at
	return group == "" || (short && len(validation.IsDNS1123Subdomain(group)) == 0)
}

func isLabel(text string) bool {
	return len(text) <= validation.DNS1035LabelMaxLength && len(validation.IsDNS1035Label(text)) == 0
}

// How long an answer counts, unless a definition changes: twice as long each time.
const (
	// soonWait is the first wait for what should be otherwise in a moment: it could
	// not be told, or a definition has changed just now.
	soonWait = 500 * time.Millisecond
	// unservedWait is the first wait for what is not served. The watch of definitions
	// is faster; but aggregated APIs have no definition, and perhaps the controller
	// may not watch definitions.
	unservedWait = 30 * time.Second
	longestWait  = 5 * time.Minute
)

// answer is what the API server said last. The zero value is none.
type answer struct {
	err   error
	wait  time.Duration
	again time.Time
}

// note remembers an answer, and first is how long it counts if it is the first.
func (a *answer) note(err error, first time.Duration, now time.Time) {
	if err != nil {
		first = soonWait
	}
	a.wait = min(max(2*a.wait, first), longestWait)
	a.err, a.again = err, now.Add(a.wait)
}

// left is for how long the answer still counts.
func (a *answer) left(now time.Time) time.Duration {
	if now.Before(a.again) {
		return max(a.again.Sub(now), 10*time.Millisecond)
	}
	return 0
}
