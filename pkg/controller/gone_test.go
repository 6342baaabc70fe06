package controller_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// A Job that is removed after it finished, for example by its TTL, is not created again.
func TestAFinishedJobIsNotRunAgain(t *testing.T) {
	f := given(t)
	const spec = `{manifest: [{apiVersion: batch/v1, kind: Job, metadata: {name: migrate}, spec: {ttlSecondsAfterFinished: 0, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}]}`
	f.Submit("app", spec)
	f.AwaitHeld("app")
	f.finishJob("migrate")
	background := metav1.DeletePropagationBackground
	require.NoError(t, f.in("ttl", jobs).Delete(t.Context(), "migrate", metav1.DeleteOptions{PropagationPolicy: &background}))
	f.AwaitApplication("app", "done", func(app *v1alpha1.Application) bool {
		return len(app.Status.Resources) == 1 && app.Status.Resources[0].Job != nil && app.Status.Resources[0].Job.Finished
	})
	f.Quiet(quiet)
	assert.Nil(t, f.Get(jobs, "migrate"))
	assert.Equal(t, 1, counts(f.Requests())["create jobs"], "%s", f.Requests())

	// A requested reconcile creates it again.
	f.Patch("user", applications, "app", `{metadata: {annotations: {holdfast.dev/reconcile: again}}}`)
	f.Await(jobs, "migrate", "there again", func(object map[string]any) bool { return object != nil })
}

// finishJob reports success in the status of a Job, like the Job controller. No Pod runs.
func (f *fixture) finishJob(name string) {
	f.t.Helper()
	now := metav1.Now().UTC().Format(time.RFC3339)
	patch := `{"status": {"startTime": "` + now + `", "completionTime": "` + now + `", "succeeded": 1, "uncountedTerminatedPods": {}, "conditions": [
		{"type": "SuccessCriteriaMet", "status": "True", "lastTransitionTime": "` + now + `", "lastProbeTime": "` + now + `"},
		{"type": "Complete", "status": "True", "lastTransitionTime": "` + now + `", "lastProbeTime": "` + now + `"}]}}`
	_, err := f.in("job-controller", jobs).Patch(f.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	require.NoError(f.t, err)
}

// kubectl delete --cascade=orphan keeps the objects and removes our tracking metadata.
func TestOrphanedObjectRemains(t *testing.T) {
	f := given(t)
	f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}]}`)
	f.AwaitReady("app")
	orphan := metav1.DeletePropagationOrphan
	require.NoError(t, f.in("user", applications).Delete(t.Context(), "app", metav1.DeleteOptions{PropagationPolicy: &orphan}))
	config := f.Await(configMaps, "config", "let go", func(object map[string]any) bool {
		return object == nil || value(object, "metadata", "labels", v1alpha1.LabelApplicationUID) == nil
	})
	require.NotNil(t, config)
	f.Patch("garbage-collector", applications, "app", `{metadata: {finalizers: null}}`) // none runs here
	f.AwaitGone(applications, "app")
	f.Quiet(time.Second)
	require.NotNil(t, f.Get(configMaps, "config"))
	assert.Equal(t, "ours", value(config, "data", "key"))
	assert.Nil(t, value(config, "metadata", "annotations", v1alpha1.AnnotationTrackingID))
}
