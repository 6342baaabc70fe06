package manifest

import (
	"fmt"
	"strings"
)

// Error is one fault of a stream. It never quotes a value, because the value
// may be that of a Secret.
type Error struct {
	File         string
	Line, Column int
	// Path of the field, if the fault is in one.
	Path    Path
	Message string
}

// Error prints file:line:column: message, the form that editors jump to.
func (e *Error) Error() string {
	where := fmt.Sprintf("%d:%d: ", e.Line, e.Column)
	if e.File != "" {
		where = e.File + ":" + where
	}
	return where + e.Message
}

// Fault is one fault of one manifest of an Application. It never quotes a value
// of a Secret.
type Fault struct {
	// Field is where the list of manifests is; nil for spec.manifest.
	Field Path
	// Position is the index in it.
	Position int
	// ID of the object; zero if the manifest does not identify one.
	ID ID
	// Path of the field in the manifest; empty if the whole is at fault.
	Path    Path
	Message string
}

// Error prints
// spec.manifest[2].metadata.labels.tier (Service default/echo): message.
func (f *Fault) Error() string {
	var text strings.Builder
	text.WriteString(fieldOr(f.Field).with(f.Position).with(f.Path...).String())
	if f.ID.Name != "" {
		fmt.Fprintf(&text, " (%s)", f.ID)
	}
	return text.String() + ": " + f.Message
}

// Texts are what faults say.
func Texts(faults []*Fault) (texts []string) {
	for _, f := range faults {
		texts = append(texts, f.Error())
	}
	return texts
}

// fieldOr is where a list of manifests is.
func fieldOr(field Path) Path {
	if field == nil {
		return Path{"spec", "manifest"}
	}
	return field
}

// Describe names the type of a value for a message, never the value: it may be a secret.
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
