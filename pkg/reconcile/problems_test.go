package reconcile_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	kubernetes "holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// A bug in the processing of one resource must not affect the others, and the error must not reveal values.
func TestAPanicIsTheFailureOfOneResource(t *testing.T) {
	d := newDesk(t, `{manifest: [
  {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: a}},
  {apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {key: a}}]}`)
	d.fails["create config"] = errPanics
	assert.ElementsMatch(t, []string{"create config", "create other"}, d.take(t))
	reasons := map[string]string{}
	for _, r := range d.app.Status.Resources {
		reasons[r.Name] = r.Reason
	}
	assert.Equal(t, map[string]string{"config": v1alpha1.ReasonRetrying, "other": ""}, reasons)
	assert.NotContains(t, observertest.JSON(d.app.Status)+d.log.String(), "canary")
}

// An API server quotes the values that it rejects.
func TestErrorsAboutSecretsAreNotRepeated(t *testing.T) {
	err := apierrors.NewBadRequest(`the value "canary" is not valid`)
	said := func(kind string) string {
		return reconcile.ProblemOf(err, kubernetes.Location{ID: manifest.ID{Kind: kind, Name: "keys"}}, "patch", "user").Error()
	}
	assert.Contains(t, said("ConfigMap"), "canary")
	assert.NotContains(t, said("Secret"), "canary")
}

// No grant allows this create, but the deletion of the definition ends.
func TestATerminatingDefinitionIsWaitedFor(t *testing.T) {
	song := kubernetes.Location{ID: manifest.ID{Group: "example.com", Kind: "Song", Namespace: "shop", Name: "top50"}}
	err := apierrors.NewForbidden(schema.GroupResource{Group: "example.com", Resource: "songs"}, "top50",
		errors.New("create not allowed while custom resource definition is terminating"))
	problem := reconcile.ProblemOf(err, song, "create", "user")
	assert.Equal(t, v1alpha1.ReasonWaiting, problem.Reason)
	assert.Equal(t, "Song.example.com shop/top50: its CustomResourceDefinition is being deleted", problem.Message)
	assert.Empty(t, problem.Remedy)
}

// A grant helps only if the right is missing.
func TestAdmissionDenialsNeedNoGrant(t *testing.T) {
	at := kubernetes.Location{ID: manifest.ID{Kind: "ConfigMap", Namespace: "shop", Name: "config"}, Mapping: kubernetes.Mapping{
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespaced: true,
	}}
	for message, command := range map[string]string{
		`User "system:serviceaccount:shop:applier" cannot create resource "configmaps" in API group "" in the namespace "shop"`: "kubectl create rolebinding",
		"exceeded quota: small, requested: configmaps=1, used: configmaps=3, limited: configmaps=3":                             "",
	} {
		err := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "config", errors.New(message))
		problem := reconcile.ProblemOf(err, at, "create", "system:serviceaccount:shop:applier")
		assert.Equal(t, v1alpha1.ReasonForbidden, problem.Reason)
		assert.Contains(t, problem.Message, message)
		assert.NotEmpty(t, problem.Remedy.Text)
		assert.Equal(t, command != "", problem.Remedy.Command != "", problem.Remedy.Command)
		assert.Contains(t, problem.Remedy.Command, command)
	}
}

// A remedy deletes only objects that the controller can recreate without data loss.
func TestRemediesKeepWhatHoldsData(t *testing.T) {
	const newName, oldValue, recreate, orphan = "a new name", "set its old value", "kubectl delete", "--cascade=orphan"
	for kind, want := range map[string]string{
		"PersistentVolumeClaim": oldValue, "PersistentVolume": oldValue, "Namespace": oldValue, "ServiceAccount": oldValue,
		"CustomResourceDefinition.apiextensions.k8s.io": oldValue, "VolumeSnapshot.snapshot.storage.k8s.io": oldValue,
		"Mysql.databases.holdfast.dev": oldValue, "Deployment.example.com": oldValue, "Service.serving.knative.dev": oldValue,
		"ControllerRevision.apps": oldValue, "VolumeAttachment.storage.k8s.io": oldValue,
		"Secret": newName, "ConfigMap": newName,
		"StatefulSet.apps": orphan,
		"Service":          recreate, "Pod": recreate, "ReplicationController": recreate,
		"Deployment.apps": recreate, "DaemonSet.apps": recreate, "ReplicaSet.apps": recreate, "Job.batch": recreate,
		"RoleBinding.rbac.authorization.k8s.io": recreate, "ClusterRoleBinding.rbac.authorization.k8s.io": recreate,
		"RuntimeClass.node.k8s.io": recreate, "StorageClass.storage.k8s.io": recreate, "IngressClass.networking.k8s.io": recreate,
		"PriorityClass.scheduling.k8s.io": recreate, "EndpointSlice.discovery.k8s.io": recreate, "PodDisruptionBudget.policy": recreate,
		"CSIDriver.storage.k8s.io": recreate, "VolumeAttributesClass.storage.k8s.io": recreate,
	} {
		t.Run(kind, func(t *testing.T) {
			gk := schema.ParseGroupKind(kind)
			at := kubernetes.Location{
				ID:      manifest.ID{Group: gk.Group, Kind: gk.Kind, Namespace: "shop", Name: "web"},
				Mapping: kubernetes.Mapping{Resource: gk.WithVersion("v1").GroupVersion().WithResource(strings.ToLower(gk.Kind) + "s"), Namespaced: true},
			}
			err := apierrors.NewInvalid(gk, "web", nil)
			remedy := reconcile.ProblemOf(err, at, "patch", "user").Remedy
			assert.Contains(t, remedy.String(), want)
			assert.Equal(t, want == recreate || want == orphan, remedy.Command != "", "a command is copied without reading")
			if remedy.Command == "" {
				assert.NotContains(t, strings.ToLower(remedy.Text), "delete ")
			}
			at.Shared = true
			assert.Empty(t, reconcile.ProblemOf(err, at, "patch", "user").Remedy.Command, "its owner decides whether it may be deleted")
		})
	}
}

// An API server repeats an object that it cannot decode, and then tells why.
func TestALongErrorKeepsItsReason(t *testing.T) {
	const reason = "json: cannot unmarshal bool into Go struct field Container.image of type string"
	text := reconcile.Trimmed(`"" is invalid: patch: Invalid value: "{` + strings.Repeat("ä", 3000) + `}": ` + reason)
	assert.True(t, strings.HasPrefix(text, `"" is invalid: patch: Invalid value: "{`), text)
	assert.True(t, strings.HasSuffix(text, reason), text)
	assert.LessOrEqual(t, len(text), 1024+len("…"))
	assert.True(t, utf8.ValidString(text))
}
