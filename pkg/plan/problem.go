package plan

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

// Problem is why something is not as it should be.
type Problem struct {
	// Reason is a condition reason of package v1alpha1: a word for people. What follows
	// from it says Disposition.
	Reason string
	// Message says what is wrong.
	Message string
	// Path is the field that is concerned, in the object, or in the Application where that
	// is refused; nil if it is no single one.
	Path *observer.Path
	// Remedy says what to do, where the message does not. Where it is the same for many
	// resources, a condition has it once.
	Remedy v1alpha1.Remedy
	// As is the disposition where it is not that of the reason.
	As v1alpha1.Disposition
	// Partial is true if only some leaves of the resource are concerned, and the
	// others are held.
	Partial bool
	// Namespace is the one that is not there, or is being deleted, if that is why: it is
	// the same for all that is to be created in it.
	Namespace string
	// RetryAfter asks to try again then; 0 leaves it to the caller.
	RetryAfter time.Duration

	// compared is true if it follows from the comparison with the live object alone, so
	// that the next comparison finds it again, or not.
	compared bool
}

// DispositionUnread is that of what whoever asks may not read. A status never has it.
const DispositionUnread v1alpha1.Disposition = "Unread"

// Disposition is what the problem asks for.
func (p *Problem) Disposition() v1alpha1.Disposition {
	return cmp.Or(p.As, v1alpha1.InfoForReason(p.Reason).Disposition)
}

// Compared reports whether it follows from the comparison with the live object alone, and no
// request has failed.
func (p *Problem) Compared() bool { return p.compared }

// Stalled reports whether only a user can help.
func (p *Problem) Stalled() bool { return p.Disposition().Stalled() }

// Error makes a Problem an error: what is wrong, and what to do.
func (p *Problem) Error() string {
	if remedy := p.Remedy.String(); remedy != "" {
		return p.Message + ". " + remedy
	}
	return p.Message
}

func problemf(reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// some is the first few of a list.
func some(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// unjoin takes apart what errors.Join has joined.
func unjoin(err error) []error {
	var joined interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &joined):
		return joined.Unwrap()
	default:
		return []error{err}
	}
}
