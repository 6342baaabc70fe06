package reconcile_test

import (
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/internal/repeatable"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/slice"
)

func init() { repeatable.Fewer(50) }

// arrive creates the Application with the annotations that are otherwise written before the first create.
// They are correct, or belong to an older spec, or another client has forged them.
func (c *cluster) arrive() {
	how := rapid.SampledFrom([]string{"bare", "bare", "right", "stale", "wrong", "hostile"}).Draw(c.r, "arrives")
	if how == "bare" {
		return
	}
	c.edit()
	switch how {
	case "right", "stale":
		c.app.Annotations = c.ahead()
	case "wrong":
		c.app.Annotations = map[string]string{
			v1alpha1.AnnotationKinds: ",Thing,.v1.,Secret.v1.", v1alpha1.AnnotationNamespaces: ",,",
			v1alpha1.AnnotationCreating: observertest.Packed(`{"objects": [1, "Secret", "/Secret/default/none"], "states": [null, 3, {"kind": "Thing"}, {"metadata": []}]}`),
		}
	case "hostile":
		c.app.Annotations = map[string]string{v1alpha1.AnnotationKinds: "Thing.v1.example.com,Secret.v1.", v1alpha1.AnnotationCreating: observertest.Packed(jsonOf(c.madeUp()))}
	}
	if c.app.Annotations != nil {
		c.app.Finalizers = []string{v1alpha1.Finalizer}
	}
	c.note("the Application arrives with annotations: %s", how)
	if how == "stale" {
		c.edit()
	}
	c.newVersion()
}

// ahead returns the annotations that the command line writes.
func (c *cluster) ahead() map[string]string {
	whole, err := slice.Join(c.app, func(name string) ([]byte, error) { return c.data[name], nil })
	if err != nil {
		c.fail("%v", err)
	}
	return reconcile.Ahead(plan.Decide(plan.Input{Application: whole, Kinds: c.kinds, Now: c.now}), whole)
}

// madeUp forges a record that all objects are about to be created, some in states that were never desired.
// A client that can forge this can also write such manifests.
func (c *cluster) madeUp() map[string]any {
	var objects, states []any
	for _, id := range c.names {
		objects = append(objects, id.Group+"/"+id.Kind+"/"+id.Namespace+"/"+id.Name)
		if d := c.desire(id, nil); id.Kind == "Thing" && rapid.Bool().Draw(c.r, "state") {
			states = append(states, d.manifest)
			c.ever[id] = append(c.ever[id], d.manifest)
		}
	}
	return map[string]any{"objects": objects, "states": states}
}
