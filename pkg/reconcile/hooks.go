package reconcile

import (
	"context"
	"crypto/rand"
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// preCreate returns the body of a create: a copy of the manifest with the namespace of the URL, as hooks changed it.
// It is called again for each manifest, because a hook may generate values such as tokens.
func (a *sender) preCreate(at cluster.Location, manifest map[string]any) (map[string]any, error) {
	body := observer.CopyMap(manifest)
	if metadata, ok := body["metadata"].(map[string]any); ok && at.Mapping.Namespaced {
		metadata["namespace"] = at.ID.Namespace
	}
	err := a.reconciler.Hooks.ResourcePreCreate.Run(&hooks.CreateEvent{
		Application: a.s.Input.Application, ID: at.ID, Object: body, Random: rand.Reader,
	})
	return body, err
}

// recordTokens writes the digests of the tokens in the cluster to the status, before any workload uses them.
// Otherwise, a quick workload could call back in vain while the rest of its Application is not finished. It is called
// between two stages, and writes only if a digest is new.
func (a *executor) recordTokens(ctx context.Context) error {
	app := a.reconciler.applications().Latest(a.s.Input.Application)
	if len(hooks.Purposes(app)) == 0 {
		return nil
	}
	var before []string
	if app.Status.Hooks != nil {
		before = app.Status.Hooks.Tokens
	}
	digests := a.tokens()
	if !slices.ContainsFunc(digests, func(digest string) bool { return !slices.Contains(before, digest) }) {
		return nil
	}
	// The rest of the status is unchanged: report writes the outcome.
	status := *app.Status.DeepCopy()
	if status.Hooks == nil {
		status.Hooks = &v1alpha1.HooksStatus{}
	}
	// Earlier tokens may still be in use by running workloads.
	status.Hooks.Tokens = hooks.KeepTokens(before, digests)
	a.tokensRecorded = true
	return a.reconciler.WriteStatus(ctx, app, status)
}

// tokens returns the digests of the tokens that are in the cluster, in the order of their Secrets. The object of a
// finished write takes precedence over the gathered one.
func (a *executor) tokens() (digests []string) {
	for _, change := range a.plan.Changes {
		s := hooks.ObjectEvent{Application: a.s.Input.Application, ID: change.ID, Live: a.s.Input.Live[change.ID]}
		if outcome, attempted := a.result[change.ID]; attempted {
			change = outcome.Change
			if outcome.Object != nil && outcome.Problem == nil {
				s.Live = outcome.Object
			}
		}
		if s.Live != nil && change.Problem == nil {
			_ = hooks.Tokens(&s) // tokens that it finds are used despite an error
		}
		digests = append(digests, s.Tokens...)
	}
	return digests
}

// postDelete runs the hooks of a resource that is gone. If one fails, the resource remains in the inventory,
// and they run again.
func (a *sender) postDelete(id manifest.ID) *plan.Problem {
	if err := a.reconciler.Hooks.ResourcePostDelete.Run(a.changing(id)); err != nil {
		return plan.HookProblem(err)
	}
	return nil
}

// changing returns the event of the hooks around a change of one resource.
func (a *sender) changing(id manifest.ID) *hooks.ChangeEvent {
	return &hooks.ChangeEvent{Application: a.s.Input.Application, ID: id}
}
