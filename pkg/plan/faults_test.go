package plan_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// TestFaults checks that Faults returns the invalid fields if Decide finds the spec invalid.
func TestFaults(t *testing.T) {
	const service = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"ports":[]}}`
	for _, row := range []struct {
		name             string
		manifest, schema string
		want             []error
	}{
		{"a valid manifest and schema", service, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"}}`, nil},
		{
			"of the manifest and of the schema, all at once", `{"apiVersion":"v1","metadata":{"name":"web"}}`, `{"apiVersion":"v1","kind":"Service","metadata":{}}`,
			[]error{
				&manifest.ValidationError{Path: manifest.Path{"kind"}},
				&observer.ValidationError{Name: "Service", Path: "metadata.name"},
			},
		},
		{
			"of how they fit together", service, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"ports":{}}}`,
			[]error{&observer.ValidationError{Name: "Service web", Path: "spec.ports"}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			app := &v1alpha1.Application{}
			app.Namespace, app.Name = "default", "shop"
			app.Spec.Manifest = []runtime.RawExtension{{Raw: []byte(row.manifest)}}
			app.Spec.ObserverSchema = []runtime.RawExtension{{Raw: []byte(row.schema)}}
			in := plan.Input{Application: app, Kinds: intent.Offline()}
			faults := intent.Faults(in.Intent())
			assert.Equal(t, plan.Decide(in).Invalid != nil, len(faults) > 0)
			for _, fault := range faults { // the messages are tested in other packages
				var ofManifest *manifest.ValidationError
				var ofSchema *observer.ValidationError
				if errors.As(fault, &ofManifest) {
					ofManifest.Message = ""
				}
				if errors.As(fault, &ofSchema) {
					ofSchema.Message = ""
				}
			}
			assert.Equal(t, row.want, faults)
		})
	}
}
