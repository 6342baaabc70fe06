package controller

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
)

// standardHooks returns the controller's own listeners, followed by those of its options.
func (c *Controller) standardHooks(more *hooks.Hooks) *hooks.Hooks {
	own := hooks.New()
	own.ApplicationMangling.Listen("callback", c.needCallback)
	own.ResourcePreCreate.Listen("generate", hooks.Generate)
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

// callback returns how workloads reach this controller. It is empty if they cannot.
func (c *Controller) callback() hooks.Callback {
	if c.options.Callback == nil {
		return hooks.Callback{}
	}
	return c.options.Callback()
}

// Application returns an Application from the store for a callback, with only its metadata and hooks. It
// returns nil if there is none.
func (c *Controller) Application(namespace, name string) *v1alpha1.Application {
	object := c.applications.Get(types.NamespacedName{Namespace: namespace, Name: name})
	if object == nil {
		return nil
	}
	return c.called.applicationOf(object)
}

// CallbackChanged queues the Applications with hooks after the address of the callback server, or its
// certificate, has changed.
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

// needCallback listens to ApplicationMangling. It rejects hooks for which no address of a callback server
// is known. If the workloads have an earlier address, they keep it, and needCallback adds a warning.
func (c *Controller) needCallback(m *hooks.Mangling) error {
	if err := hooks.NeedAddresses(m); err != nil {
		return err
	}
	if len(hooks.Purposes(m.Application)) > 0 && c.callback().URL == "" {
		m.Warnings = append(m.Warnings, "spec.hooks: the callback server is off (--callback-bind-address) or has no certificate yet: workloads keep their address, but get no response")
	}
	return nil
}
