package controller_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// TestEveryChangeNamesItsAuthor checks that the history names the field manager that changed a field.
// It covers Applications that own, share, select or only observe the object. The explain command must
// name the same manager.
func TestEveryChangeNamesItsAuthor(t *testing.T) {
	const held = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [{name: web, image: "web:1"}]}}}}`
	for _, row := range []struct{ name, spec string }{
		{"shared", "ownership: Share\nmanifest: [" + held + "]"},
		{"selected", "select: [{apiVersion: apps/v1, kind: Deployment, names: [web], hold: {spec: {template: {spec: {containers: [{name: web, image: \"web:1\"}]}}}}}]"},
		{"adopted", "adoption: Always\nmanifest: [" + held + "]"},
		{"observed", "mode: Observe\nadoption: IfUnowned\nmanifest: [" + held + "]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := given(t)
			f.mayPatch()
			f.Create("helm", whole)
			f.Submit("app", row.spec)
			f.AwaitApplication("app", "processed", func(app *v1alpha1.Application) bool {
				return app.Status.ObservedGeneration == app.Generation && len(app.Status.Resources) == 1
			})
			for i := range 3 {
				manager, image := fmt.Sprintf("writer-%d", i), fmt.Sprintf(`"web:1%d"`, i)
				f.PatchJSON(manager, deployments, "web", `[{op: replace, path: /spec/template/spec/containers/1/image, value: `+image+`}]`)
				e := f.AwaitHistory("app", image+" in the history", func(e v1alpha1.HistoryEntry) bool {
					return e.To != nil && string(e.To.Raw) == image
				})
				assert.Equal(t, manager, e.Manager)
				assert.Equal(t, "spec.template.spec.containers[name=web].image", e.Path)
				if row.name == "observed" {
					assert.Contains(t, f.holdfast("explain", "app", "deployment/web", e.Path), manager)
				}
			}
			f.Delete(deployments, "web")
			f.AwaitGone(deployments, "web")
		})
	}
}
