package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxFaults is the number of validation errors that are reported together. A short input can have hundreds of thousands
// of errors, and one error takes more memory than its cause.
const MaxFaults = 20

var errMore = errors.New("and more")

// First returns the first MaxFaults validation errors, and one more error if there are others.
func First(faults []error) []error {
	if len(faults) <= MaxFaults {
		return faults
	}
	return append(slices.Clone(faults[:MaxFaults]), errMore)
}

// Collect appends validation errors while they can be among the First. The one after them shows that there are more.
func Collect[T any](faults []T, more ...T) []T {
	return append(faults, more[:min(len(more), max(0, MaxFaults+1-len(faults)))]...)
}

// Error is one error in a stream. It never quotes a value, because the value can belong to a Secret. Line and Column
// start at 1. Column counts characters, not bytes, as editors do.
type Error struct {
	File         string
	Line, Column int
	// Path of the field, if the error concerns one
	Path    Path
	Message string
}

// Error returns "file:line:column: message", a format that editors can open. An error without a file, such as one of
// standard input, begins with the line.
func (e *Error) Error() string {
	where := fmt.Sprintf("%d:%d: ", e.Line, e.Column)
	if e.File != "" {
		where = e.File + ":" + where
	}
	return where + e.Message
}

// ValidationError is one error in a manifest of an Application. It never quotes values of Secrets. For an Application
// with a template, Field is translation, and Position the index among its manifests. Warnings have the same type:
// Normalize returns them separately.
type ValidationError struct {
	// Field is the path of the list of manifests. It is nil for spec.manifest.
	Field Path
	// Position is the index in that list.
	Position int
	// ID of the object. It is zero if the manifest does not identify an object.
	ID ID
	// Path of the field in the manifest; empty if the error concerns the entire manifest
	Path    Path
	Message string
}

// Error returns, for example, spec.manifest[2].metadata.labels.tier (Service default/echo): message.
func (f *ValidationError) Error() string {
	var text strings.Builder
	text.WriteString(fieldOrDefault(f.Field).with(f.Position).with(f.Path...).String())
	if f.ID.Name != "" {
		fmt.Fprintf(&text, " (%s)", f.ID)
	}
	return text.String() + ": " + f.Message
}

// Messages returns the messages of validation errors.
func Messages(faults []*ValidationError) (texts []string) {
	for _, f := range faults {
		texts = append(texts, f.Error())
	}
	return texts
}

// Unjoin returns the errors of a type that errors.Join has joined, also in nested joins. It omits errors of other
// types. With the type error, it returns all of them. It returns nil for nil. An error that wraps one of type T is
// replaced by that one, without the text around it.
func Unjoin[T error](err error) (all []T) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			all = append(all, Unjoin[T](one)...)
		}
		return all
	}
	if one, ok := errors.AsType[T](err); ok {
		all = append(all, one)
	}
	return all
}

// fieldOrDefault returns the path of a list of manifests.
func fieldOrDefault(field Path) Path {
	if field == nil {
		return Path{"spec", "manifest"}
	}
	return field
}

// Describe returns the type of a value for a message, and never the value, which can be secret. A Go type that JSON
// does not have is named, because only a program can have passed it. The text fits after "must be text, not".
func Describe(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	default:
		return fmt.Sprintf("a Go value of type %T", value)
	}
}
