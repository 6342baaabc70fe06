package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

const (
	goodManifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: good}, data: {key: ours}}`
	service      = `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}`
	entryHead    = `{apiVersion: v1, kind: Service, metadata: {name: web}, `
)

// Invalid input sets a condition with the field path and the remedy. Nothing else changes.
func TestBadInputChangesOnlyConditions(t *testing.T) {
	for _, row := range []struct{ name, manifests, schema, reason, message string }{
		{"no kind", `{apiVersion: v1, metadata: {name: a}}`, "", v1alpha1.ReasonManifestInvalid, "spec.manifest[1].kind: is missing"},
		{"no name", `{apiVersion: v1, kind: ConfigMap}`, "", v1alpha1.ReasonManifestInvalid, "spec.manifest[1].metadata.name: is missing"},
		{"a bad name", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a/b}}`, "", v1alpha1.ReasonManifestInvalid, "spec.manifest[1].metadata.name: may not contain '/'"},
		{
			"generateName", `{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}}`, "", v1alpha1.ReasonManifestInvalid,
			"spec.manifest[1].metadata.generateName: would create another object each time: give the object a metadata.name",
		},
		{
			"a List", `{apiVersion: v1, kind: List, items: []}`, "", v1alpha1.ReasonManifestInvalid,
			"spec.manifest[1]: is a list of objects: put its items into spec.manifest",
		},
		{
			"a duplicate", `{apiVersion: v1, kind: ConfigMap, metadata: {name: good}, data: {other: x}}`, "", v1alpha1.ReasonManifestInvalid,
			"spec.manifest[1] (ConfigMap default/good): is the same object as spec.manifest[0]",
		},
		{
			"one object through two versions",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}, {apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: a}}`, "",
			v1alpha1.ReasonManifestInvalid, "spec.manifest[2] (Deployment.apps default/a): is the same object as spec.manifest[1]",
		},
		{
			"the Application itself", `{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: shop}}`, "", v1alpha1.ReasonManifestInvalid,
			"spec.manifest[1] (Application.holdfast.dev default/shop): is the Application itself: an Application cannot hold itself",
		},
		{
			"its own namespace", `{apiVersion: v1, kind: Namespace, metadata: {name: default}}`, "", v1alpha1.ReasonManifestInvalid,
			"spec.manifest[1] (Namespace default): is the namespace of the Application, and would be deleted with it: create the namespace first, outside the Application",
		},
		{
			"a definition of Holdfast", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: applications.holdfast.dev}}`, "",
			v1alpha1.ReasonManifestInvalid, "spec.manifest[1] (CustomResourceDefinition.apiextensions.k8s.io applications.holdfast.dev): defines a kind of Holdfast, and every object of that kind would be deleted with the Application: install it with Holdfast",
		},
		{
			"a value in a schema", service, entryHead + `spec: {type: ClusterIP}}`, v1alpha1.ReasonObserverSchemaInvalid,
			`observerSchema[0] (Service web): spec.type: must be "observed", not the string "ClusterIP": a schema contains fields, but no values`,
		},
		{
			"a list without control dictionary", service, entryHead + `spec: {ports: [{port: observed}]}}`, v1alpha1.ReasonObserverSchemaInvalid,
			"observerSchema[0] (Service web): spec.ports: has no control dictionary: add one after its last element, such as {observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}; 0 means no upper limit",
		},
		{
			"an empty list", service, entryHead + `spec: {ports: []}}`, v1alpha1.ReasonObserverSchemaInvalid,
			"observerSchema[0] (Service web): spec.ports: is an empty list: its last element must be a control dictionary, such as {observer_schema_list_min_length: 0, observer_schema_list_max_length: 0}",
		},
		{
			"an entry that matches nothing", service, `{apiVersion: v1, kind: Service, metadata: {name: other}}`, v1alpha1.ReasonObserverSchemaInvalid,
			"observerSchema[0] (Service other): matches no resource of the Application by group, kind and name",
		},
		{
			"a shape that contradicts", service, entryHead + `spec: {ports: {port: observed}}}`, v1alpha1.ReasonObserverSchemaInvalid,
			"observerSchema[0] (Service web): spec.ports: is a map in the schema, but a list in the manifest",
		},
		{
			"a field of the API server's", service, `{apiVersion: v1, kind: Service, metadata: {name: web, uid: observed}}`, v1alpha1.ReasonObserverSchemaInvalid,
			"observerSchema[0] (Service web): metadata.uid: belongs to the API server and cannot be observed",
		},
		{
			"keys with slash, tilde, dot and unicode", service, entryHead + `metadata2: {"a/b~c.d": 1, "ключ": 1}}`, v1alpha1.ReasonObserverSchemaInvalid,
			`observerSchema[0] (Service web): metadata2['a/b~c.d']: must be "observed", not the number 1: a schema contains fields, but no values`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, "manifest: ["+goodManifest+", "+row.manifests+"]\nobserverSchema: ["+row.schema+"]")
			refusedWith(t, w, row.reason, row.message)
		})
	}
}

func TestHostileInputChangesOnlyConditions(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 9000) + "null" + strings.Repeat("}", 9000)
	for _, row := range []struct{ name, manifest, entry, reason, message string }{
		{
			name: "a manifest that is nested 9,000 levels deep", reason: v1alpha1.ReasonTooLarge,
			manifest: `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":` + deep + `}`,
			message:  "more than the limit of 1000 nested levels",
		},
		{
			name: "a schema that is nested 9,000 levels deep", reason: v1alpha1.ReasonTooLarge,
			manifest: `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"}}`,
			entry:    `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":` + deep + `}`,
			message:  "more than the limit of 1000 nested levels",
		},
		{
			name: "a schema with a key of 64 KiB", reason: v1alpha1.ReasonObserverSchemaInvalid,
			manifest: `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"}}`,
			entry:    `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"` + strings.Repeat("k", 64<<10) + `":1}`,
			message:  ", not the number 1",
		},
		{
			name: "a manifest that is no object", reason: v1alpha1.ReasonManifestInvalid,
			manifest: `[1]`, message: "manifest[0]",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, "manifest: []")
			w.app.Spec.Manifest = []runtime.RawExtension{{Raw: []byte(row.manifest)}}
			if row.entry != "" {
				w.app.Spec.ObserverSchema = []runtime.RawExtension{{Raw: []byte(row.entry)}}
			}
			refusedWith(t, w, row.reason, row.message)
		})
	}
}

// refusedWith decides once, after a round with valid input. It expects the given reason and message,
// and no other change.
func refusedWith(t *testing.T, w *world, reason, message string) {
	t.Helper()
	bad := w.app.Spec
	w.edit("manifest: [" + strings.Replace(goodManifest, "good", "before", 1) + "]")
	w.round()
	require.Len(t, w.live, 1)
	kept := w.app.Status.DeepCopy()

	w.app.Spec = bad
	w.app.Generation++
	p, result := w.round()

	assert.Empty(t, p.Changes)
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionRendered, v1alpha1.ConditionStalled} {
		_, gotReason, gotMessage := w.condition(kind)
		assert.Equal(t, reason, gotReason, kind)
		assert.Contains(t, gotMessage, message, kind)
		assert.Less(t, len(gotMessage), 5000, kind)
	}
	require.NotNil(t, result.Event)
	assert.True(t, result.Event.Warning)
	assert.Equal(t, reason, result.Event.Reason)
	assert.Contains(t, result.Event.Note, message)
	assert.Equal(t, w.app.Generation, w.app.Status.ObservedGeneration)
	assert.Equal(t, kept.Resources, w.app.Status.Resources, "the inventory is kept")
	assert.Equal(t, kept.LastAppliedManifest, w.app.Status.LastAppliedManifest)
	assert.Len(t, w.live, 1)

	// After invalid input, valid input has the same result as on its own.
	w.edit("manifest: [" + goodManifest + "]")
	w.round()
	require.Len(t, w.live, 1)
	assert.Equal(t, "good", get(w.only(), "metadata", "name"))
}
