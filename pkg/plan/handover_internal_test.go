package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// What lies in a place that is handed on was not there before, unless another client wrote it.
func TestWhatLiesInAPlaceThatIsHandedOn(t *testing.T) {
	value := &runtime.RawExtension{Raw: []byte(`"it"`)}
	by := v1alpha1.FieldManagerOf("shop", "one")
	place := v1alpha1.BaselineField{Path: "spec.place", From: "spec.place", HandedOnBy: []string{"shop/one"}}
	recorded := []v1alpha1.BaselineField{
		{Path: "spec.place.absent", From: "spec.place.absent"},
		{Path: "spec.place.theirs", Value: value, Manager: "helm"},
		{Path: "spec.place.written", Value: value, Manager: by},
		{Path: "spec.beside", Value: value, Manager: by},
	}
	gone := func(path string) v1alpha1.BaselineField {
		return v1alpha1.BaselineField{Path: path, From: "spec.place", HandedOnBy: place.HandedOnBy}
	}
	assert.Equal(t, []v1alpha1.BaselineField{gone("spec.place.absent"), recorded[1], gone("spec.place.written"), recorded[3]},
		withHanded(recorded, []v1alpha1.BaselineField{place}))
}
