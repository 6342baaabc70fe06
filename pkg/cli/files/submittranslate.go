package files

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/source"
	"holdfast.dev/holdfast/pkg/tosca"
)

// Translate translates a template or archive like the controller, so that validation errors are reported before
// anything is sent. It returns an error only for mistakes of the user. note names the parts that are not checked
// here, because only the controller can fetch them. reader is nil without a cluster.
//
//	source              translated here   errors
//	a file              yes               with positions in the file
//	inline in a file    yes               with positions in the Application
//	a URL               no                a note
//	needs the cluster   if reader is set  a note if an object cannot be read
func (s *Submission) Translate(ctx context.Context, reader source.Reader) (note string, err error) {
	if !intent.IsTranslated(s.App) {
		return "", nil
	}
	if url := sourceURL(s.App); url != "" {
		return url + " is not checked here: the controller fetches and translates it", nil
	}
	material, problem := source.Gather(ctx, s.App, submittedReader{s, reader}, disabledFetcher{}, nil)
	if problem == nil {
		s.template.describe(material)
		s.translation = source.Translate(ctx, material, disabledFetcher{}, nil)
		problem = s.translation.Problem
	}
	// Only the user can correct such a problem. Others, such as an input that this user may not read, may not
	// concern the controller.
	if problem != nil && problem.Disposition() == v1alpha1.DispositionEdit {
		return "", s.mistakes(problem)
	}
	if problem != nil {
		s.translation = nil
		note = "the template is not checked here: the controller translates it: " + problem.Error()
	}
	return note, s.setInputs(ctx)
}

// sourceURL returns the URL of the template or archive, or "". The Application has one of them.
func sourceURL(app *v1alpha1.Application) string {
	if app.Spec.Tosca != nil {
		return app.Spec.Tosca.URL
	}
	return app.Spec.CSAR.URL
}

// describe sets the name of the file for messages, and passes the values of --input as text, so that each input
// parses its value. It changes m.
func (t templateFile) describe(m *source.Material) {
	if t.name == "" {
		return
	}
	m.Name = t.name
	for name, text := range t.texts {
		m.Inputs[name] = hooks.Input{Text: &text}
	}
}

// mistakes returns the validation errors of a template, each with its position: in the file of the
// template, or in that of the Application.
func (s *Submission) mistakes(problem *plan.Problem) error {
	if s.template.name == "" {
		return refusal(s.whole, problem, Subject{Application: s.App}.SourceFaults(&intent.Source{Problem: problem}))
	}
	var all []error
	for line := range strings.SplitSeq(problem.Error(), "\n") {
		all = append(all, fmt.Errorf("%s: %s", problem.Reason, line))
	}
	return errors.Join(all...)
}

// setInputs parses the values of --input as the types of their inputs, and stores them in the content. Values
// whose types are unknown here remain strings. The content then matches an Application with typed inputs.
//
//	--input replicas=3, of the type integer  3
//	--input name=3, of the type string       "3"
//	--input list=[1, 2], of the type list    [1, 2]
func (s *Submission) setInputs(ctx context.Context) error {
	if len(s.template.texts) == 0 {
		return nil
	}
	texts := make(map[string]tosca.Input, len(s.template.texts))
	for name, text := range s.template.texts {
		// All values count as sensitive, so that no message contains one.
		texts[name] = tosca.TextInput(text, true)
	}
	read, err := tosca.ReadInputs(ctx, tosca.Source{Name: s.template.name, Data: s.template.data}, texts)
	if err != nil {
		return s.mistakes(&plan.Problem{Reason: v1alpha1.ReasonTranslationFailed, Message: err.Error()})
	}
	// The values in Content are replaced, and App is decoded again.
	for _, field := range []string{"tosca", "csar"} {
		inputs := manifest.NestedMap(s.Content, "spec", field, "inputs")
		for name := range inputs {
			if typed, has := read[name]; has {
				inputs[name] = typed
			}
		}
	}
	return s.decode()
}

// submittedReader is a source.Reader that finds the archive of the submission, and all other objects in the
// cluster.
type submittedReader struct {
	*Submission

	cluster source.Reader
}

// Read implements source.Reader.
func (r submittedReader) Read(ctx context.Context, kind, name string) (map[string]any, *plan.Problem) {
	switch {
	case kind == "ConfigMap" && r.Archive != nil && name == ArchiveName(r.Name, r.Archive):
		return map[string]any{"binaryData": map[string]any{ArchiveKey: base64.StdEncoding.EncodeToString(r.Archive)}}, nil
	case r.cluster == nil:
		return nil, &plan.Problem{Reason: v1alpha1.ReasonFetchFailed, Message: kind + " " + name + " is in the cluster, which is not used"}
	default:
		return r.cluster.Read(ctx, kind, name)
	}
}
