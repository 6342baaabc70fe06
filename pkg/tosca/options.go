package tosca

import (
	"context"
	"regexp"
	"slices"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Source is a template, or an archive with one. The content determines which of them it is. csar.Detect finds out
// whether it is an archive, by the first bytes. A name or URL need not end in .csar.
type Source struct {
	// Name identifies the source in messages: a file, spec.tosca.template, stdin.
	Name string
	// Data is the template or archive.
	Data []byte
	// URL is the address from which the source was fetched, or "". Imports are relative to it. Messages about its
	// content contain only positions and rules.
	URL string
	// Sensitive is set for data of a Secret, which messages do not quote either.
	Sensitive bool
}

// Resolver reads the files that a template refers to and that are not in its archive. It decides which files may be
// read. Package source implements it for the controller: only URLs that the administrator allows. The command line
// implements it with files next to the template. A translation calls it once per location, from one goroutine, and its
// total size is limited. After the end of ctx, the result is not used.
type Resolver interface {
	// Resolve returns the content of a location: an absolute URL (it has "://"),
	// or a slash-separated path relative to the source, which may begin with
	// "..". An error that wraps fs.ErrNotExist is reported as "not found", any other
	// as it is; it must not quote content.
	Resolve(ctx context.Context, location string) ([]byte, error)
}

// Input is the value of one input.
//
//	set in                              Value or Text
//	spec.tosca.inputs                   Value
//	spec.tosca.inputsFrom, ConfigMap    Text
//	spec.tosca.inputsFrom, Secret       Text, Sensitive
//	--input NAME=VALUE                  Text
//	--inputs FILE                       Value
type Input struct {
	// Value is a JSON value: map[string]any, []any, string, int64, float64, bool or nil. It is ignored if Text is
	// set. An input of another type than string reads a string as YAML.
	Value any
	// Text is a value without a type: from a flag, or a key of a Secret. An input of type string takes it unchanged,
	// any other as YAML.
	Text *string
	// Sensitive values are never shown. Those of inputs whose names have password,
	// token or secret in them are not either.
	Sensitive bool
}

// TextInput returns an Input from text.
func TextInput(text string, sensitive bool) Input {
	return Input{Text: &text, Sensitive: sensitive}
}

// Options configure a translation. The zero value is the strictest: no files, no foreign nodes, and nothing fetched in
// messages.
type Options struct {
	// Resolver reads the files that are not in the source. Without it, none can be read.
	Resolver Resolver
	// StrictConcat joins the parts of concat unchanged, without the space between a key and its value (docs/tosca.md,
	// "The space in concat").
	StrictConcat bool
	// IgnoreForeignNodes leaves out node templates that are not Kubernetes objects, instead of rejecting them. It is
	// for templates that also describe hosts or networks, which another tool creates.
	IgnoreForeignNodes bool
	// Raw returns the evaluated specs unchanged: Result has Texts instead of Objects. Only the command line uses it, to
	// compare the text with that of other tools.
	Raw bool
	// QuoteFetched lets messages quote files from URLs. It is for users on their own machines, who could fetch these
	// files anyway.
	QuoteFetched bool
}

// sensitiveName matches names that usually belong to secret values. It matches anywhere in the name, in any case:
// dbPassword, API_KEY, tokenTTL. A false match only hides an output.
var sensitiveName = regexp.MustCompile(`(?i)passw|passphrase|token|secret|credential|private_?key|api_?key`)

// IsSensitive reports whether the value of an input, property or field with that name must not be shown.
func IsSensitive(name string) bool { return sensitiveName.MatchString(name) }

// WithoutSensitive returns a value with null in place of each value of a map whose key is a sensitive name, at any
// depth. It does not change content, and the result can share parts with it.
func WithoutSensitive(content any) any {
	fields, isMap := content.(map[string]any)
	if !isMap {
		return manifest.MapChildren(content, WithoutSensitive)
	}
	visible := make(map[string]any, len(fields))
	for name, child := range fields {
		visible[name] = nil
		if !IsSensitive(name) {
			visible[name] = WithoutSensitive(child)
		}
	}
	return visible
}

// hasSensitiveName reports whether a map in a value has a sensitive name as key, at any depth.
func hasSensitiveName(content any) bool {
	switch content := content.(type) {
	case map[string]any:
		for name, child := range content {
			if IsSensitive(name) || hasSensitiveName(child) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(content, hasSensitiveName)
	}
	return false
}
