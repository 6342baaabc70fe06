package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/tosca"
)

// patience is how long a translation may take, with all that it fetches. What it
// may compute is bounded by steps, and takes less.
const patience = 30 * time.Second

// turns are those of translations that compute at the same time: each may take
// 100 MiB.
var turns = make(chan struct{}, 2)

// Translate makes manifests of what was gathered, through the point
// ApplicationToscaTranslation: the listeners of h come after the translation
// itself, and may change what it made. h may be nil.
func Translate(ctx context.Context, m *Material, fetcher Fetcher, h *hooks.Hooks) *plan.Source {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-ctx.Done():
		return &plan.Source{Problem: m.located(lateProblem(m.Name))}
	}
	imports := newResolver(fetcher, m.Imports)
	own := hooks.New()
	own.ApplicationToscaTranslation.Listen("tosca", func(t *hooks.Translation) error {
		return translate(ctx, t, imports)
	})
	event := &hooks.Translation{Application: m.Application, Data: m.Data, Name: m.Name, URL: m.URL, Sensitive: m.stamp != "", Inputs: m.Inputs}
	err := own.And(h).ApplicationToscaTranslation.Run(event)
	m.Imports = imports.read
	switch {
	case ctx.Err() != nil:
		return &plan.Source{Problem: m.located(lateProblem(m.Name))}
	case err != nil:
		return &plan.Source{Problem: m.located(imports.problem(err))}
	}
	return &plan.Source{Objects: event.Objects, Outputs: event.Outputs, Warnings: event.Warnings, Digest: m.digest(event.Digest)}
}

func lateProblem(name string) *plan.Problem {
	return &plan.Problem{
		Reason: v1alpha1.ReasonTranslationFailed, As: v1alpha1.DispositionRetry,
		Message: fmt.Sprintf("%s: translating it takes longer than %v", name, patience),
	}
}

// translate is the listener that translates.
func translate(ctx context.Context, t *hooks.Translation, imports *resolver) error {
	inputs := make(map[string]tosca.Input, len(t.Inputs))
	for name, input := range t.Inputs {
		inputs[name] = tosca.Input{Value: input.Value, Text: input.Text, Sensitive: input.Sensitive}
	}
	settings := translationOf(t.Application)
	result, err := tosca.Translate(ctx, tosca.Source{Name: t.Name, Data: t.Data, URL: t.URL, Sensitive: t.Sensitive}, inputs, tosca.Options{
		Resolver: imports, StrictConcat: settings.StrictConcat, IgnoreForeignNodes: settings.IgnoreForeignNodes,
	})
	if err != nil {
		return err
	}
	t.Objects, t.Digest, t.Outputs = result.Objects, result.Digest, map[string]any{}
	if t.Objects == nil {
		t.Objects = []map[string]any{}
	}
	for _, output := range result.Outputs {
		if output.State == tosca.Available {
			t.Outputs[output.Name] = output.Value
		}
	}
	for _, warning := range result.Warnings {
		t.Warnings = append(t.Warnings, warning.Error())
	}
	return nil
}

// problem says what is wrong with a template. Of an error of a hook only what the
// translation said is told.
func (r *resolver) problem(err error) *plan.Problem {
	p := &plan.Problem{Reason: v1alpha1.ReasonTranslationFailed}
	var hook *hooks.Error
	if errors.As(err, &hook) {
		if hook.Listener != "tosca" {
			return &plan.Problem{Reason: v1alpha1.ReasonHookFailed, Message: plan.Summary(err)}
		}
		err = hook.Err
	}
	p.Message = plan.Summary(err)
	switch {
	case !onlyImports(err):
	case r.failed:
		p.Reason = v1alpha1.ReasonFetchFailed
	case !r.local:
		p.Reason = v1alpha1.ReasonSourceNotAllowed
	}
	return p
}

// onlyImports reports whether nothing is wrong but that files cannot be had.
func onlyImports(err error) bool {
	faults := tosca.Errors(err)
	for _, fault := range faults {
		if fault.Code != tosca.SourceNotAllowed {
			return false
		}
	}
	return len(faults) > 0
}

// digest is that of all that was translated, but for what is secret: a digest of
// what is easy to guess tells it.
func (m *Material) digest(ofFiles string) string {
	shown := map[string]any{}
	for name, input := range m.Inputs {
		switch {
		case input.Sensitive || tosca.IsSensitive(name):
			shown[name] = nil
		case input.Text != nil:
			shown[name] = *input.Text
		default:
			shown[name] = input.Value
		}
	}
	if m.stamp != "" {
		ofFiles = m.stamp
	}
	inputs, err := json.Marshal(shown)
	if err != nil {
		inputs = nil // values were decoded from JSON
	}
	sum := sha256.Sum256([]byte(ofFiles + "\n" + string(inputs)))
	return hex.EncodeToString(sum[:])
}

// nameOf is a URL as it may be shown: without its query, which may have a token,
// and without a user.
func nameOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the URL of the source"
	}
	return fmt.Sprintf("%s://%s%s", u.Scheme, u.Host, u.EscapedPath())
}
