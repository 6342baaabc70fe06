package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/tosca"
)

// translateTimeout limits a translation including all fetches. The computation itself is limited by steps and takes
// less. It includes the time that a translation waits for its slot.
const translateTimeout = 30 * time.Second

// translations bounds how many templates are translated at the same time: each may take
// 100 MiB.
var translations = NewSlots(2, 1)

// Translate translates the material to manifests through the point ApplicationToscaTranslation. The listeners of h run
// after the translation and can change its result. h can be nil. The result contains a Problem, or the manifests; it is
// never nil. Translate sets m.Imports, also after an error. The listener that translates is the first one, so a
// listener of a hook can also replace the whole result.
func Translate(ctx context.Context, m *Material, fetcher Fetcher, h *hooks.Hooks) *intent.Source {
	ctx, cancel := context.WithTimeout(ctx, translateTimeout)
	defer cancel()
	imports := newResolver(fetcher, m)
	if err := imports.acquire(ctx); err != nil {
		return &intent.Source{Problem: m.located(lateProblem(m.Name))}
	}
	defer func() { imports.release() }()
	own := hooks.New()
	own.ApplicationToscaTranslation.Listen("tosca", func(t *hooks.Translation) error {
		return translate(ctx, t, imports)
	})
	event := &hooks.Translation{Application: m.Application, Data: m.Data, Name: m.Name, URL: m.URL, Sensitive: m.stamp != "", Inputs: m.Inputs}
	err := own.And(h).ApplicationToscaTranslation.Run(event)
	m.Imports = imports.read
	switch {
	// The time limit takes precedence, because the error can be a consequence of it.
	case ctx.Err() != nil:
		return &intent.Source{Problem: m.located(lateProblem(m.Name))}
	case err != nil:
		return &intent.Source{Problem: m.located(imports.problem(err))}
	}
	if problem := m.tooLarge(event.Objects); problem != nil {
		return &intent.Source{Problem: m.located(problem)}
	}
	return &intent.Source{Objects: event.Objects, Outputs: event.Outputs, Warnings: event.Warnings, Digest: m.digest(event.Digest)}
}

// lateProblem returns the Problem of a translation that has reached its time limit.
func lateProblem(name string) *plan.Problem {
	return &plan.Problem{
		Reason: v1alpha1.ReasonTranslationFailed, As: v1alpha1.DispositionRetry,
		Message: fmt.Sprintf("%s: translating it takes longer than %v", name, translateTimeout),
	}
}

// translate runs the translation; it listens to ApplicationToscaTranslation.
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
	// With nil objects, the caller would see no translation. A template can have no objects.
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

// problem converts an error to a problem. If a hook has failed, it shows only the part from the translation.
//
//	the error                              reason
//	of another listener                    HookFailed
//	only imports, one of them temporary    FetchFailed
//	only imports, all of them refused      SourceNotAllowed
//	any other                              TranslationFailed
func (r *resolver) problem(err error) *plan.Problem {
	p := &plan.Problem{Reason: v1alpha1.ReasonTranslationFailed}
	if hook, ok := errors.AsType[*hooks.Error](err); ok {
		if hook.Listener != "tosca" {
			return &plan.Problem{Reason: v1alpha1.ReasonHookFailed, Message: intent.Summary(err)}
		}
		err = hook.Err
	}
	p.Message = intent.Summary(err)
	switch {
	case !isImportError(err):
	case r.failed:
		p.Reason = v1alpha1.ReasonFetchFailed
	case !r.local:
		p.Reason = v1alpha1.ReasonSourceNotAllowed
	}
	return p
}

// isImportError reports whether failed imports are the only errors.
func isImportError(err error) bool {
	faults := tosca.Errors(err)
	return len(faults) > 0 &&
		!slices.ContainsFunc(faults, func(fault *tosca.Error) bool { return fault.Code != tosca.SourceNotAllowed })
}

// digest returns the digest of all inputs of the translation, without secret ones: values that are easy to
// guess could be found through their digest.
func (m *Material) digest(ofFiles string) string {
	shown := map[string]any{}
	for name, input := range m.Inputs {
		switch {
		case input.Sensitive || tosca.IsSensitive(name):
			shown[name] = nil
		case input.Text != nil:
			shown[name] = *input.Text
		default:
			shown[name] = tosca.WithoutSensitive(input.Value)
		}
	}
	if m.stamp != "" {
		ofFiles = m.stamp
	}
	inputs, _ := json.Marshal(shown) // values were decoded from JSON, so this cannot fail
	sum := sha256.Sum256([]byte(ofFiles + "\n" + string(inputs)))
	return hex.EncodeToString(sum[:])
}

// displayURL returns a URL for messages: without its query, which can contain a token, and without a user.
func displayURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the URL of the source"
	}
	return fmt.Sprintf("%s://%s%s", u.Scheme, u.Host, u.EscapedPath())
}
