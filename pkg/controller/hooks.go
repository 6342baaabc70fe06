package controller

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// standardHooks are the controller's own listeners, with those of its options
// after them.
func (c *Controller) standardHooks(more *hooks.Hooks) *hooks.Hooks {
	own := hooks.New()
	own.ApplicationMangling.Listen("callback", c.needCallback)
	own.ResourcePreCreate.Listen("generate", hooks.Generate)
	return own.And(more)
}

// callback is how workloads reach this controller.
func (c *Controller) callback() hooks.Callback {
	if c.options.Callback == nil {
		return hooks.Callback{}
	}
	return c.options.Callback()
}

// Application is what callbacks have to know of an Application that this
// controller holds, as its watch has it: metadata and hooks, and no more. nil if
// there is none.
func (c *Controller) Application(namespace, name string) *v1alpha1.Application {
	object := c.applications.Get(types.NamespacedName{Namespace: namespace, Name: name})
	if object == nil {
		return nil
	}
	return c.called.of(object)
}

// mostCalled is how many Applications are remembered for callbacks.
const mostCalled = 1024

// called remembers the Applications that were called back last, so that a call
// costs the same whether its Application is large, small or not there.
type called struct {
	mu   sync.Mutex
	apps map[types.NamespacedName]*v1alpha1.Application
}

func (s *called) of(object *cluster.Object) *v1alpha1.Application {
	s.mu.Lock()
	defer s.mu.Unlock()
	app := s.apps[object.Key]
	if app != nil && app.UID == object.UID && app.ResourceVersion == object.ResourceVersion {
		return app
	}
	whole, err := cluster.DecodeApplication(object.JSON)
	if err != nil {
		return nil
	}
	app = &v1alpha1.Application{TypeMeta: whole.TypeMeta, ObjectMeta: whole.ObjectMeta}
	app.Spec.Hooks, app.Status.Hooks = whole.Spec.Hooks, whole.Status.Hooks
	if len(s.apps) >= mostCalled || s.apps == nil {
		s.apps = map[types.NamespacedName]*v1alpha1.Application{}
	}
	s.apps[object.Key] = app
	return app
}

// CallbackChanged has the Applications with hooks told how to reach this
// controller now.
func (c *Controller) CallbackChanged() {
	c.mu.Lock()
	names := slices.Collect(maps.Values(c.names))
	c.mu.Unlock()
	for _, key := range names {
		if app := c.Application(key.Namespace, key.Name); app != nil && len(hooks.Purposes(app)) > 0 {
			c.queue.Add(key)
		}
	}
}

// needCallback is a listener of ApplicationMangling. It refuses hooks for which
// there is nobody to call back, but not where workloads know an address from before:
// those stay held with it.
func (c *Controller) needCallback(m *hooks.Mangling) error {
	if err := hooks.NeedAddresses(m); err != nil {
		return err
	}
	if len(hooks.Purposes(m.Application)) > 0 && c.callback().URL == "" {
		m.Warnings = append(m.Warnings, "spec.hooks: the callback server is off (--callback-bind-address) or has no certificate yet: nobody answers workloads, which keep the address they have")
	}
	return nil
}

// hookFailed reports that a hook keeps an Application from being handled, and has
// it tried again.
func (c *Controller) hookFailed(ctx context.Context, app *v1alpha1.Application, cause error) (time.Duration, error) {
	p := plan.Refuse(plan.Input{Application: app, Memory: &c.memoryOf(app).plan}, plan.HookProblem(cause))
	if _, err := c.report(ctx, app, p, nil); err != nil {
		return 0, err
	}
	return 0, cause
}

// preCreate is the body of a create: a copy with the namespace that its URL will
// have, and what hooks make of it.
func (a *action) preCreate(at cluster.Location, manifest map[string]any) (map[string]any, error) {
	body := observer.CopyMap(manifest)
	if metadata, ok := body["metadata"].(map[string]any); ok && at.Mapping.Namespaced {
		metadata["namespace"] = at.ID.Namespace
	}
	err := a.c.options.Hooks.ResourcePreCreate.Run(&hooks.Creating{
		Application: a.g.input.Application, ID: at.ID, Object: body, Random: rand.Reader,
	})
	return body, err
}

// tellTokens has the status know the tokens in the cluster before any workload
// does: one that is quick must not call in vain because something else of its
// Application takes its time.
func (a *action) tellTokens(ctx context.Context) error {
	app := a.c.latest(a.g.input.Application)
	if len(hooks.Purposes(app)) == 0 {
		return nil
	}
	var before []string
	if app.Status.Hooks != nil {
		before = app.Status.Hooks.Tokens
	}
	found := a.tokens()
	if !slices.ContainsFunc(found, func(digest string) bool { return !slices.Contains(before, digest) }) {
		return nil
	}
	status := *app.Status.DeepCopy()
	if status.Hooks == nil {
		status.Hooks = &v1alpha1.HooksStatus{}
	}
	status.Hooks.Tokens = hooks.KeepTokens(before, found)
	a.g.told = true
	return a.c.writeStatus(ctx, app, status)
}

// tokens are the digests of the tokens that are in the cluster, in the order of
// their Secrets.
func (a *action) tokens() (digests []string) {
	for _, change := range a.plan.Changes {
		s := hooks.Seen{Application: a.g.input.Application, ID: change.ID, Live: a.g.input.Live[change.ID]}
		if outcome, attempted := a.result[change.ID]; attempted {
			change = outcome.Change
			if outcome.Object != nil && outcome.Problem == nil {
				s.Live = outcome.Object
			}
		}
		if s.Live != nil && change.Problem == nil {
			_ = hooks.Tokens(&s) // it finds what there is
		}
		digests = append(digests, s.Tokens...)
	}
	return digests
}

// postDelete runs the hooks of a resource that is gone. If one fails, the resource
// stays on record, and they are run again.
func (a *action) postDelete(id manifest.ID) *plan.Problem {
	if err := a.c.options.Hooks.ResourcePostDelete.Run(a.changing(id)); err != nil {
		return plan.HookProblem(err)
	}
	return nil
}

func (a *action) changing(id manifest.ID) *hooks.Changing {
	return &hooks.Changing{Application: a.g.input.Application, ID: id}
}

// finishCompleted deletes an Application whose workload has said that its work is
// done, if that is what it wants, once its status says so, too: there has been an
// event then.
func (c *Controller) finishCompleted(ctx context.Context, key types.NamespacedName) error {
	app, err := c.application(key)
	if app == nil || app.DeletionTimestamp != nil {
		return err
	}
	hook := app.Spec.Hooks
	if hook == nil || hook.Complete == nil || hook.Complete.Action == v1alpha1.CompleteKeep {
		return nil
	}
	_, said := app.Annotations[v1alpha1.AnnotationCompleted]
	if !said || !apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionCompleted) {
		return nil
	}
	return c.client.DeleteApplication(ctx, app)
}
