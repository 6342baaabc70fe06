package turn_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"

	"pgregory.net/rapid"

	_ "holdfast.dev/holdfast/internal/repeatable"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/slice"
	"holdfast.dev/holdfast/pkg/turn"
)

// arrive has the Application come with what is otherwise written before the first create:
// with what is right, with that of a spec that has changed since, or with what another
// client has made up.
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
			v1alpha1.AnnotationCreating: packed(`{"objects": [1, "Secret", "/Secret/default/none"], "states": [null, 3, {"kind": "Thing"}, {"metadata": []}]}`),
		}
	case "hostile":
		c.app.Annotations = map[string]string{v1alpha1.AnnotationKinds: "Thing.v1.example.com,Secret.v1.", v1alpha1.AnnotationCreating: packed(jsonOf(c.madeUp()))}
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

// ahead is what the command line sends.
func (c *cluster) ahead() map[string]string {
	whole, err := slice.Join(c.app, func(name string) ([]byte, error) { return c.data[name], nil })
	if err != nil {
		c.fail("%v", err)
	}
	return turn.Ahead(plan.Decide(plan.Input{Application: whole, Kinds: c.kinds, Now: c.now}), whole)
}

// madeUp says of all objects that they were about to be created, of some in states that
// nobody has ever wanted. Whoever may write that may write such manifests.
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

// packed is an announcement as it is stored.
func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a buffer takes everything
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
