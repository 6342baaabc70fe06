package tosca

import (
	"context"
	"regexp"
)

// Source is a template, or an archive with one. Which of both it is, the bytes
// tell.
type Source struct {
	// Name is how messages name it: a file, spec.tosca.template, stdin.
	Name string
	// Data are its bytes.
	Data []byte
	// URL is where it was fetched from, empty if it was not. Imports are relative
	// to it, and messages about its content give positions and rules only.
	URL string
	// Sensitive is set for data of a Secret, which are not quoted either.
	Sensitive bool
}

// Resolver reads the files that a template refers to and that are not in its
// archive. It decides what may be read at all.
type Resolver interface {
	// Resolve returns the content of a location: an absolute URL (it has "://"),
	// or a slash-separated path relative to the source, which may begin with
	// "..". An error that wraps fs.ErrNotExist is reported as "not found", any other
	// as it is; it must not quote content.
	Resolve(ctx context.Context, location string) ([]byte, error)
}

// Input is the value of one input.
type Input struct {
	// Value is made of map[string]any, []any, string, int64, float64, bool and
	// nil, as JSON is. It is not used if Text is. An input of another type than string
	// reads a string as YAML.
	Value any
	// Text is a value that has no type yet: from a flag, or a key of a Secret. An
	// input of type string takes it as it is, any other as YAML.
	Text *string
	// Sensitive values are never shown. Those of inputs whose names have password,
	// token or secret in them are not either.
	Sensitive bool
}

// TextInput returns an Input from text.
func TextInput(text string, sensitive bool) Input {
	return Input{Text: &text, Sensitive: sensitive}
}

// Options configure a translation.
type Options struct {
	// Resolver reads what is not in the source; nil: nothing can be read.
	Resolver Resolver
	// StrictConcat joins the parts of concat as they are, without the space
	// between a key and its value (docs/tosca.md, "The space in concat").
	StrictConcat bool
	// IgnoreForeignNodes leaves out node templates that are no Kubernetes objects
	// instead of refusing them.
	IgnoreForeignNodes bool
	// Raw leaves the evaluated specs as they are: Result has Texts instead of
	// Objects.
	Raw bool
	// QuoteFetched lets messages quote files that came from URLs. It is for a
	// person who could have fetched them herself.
	QuoteFetched bool
}

var sensitiveName = regexp.MustCompile(`(?i)passw|passphrase|token|secret|credential|private_?key|api_?key`)

// IsSensitive tells by the name of an input whether its value must not be shown.
func IsSensitive(name string) bool { return sensitiveName.MatchString(name) }
