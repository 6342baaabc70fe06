package turn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	kubernetes "holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/turn"
)

// One resource with a bug in it must not stop the others, nor tell what the bug was about.
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

// An API server quotes what it refuses.
func TestErrorsAboutSecretsAreNotRepeated(t *testing.T) {
	err := apierrors.NewBadRequest(`the value "canary" is not valid`)
	said := func(kind string) string {
		return turn.ProblemOf(err, kubernetes.Location{ID: manifest.ID{Kind: kind, Name: "keys"}}, "patch", "user").Error()
	}
	assert.Contains(t, said("ConfigMap"), "canary")
	assert.NotContains(t, said("Secret"), "canary")
}

// What a shared object is refused is no reason to delete it.
func TestASharedObjectIsNotToBeDeleted(t *testing.T) {
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "web", nil)
	at := kubernetes.Location{ID: manifest.ID{Kind: "Service", Namespace: "shop", Name: "web"}}
	assert.Contains(t, turn.ProblemOf(err, at, "patch", "user").Remedy.Command, "delete")
	at.Shared = true
	assert.Empty(t, turn.ProblemOf(err, at, "patch", "user").Remedy.Command)
}
