package reconcile

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

func TestTheNamespacesOfAnApplication(t *testing.T) {
	app := &v1alpha1.Application{}
	app.Namespace = "own"
	app.Annotations = map[string]string{v1alpha1.AnnotationNamespaces: "written,ahead"}
	app.Status.Resources = []v1alpha1.ResourceStatus{
		{ResourceReference: v1alpha1.ResourceReference{Kind: "ConfigMap", Namespace: "listed"}},
		{ResourceReference: v1alpha1.ResourceReference{Kind: "Namespace"}},
	}
	manifests := []map[string]any{{"metadata": map[string]any{"namespace": "wished"}}, {"metadata": map[string]any{}}, {"metadata": 1}, {}, nil}
	assert.Equal(t, []string{"ahead", "listed", "own", "wished", "written"}, namespacesOf(app, manifests))

	p := &plan.Plan{}
	for _, namespace := range []string{"own", "", "wished"} {
		change := plan.Change{}
		change.ID.Namespace = namespace
		p.Changes = append(p.Changes, change)
	}
	assert.Equal(t, "listed,wished", namespacesAnnotation(app, p, false))
}
