package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// scaledDeployment returns a Deployment with a rule for its replicas.
func scaledDeployment(replicas int, rule string) string {
	return fmt.Sprintf(`
manifest:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    replicas: %d
    selector: {matchLabels: {app: web}}
    template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}
observerSchema:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    template: {spec: {containers: [{name: observed, image: observed}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}]}}
fields:
- resource: {kind: Deployment, name: web}
  hold:
  - {path: spec.replicas, %s}
`, replicas, rule)
}

const fromOneToFive = "minimum: 1, maximum: 5"

// scaleTo sets the replicas in the way of an autoscaler.
func (f *fixture) scaleTo(n int64) {
	f.t.Helper()
	f.Patch("autoscaler", deployments, "web", fmt.Sprintf("{spec: {replicas: %d}}", n))
}

func TestAScalerIsLeftAloneBetweenTheBounds(t *testing.T) {
	t.Parallel()
	bySchema := scaledDeployment(2, fromOneToFive)
	manifest, _, _ := strings.Cut(bySchema, "observerSchema:")
	byField := manifest + `
fields:
- resource: {kind: Deployment, name: web}
  hold: ["*", {path: spec.replicas, minimum: 1, maximum: 5}]
`
	for name, spec := range map[string]string{"over a schema": bySchema, "in fields": byField} {
		t.Run(name, func(t *testing.T) { leavesAScalerAlone(t, spec) })
	}
}

// leavesAScalerAlone changes replicas between 1 and 5 ten times a second, and then beyond that range.
func leavesAScalerAlone(t *testing.T, spec string) {
	t.Helper()
	ofObjects := func(r testcluster.Request) bool { return r.Resource == deployments.Resource }
	f := given(t)
	f.Submit("app", spec)
	f.AwaitHeld("app")
	f.Quiet(time.Second)
	f.Mark()
	beat := time.NewTicker(100 * time.Millisecond)
	defer beat.Stop()
	for i := range int64(samples.Of(3*time.Second, time.Minute) / (100 * time.Millisecond)) {
		<-beat.C
		f.scaleTo([]int64{1, 3, 5, 4, 2}[i%5])
	}
	f.Quiet(time.Second)
	assert.Empty(t, f.Requests().Writes().Where(ofObjects), "nothing is written")
	for _, row := range []struct{ outside, bound int64 }{{0, 1}, {6, 5}} {
		f.Mark()
		f.scaleTo(row.outside)
		f.AwaitValue(deployments, "web", row.bound, "spec", "replicas")
		f.AssertAsked(map[string]int{"patch deployments": 1}, ofObjects)
	}
}

func TestAPushGoesThroughOnce(t *testing.T) {
	const push = "mode: push"
	f := given(t)
	f.Submit("app", scaledDeployment(2, push))
	f.AwaitHeld("app")
	f.scaleTo(7)
	f.Patch("rival", deployments, "web", `{spec: {template: {spec: {containers: [{name: web, image: "web:2"}]}}}}`)
	f.Await(deployments, "web", "the image corrected", func(object map[string]any) bool {
		return value(object, "spec", "template", "spec", "containers", "0", "image") == "web:1"
	})
	assert.Equal(t, int64(7), value(f.Get(deployments, "web"), "spec", "replicas"), "another correction does not push the field")

	f.Patch("user", applications, "app", "spec:"+strings.ReplaceAll(scaledDeployment(3, push), "\n", "\n  "))
	f.AwaitValue(deployments, "web", int64(3), "spec", "replicas")
	f.AwaitApplication("app", "pushed, and on record", func(app *v1alpha1.Application) bool {
		return app.Status.ObservedGeneration == app.Generation
	})
	f.Quiet(time.Second)
	f.Mark()
	f.scaleTo(9)
	f.Quiet(time.Second)
	assert.Equal(t, int64(9), value(f.Get(deployments, "web"), "spec", "replicas"))
	assert.Empty(t, f.Requests().Writes().Where(func(r testcluster.Request) bool { return r.Resource == deployments.Resource }))
}

func TestServerDefaultsAreNotAbsent(t *testing.T) {
	f := given(t)
	f.Submit("app", scaledDeployment(2, "mode: report")+"  - {path: spec.progressDeadlineSeconds, mode: absent}\n  - {path: spec.paused, mode: absent}\n")
	_, message := f.AwaitReason("app", v1alpha1.ReasonRejected)
	assert.Contains(t, message, "spec.progressDeadlineSeconds cannot be absent, because the API server sets it again")
	f.Patch("rival", deployments, "web", "{spec: {paused: true}}")
	f.Await(deployments, "web", "not paused", func(object map[string]any) bool { return value(object, "spec", "paused") == nil })
	f.Quiet(time.Second)
}
