package intent_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
)

func TestFaultsAreSeparate(t *testing.T) {
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	for _, kind := range []string{"", "-"} {
		app.Spec.Manifest = append(app.Spec.Manifest, runtime.RawExtension{
			Raw: []byte(`{"apiVersion": "v1", "kind": "` + kind + `", "metadata": {"name": "a"}}`),
		})
	}
	app.Spec.Select = []v1alpha1.ObjectSelection{{APIVersion: "v1", Kind: "Service"}}
	var texts []string
	for _, fault := range intent.Faults(intent.Input{Application: app, Kinds: intent.Offline()}) {
		texts = append(texts, fault.Error())
	}
	assert.Equal(t, []string{
		"spec.manifest[0].kind: is empty",
		"spec.manifest[1].kind: must be letters and digits, like Deployment",
		"spec.select[0].hold: must be a part of an object: a map of fields",
	}, texts)
}
