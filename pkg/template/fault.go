package template

import (
	"errors"
	"strings"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Reasons for which a custom resource is refused.
const (
	// ReasonSpecInvalid: the spec cannot be rendered.
	ReasonSpecInvalid = "SpecInvalid"
	// ReasonApplicationConflict: there is an Application of that name that is not
	// the resource's.
	ReasonApplicationConflict = "ApplicationConflict"
	// ReasonWaiting: what is in the way goes by itself.
	ReasonWaiting = "Waiting"
)

// Fault is one reason why a custom resource cannot become an Application.
type Fault struct {
	// Path of the field in the custom resource; empty if the whole is at fault.
	Path manifest.Path
	// Reason in one word, for conditions.
	Reason string
	// Message says what is wrong and what to do.
	Message string
}

// Error prints spec.cpu: message.
func (f *Fault) Error() string {
	if len(f.Path) == 0 {
		return f.Message
	}
	return f.Path.String() + ": " + f.Message
}

// Faults takes apart what Render has joined. An error of another type becomes a
// fault of the whole resource.
func Faults(err error) []*Fault {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*Fault
		for _, one := range joined.Unwrap() {
			all = append(all, Faults(one)...)
		}
		return all
	}
	var fault *Fault
	if errors.As(err, &fault) {
		return []*Fault{fault}
	}
	return []*Fault{{Reason: ReasonSpecInvalid, Message: err.Error()}}
}

// explain returns the reason and the message of a refusal. Of several reasons it
// is that of the first.
func explain(err error) (reason, message string) {
	faults := Faults(err)
	messages := make([]string, len(faults))
	for i, fault := range faults {
		messages[i] = fault.Error()
	}
	return faults[0].Reason, strings.Join(messages, "; ")
}
