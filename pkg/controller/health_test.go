package controller_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

// TestNextStageWaitsForExpressions checks that the controller creates an object when an expression finds the object
// of an earlier stage current, that a built-in expression decides whether the Application is ready, and that the
// controller sends no request while it waits.
func TestNextStageWaitsForExpressions(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	certificates := schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}
	f.Create("user", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: certificates.cert-manager.io},
	  spec: {group: cert-manager.io, scope: Namespaced, names: {kind: Certificate, plural: certificates}, versions: [{name: v1, served: true, storage: true,
	  subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)
	f.eventually("the API server to serve certificates", func() bool {
		_, err := f.in("user", certificates).List(f.t.Context(), metav1.ListOptions{})
		return err == nil
	})
	report := func(ready, reason string) {
		u := &unstructured.Unstructured{Object: f.Get(certificates, "web")}
		u.Object["status"] = map[string]any{"conditions": []any{map[string]any{
			"type": "Ready", "status": ready, "reason": reason, "observedGeneration": u.GetGeneration(), "message": "it is " + reason,
		}}}
		_, err := f.in("cert-manager", certificates).UpdateStatus(f.t.Context(), u, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	f.Run(controller.Options{})
	f.Submit("app", `
healthCheckExprs:
- {apiVersion: apps/v1, kind: Deployment, current: status.readyReplicas == spec.replicas}
manifest:
- {apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: web}, spec: {secretName: web}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, selector: {matchLabels: {app: web}},
   template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web:1}]}}}}`)
	_, message := f.AwaitReason("app", v1alpha1.ReasonWaiting)
	assert.Contains(t, message, "Certificate.cert-manager.io "+f.namespace+"/web is created when Deployment.apps "+f.namespace+"/web is current")
	app := f.AwaitApplication("app", "waiting for an expression", func(app *v1alpha1.Application) bool { return len(app.Status.Resources) == 2 })
	assert.Equal(t, "InProgress", app.Status.Resources[1].Health)
	assert.Equal(t, "spec.healthCheckExprs[0].current has no result: no such key: readyReplicas: status.readyReplicas == spec.replicas", app.Status.Resources[1].Message)
	f.Quiet(quiet)
	assert.Nil(t, f.Get(certificates, "web"))
	f.Mark()
	f.Quiet(quiet)
	assert.Empty(t, f.Requests(), "at rest, while an object waits")

	f.becomesHealthy("web")
	_, message = f.AwaitReason("app", v1alpha1.ReasonProgressing)
	assert.Contains(t, message, "current has no result: no such attribute(s): status")
	assert.NotNil(t, f.Get(certificates, "web"))
	assert.Equal(t, 1, counts(f.Requests())["create certificates"])

	report("False", "Issuing")
	f.AwaitApplication("app", "not ready for the certificate's reason", func(app *v1alpha1.Application) bool {
		return len(app.Status.Resources) == 2 && app.Status.Resources[0].Health == "InProgress" && condition(app, v1alpha1.ConditionReady).Status == metav1.ConditionFalse &&
			strings.HasPrefix(app.Status.Resources[0].Message, "Issuing: it is Issuing (current is false: ")
	})
	report("True", "Ready")
	f.AwaitReady("app")
	f.Quiet(quiet)
	f.Mark()
	f.Quiet(quiet)
	assert.Empty(t, f.Requests(), "at rest")
}
