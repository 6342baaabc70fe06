package controller

import (
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
)

// standardHooks returns the controller's own listeners, followed by those of its options; more can be nil. If the
// options have listeners that change manifests, the status lists their names, so that the command line can warn that
// it lacks them.
func standardHooks(callback func() hooks.Callback, more *hooks.Hooks) *hooks.Hooks {
	own := hooks.New()
	own.ApplicationMangling.Listen("callback", func(m *hooks.Mangling) error { return needCallback(m, callback()) })
	own.ResourcePreCreate.Listen("generate", hooks.Generate)
	// It accepts nil.
	more = hooks.New().And(more)
	if names := more.ApplicationMangling.Names(); len(names) > 0 {
		own.ApplicationPostReconcile.Listen("listeners", func(e *hooks.ReconcileEvent) error {
			if e.Status.Hooks == nil {
				e.Status.Hooks = &v1alpha1.HooksStatus{}
			}
			e.Status.Hooks.Listeners = names
			return nil
		})
	}
	return own.And(more)
}

// Application returns an Application from the store for a callback, with only its metadata and hooks. It returns nil
// if there is none. Any goroutine can call it. The caller must not change the result.
func (c *Controller) Application(namespace, name string) *v1alpha1.Application {
	object := c.applications.store.Get(types.NamespacedName{Namespace: namespace, Name: name})
	if object == nil {
		return nil
	}
	return c.called.applicationOf(object)
}

// CallbackChanged queues the Applications with hooks after the address of the callback server, or its certificate,
// has changed. Their reconciles update the Secrets of the workloads. Before Run, it has no effect.
func (c *Controller) CallbackChanged() {
	for _, key := range c.registry.keys() {
		if app := c.Application(key.Namespace, key.Name); app != nil && len(hooks.Purposes(app)) > 0 {
			c.registry.queue.Add(key)
		}
	}
}

// needCallback listens to ApplicationMangling. It rejects hooks for which no address of a callback server
// is known. If the workloads have an earlier address, they keep it, and needCallback adds a warning.
func needCallback(m *hooks.Mangling, callback hooks.Callback) error {
	if err := hooks.NeedAddresses(m); err != nil {
		return err
	}
	if len(hooks.Purposes(m.Application)) > 0 && callback.URL == "" {
		m.Warnings = append(m.Warnings, "spec.hooks: the callback server is off (--callback-bind-address) or has no certificate yet: workloads keep their address, but get no response")
	}
	return nil
}
