package intent

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

// Problem is the reason why a resource is not in sync, or why the input is invalid. It is also an error. Its message
// can be shown to users, and has no values of Secrets. Conditions, events and the command line show it. Two Problems
// with the same reason can have different dispositions.
type Problem struct {
	// Reason is a condition reason of package v1alpha1, for users. The controller acts on Disposition.
	Reason string
	// Message describes the problem.
	Message string
	// Path is the path of the field with the problem, in the object, or in the Application if that is
	// invalid; nil if it is not a single field.
	Path *observer.Path
	// Remedy describes what to do, if the message does not. If many resources have the same Remedy, a
	// condition has it once.
	Remedy v1alpha1.Remedy
	// As overrides the disposition of the reason; empty to use that disposition.
	As v1alpha1.Disposition
	// Partial is true if only some fields of the resource have the problem, and the others are held.
	Partial bool
	// Namespace is the namespace that does not exist or is being deleted, if that is the problem. All
	// objects that would be created in it have the same problem.
	Namespace string
	// RetryAfter is the delay before the next attempt; 0 if the caller decides.
	RetryAfter time.Duration

	// FromComparison is true if the problem follows from the comparison with the live object only, so that the
	// next comparison decides whether it still exists.
	FromComparison bool
}

// DispositionUnread is the disposition of an object that the user of the CLI may not read. No status has it. The
// command line then shows the object without a comparison, and continues with the others.
const DispositionUnread v1alpha1.Disposition = "Unread"

// Disposition returns the retry policy of the problem: As, or the disposition of its reason.
func (p *Problem) Disposition() v1alpha1.Disposition {
	return cmp.Or(p.As, v1alpha1.InfoForReason(p.Reason).Disposition)
}

// Stalled reports whether only a user can solve the problem. Otherwise the controller tries again, at the latest when
// something changes.
func (p *Problem) Stalled() bool { return p.Disposition().Stalled() }

// Error implements the error interface. It returns the message and the remedy.
func (p *Problem) Error() string {
	return JoinSentences(p.Message, p.Remedy.String())
}

// JoinSentences joins a message and remedies with full stops. It skips empty remedies, and adds no full stop after a
// question mark.
func JoinSentences(message string, remedies ...string) string {
	for _, remedy := range remedies {
		switch {
		case remedy == "":
		case strings.HasSuffix(message, "?"):
			message += " " + remedy
		default:
			message += ". " + remedy
		}
	}
	return message
}

// Problemf returns a Problem with a formatted message.
func Problemf(reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// FirstNames returns the first five names, and the number of the others. For example, "a, b, c, d, e and 3 more". The
// length of a message does not depend on the number of names.
func FirstNames(names []string) string { return FirstTexts(names, ", ") }

// FirstTexts is like FirstNames for texts with a separator.
func FirstTexts(texts []string, separator string) string {
	const shown = 5
	if len(texts) <= shown {
		return strings.Join(texts, separator)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:shown], separator), len(texts)-shown)
}
