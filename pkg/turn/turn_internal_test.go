package turn

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// What a panic is called with may be a value of a Secret.
func TestAPanicIsToldWithoutItsValue(t *testing.T) {
	recovered := func(f func()) (log string, err error) {
		var text bytes.Buffer
		ctx := klog.NewContext(context.Background(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&text))))
		defer func() {
			err = Panicked(ctx, recover())
			log = text.String()
		}()
		f()
		return "", nil
	}
	log, err := recovered(func() { panic("canary") })
	assert.ErrorIs(t, err, ErrPanic)
	assert.NotContains(t, err.Error()+log, "canary")
	assert.Contains(t, log, "turn_internal_test.go", "the stack")

	log, err = recovered(func() {
		one := []string{log}
		_ = one[len(log)+1]
	})
	assert.ErrorContains(t, err, "index out of range")
	assert.Contains(t, log, "turn_internal_test.go")
}

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
