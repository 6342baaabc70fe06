package plan

import (
	"fmt"
	"time"
)

// Problem is why something is not as it should be.
type Problem struct {
	// Reason is a condition reason of package v1alpha1.
	Reason  string
	Message string
	// Remedy says what to do, where that is the same for many resources: a
	// condition tells it once.
	Remedy string
	// Stalled is true if only a user can help.
	Stalled bool
	// Partial is true if only some leaves of the resource are concerned, and the
	// others are held.
	Partial bool
	// Namespace is the one that is not there, or is being deleted, if that is why: it is
	// the same for all that is to be created in it.
	Namespace string
	// RetryAfter asks to try again then; 0 leaves it to the caller.
	RetryAfter time.Duration
}

// Error makes a Problem an error: what is wrong, and what to do.
func (p *Problem) Error() string {
	if p.Remedy == "" {
		return p.Message
	}
	return p.Message + ". " + p.Remedy
}

// stalled is a Problem that only a user can solve.
func stalled(reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...), Stalled: true}
}
