package controller_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli"
)

// SubmitByCommand runs `holdfast submit` and returns its output.
func (f *fixture) SubmitByCommand(name, spec string, flags ...string) string {
	f.t.Helper()
	app := fmt.Sprintf("apiVersion: holdfast.dev/v1alpha1\nkind: Application\nmetadata: {name: %s}\nspec:\n  %s",
		name, strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  "))
	var out, messages bytes.Buffer
	args := append([]string{"holdfast", "submit", "-f", "-", "-n", f.namespace, "--kubeconfig", f.cluster.Kubeconfig()}, flags...)
	status := cli.Main(f.t.Context(), args, cli.Streams{In: strings.NewReader(app), Out: &out, Err: &messages, Getenv: os.Getenv, Now: time.Now})
	require.Equal(f.t, 0, status, "%s", messages.String())
	return out.String()
}

// The controller adds metadata to an Application. Submitting again keeps that metadata, and removes
// only what is no longer submitted.
func TestSubmissionTakesOverFields(t *testing.T) {
	f := given(t)
	assert.Contains(t, f.SubmitByCommand("app", configs(2)), "app created")
	created := f.Application("app")
	assert.Contains(t, created.Finalizers, v1alpha1.Finalizer)
	assert.Equal(t, "ConfigMap.v1.", created.Annotations[v1alpha1.AnnotationKinds])
	f.AwaitReady("app")

	f.Patch("user", applications, "app", `{spec: {suspend: true}}`)
	dry := f.SubmitByCommand("app", configs(2), "--dry-run=server")
	assert.Contains(t, dry, "app unchanged", "nothing is in conflict with what this user has created")
	assert.Contains(t, f.SubmitByCommand("app", configs(2)), "app unchanged")
	assert.Contains(t, f.SubmitByCommand("app", configs(2), "--deletion-policy=Orphan"), "app configured")
	assert.Contains(t, f.SubmitByCommand("app", configs(1)), "app configured")
	f.Patch("user", applications, "app", `{spec: {suspend: false}}`)
	f.AwaitGone(configMaps, "config-1")

	app := f.Application("app")
	assert.Equal(t, v1alpha1.DeletionDelete, app.Spec.DeletionPolicy, "it is submitted no more")
	assert.Contains(t, app.Finalizers, v1alpha1.Finalizer)
	assert.Equal(t, "ConfigMap.v1.", app.Annotations[v1alpha1.AnnotationKinds])
	assert.NotEmpty(t, app.Annotations[v1alpha1.AnnotationCreating])
}

func TestOutputForGitHasNoOwnMetadata(t *testing.T) {
	f := given(t)
	printed := f.SubmitByCommand("app", configs(1), "--dry-run=client", "-o", "yaml")
	assert.NotContains(t, printed, "finalizers")
	assert.NotContains(t, printed, v1alpha1.AnnotationKinds)
}

// An Application that created nothing can always be deleted, also if its spec was rejected.
func TestRejectedApplicationIsDeleted(t *testing.T) {
	t.Parallel()
	const config = `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: held}}]`
	for name, row := range map[string]struct{ spec, account, reason string }{
		"a manifest without a name":           {spec: `manifest: [{apiVersion: v1, kind: ConfigMap}]`, reason: v1alpha1.ReasonManifestInvalid},
		"a kind that is not served":           {spec: `manifest: [{apiVersion: nobody.example.com/v1, kind: Nothing, metadata: {name: a}}]`, reason: v1alpha1.ReasonKindUnknown},
		"a kind that cannot be watched":       {spec: `manifest: [{apiVersion: authentication.k8s.io/v1, kind: TokenReview, metadata: {name: a}}]`, reason: v1alpha1.ReasonKindUnsupported},
		"a ServiceAccount that may not write": {spec: config + "\nserviceAccountName: nobody", reason: v1alpha1.ReasonForbidden},
		"an archive that does not exist":      {spec: `csar: {configMapRef: {name: nowhere, key: archive}}`},
		"slices that are not there":           {spec: `manifest: [{slices: [nowhere]}]`},
		"a namespace that is not there":       {spec: `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: nowhere-at-all}}]`},
	} {
		t.Run(name, func(t *testing.T) {
			f := given(t)
			u := f.arrives("app", row.spec, map[string]string{v1alpha1.AnnotationKinds: "ConfigMap.v1.,Nothing.v1.nobody.example.com"})
			f.createObject("user", u)
			f.eventually("a status", func() bool { return len(f.Application("app").Status.Conditions) > 0 })
			if row.reason != "" {
				assert.Contains(t, fmt.Sprint(f.Application("app").Status), row.reason)
			}
			f.Delete(applications, "app")
			f.AwaitGone(applications, "app")
		})
	}
}

// arrives returns an Application that already contains the finalizer and annotations when it is created.
func (f *fixture) arrives(name, spec string, annotations map[string]string) map[string]any {
	f.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Application", "spec": f.object(spec).Object,
	}}
	u.SetName(name)
	u.SetAnnotations(annotations)
	u.SetFinalizers([]string{v1alpha1.Finalizer})
	return u.Object
}
