package controller

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
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
		m.Warnings = append(m.Warnings, "spec.hooks: the callback server is off (--callback-bind-address) or has no certificate yet: workloads keep the address they have, and get no answer")
	}
	return nil
}
