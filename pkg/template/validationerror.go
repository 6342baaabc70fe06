package template

import (
	"errors"
	"strings"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Reasons why a custom resource is rejected.
const (
	// ReasonSpecInvalid: the spec cannot be rendered.
	ReasonSpecInvalid = "SpecInvalid"
	// ReasonApplicationConflict: an Application of that name exists and does not belong to the resource.
	ReasonApplicationConflict = "ApplicationConflict"
	// ReasonApplicationRejected: the API server has rejected the Application. It is written again with a backoff.
	ReasonApplicationRejected = "ApplicationRejected"
	// ReasonWaiting: the obstacle will disappear without a user's action.
	ReasonWaiting = "Waiting"
)

// ValidationError is one reason why a custom resource cannot become an Application.
type ValidationError struct {
	// Path of the field in the custom resource. It is empty if the error concerns the entire resource.
	Path manifest.Path
	// Reason is a CamelCase word for conditions.
	Reason string
	// Message describes the error and the remedy.
	Message string
}

// Error returns, for example, "spec.cpu: message".
func (f *ValidationError) Error() string {
	if len(f.Path) == 0 {
		return f.Message
	}
	return f.Path.String() + ": " + f.Message
}

// ValidationErrors splits the error that Render has joined. An error of another type becomes a validation
// error of the entire resource.
func ValidationErrors(err error) (all []*ValidationError) {
	for _, one := range manifest.Unjoin[error](err) {
		fault, ok := errors.AsType[*ValidationError](one)
		if !ok {
			fault = &ValidationError{Reason: ReasonSpecInvalid, Message: one.Error()}
		}
		all = append(all, fault)
	}
	return all
}

// explain returns the reason and the message for conditions. If there are several errors, the first one
// determines the reason.
func explain(err error) (reason, message string) {
	faults := ValidationErrors(err)
	messages := make([]string, len(faults))
	for i, fault := range faults {
		messages[i] = fault.Error()
	}
	return faults[0].Reason, strings.Join(messages, "; ")
}
