package plan_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// inSlices returns an Application whose status is stored in slices.
func inSlices(one *v1alpha1.Application) *v1alpha1.Application {
	one.Status.Resources, one.Status.LastAppliedManifest, one.Status.MangledObserverSchema = nil, nil, nil
	one.Status.RecordSlices = []string{"slice"}
	return one
}

// Another client changes the holders annotation of an object of which the older Application holds data.a. The
// younger one waits until the status of the older one does not hold the field any more.
func TestAStatusDecidesAboutTheAnnotation(t *testing.T) {
	const forged = `{"default/one":{"uid":"uid-one","leaves":[]},"default/two":{"uid":"uid-two","leaves":["data.a"]}}`
	const object = "ownership: Share\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: default}, data: {a: %s}}]"
	for name, test := range map[string]struct {
		annotation string
		status     func(one *v1alpha1.Application) *v1alpha1.Application
		first      bool // the holder is the first to evaluate the object
		isNamed    bool // the annotation names the holder of the field
		takes      bool
		unread     bool
	}{
		"the annotation is removed":     {},
		"it names only the other one":   {annotation: forged},
		"the holder corrects it":        {annotation: forged, first: true},
		"it names an older Application": {annotation: `{"default/none":{"uid":"x","leaves":["data.a"]},` + forged[1:]},
		"the holder cannot be read":     {unread: true},
		"the holder does not exist":     {takes: true, status: func(*v1alpha1.Application) *v1alpha1.Application { return nil }},
		"the holder is another one":     {takes: true, status: func(one *v1alpha1.Application) *v1alpha1.Application { one.UID = "new"; return one }},
		"its status is in slices":       {status: inSlices},
		"its claim is not read":         {annotation: `{"default/one":{"uid":"uid-one","leaves":["data.a"]},"default/two":{"uid":"uid-two","leaves":[]}}`, isNamed: true, status: inSlices},
		"its status does not list it":   {takes: true, status: func(one *v1alpha1.Application) *v1alpha1.Application { one.Status.Resources = nil; return one }},
		"its status waits for the field": {takes: true, status: func(one *v1alpha1.Application) *v1alpha1.Application {
			one.Status.Resources[0].Waits = []string{"data.a"}
			return one
		}},
		"its status is of another object": {takes: true, status: func(one *v1alpha1.Application) *v1alpha1.Application { one.Status.Resources[0].UID = "u-0"; return one }},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClaimants(t, "one", "two")
			one, two := c.worlds[0], c.worlds[1]
			one.edit(fmt.Sprintf(object, "one"))
			two.edit(fmt.Sprintf(object, "two"))
			c.reconcile(one)
			two.holders = map[string]*v1alpha1.Application{"default/one": one.app, "default/none": nil}
			c.reconcile(two)
			row := two.app.Status.Resources[0]
			require.Equal(t, []string{"data.a"}, row.Waits)
			require.Equal(t, []v1alpha1.HolderReference{{Application: "default/one", UID: "uid-one"}}, row.WaitsFor)

			if set(c.live, test.annotation, "metadata", "annotations", v1alpha1.AnnotationHolders); test.annotation == "" {
				set(c.live, nil, "metadata", "annotations", v1alpha1.AnnotationHolders)
			}
			if test.unread {
				delete(two.holders, "default/one")
			}
			if test.status != nil {
				two.holders["default/one"] = test.status(one.app.DeepCopy())
			}
			one.holders = map[string]*v1alpha1.Application{"default/two": two.app, "default/none": nil}
			if test.first {
				set(c.live, "drifted", "data", "a")
				c.reconcile(one)
				assert.Equal(t, "one", get(c.live, "data", "a"))
				return
			}
			p, result := c.reconcile(two)
			if test.takes {
				assert.Equal(t, "two", get(c.live, "data", "a"))
				return
			}
			assert.Equal(t, "one", get(c.live, "data", "a"))
			assert.Equal(t, v1alpha1.ReasonFieldClaimed, p.Changes[0].Problem.Reason)
			assert.Equal(t, !test.isNamed, result.RetryAfter > 0, "no event tells when a status changes")

			set(c.live, "drifted", "data", "a")
			c.reconcile(one)
			assert.Equal(t, "one", get(c.live, "data", "a"))
			assert.NotContains(t, get(c.live, "metadata", "annotations", v1alpha1.AnnotationHolders), "default/none")

			one.edit("ownership: Share\nmanifest: []")
			c.reconcile(one)
			two.holders["default/one"] = one.app
			assert.Equal(t, "one", get(c.live, "data", "a"), "the other Application has copied the original value")
			c.reconcile(two)
			assert.Equal(t, "two", get(c.live, "data", "a"))
			two.edit("ownership: Share\nmanifest: []")
			c.reconcile(two)
			assert.Equal(t, "theirs", get(c.live, "data", "a"))
		})
	}
}
