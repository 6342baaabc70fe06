package crd_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/deploy/crd"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

func TestMain(m *testing.M) { testcluster.Main(m, testcluster.Options{}) }

// applications installs the definition and returns a client for a new namespace.
func applications(t *testing.T) (dynamic.ResourceInterface, string) {
	t.Helper()
	cluster := testcluster.Shared()
	require.NoError(t, cluster.Define(t.Context(), string(crd.Applications), v1alpha1.GroupVersionResource.GroupResource().String()))
	client, err := dynamic.NewForConfig(cluster.Config())
	require.NoError(t, err)
	namespace := cluster.Namespace(t)
	return client.Resource(v1alpha1.GroupVersionResource).Namespace(namespace), namespace
}

func create(ctx context.Context, t *testing.T, client dynamic.ResourceInterface, spec string) (*unstructured.Unstructured, error) {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(`
apiVersion: holdfast.dev/v1alpha1
kind: Application
metadata: {generateName: test-}
spec: `+spec), &object.Object))
	return client.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
}

// The API server rejects a definition that is not structural, or whose rules are too expensive. Other
// problems appear in the conditions.
func TestDefinitionsAreAccepted(t *testing.T) {
	applications(t)
	output, err := testcluster.Shared().Kubectl(t.Context(), "", "get", "crd/applications.holdfast.dev", "-o",
		`jsonpath={range .status.conditions[*]}{.type}={.status} {end}`)
	require.NoError(t, err)
	assert.Contains(t, output, "NamesAccepted=True")
	assert.Contains(t, output, "Established=True")
	assert.NotContains(t, output, "NonStructuralSchema=True")
}

func TestDefaults(t *testing.T) {
	client, _ := applications(t)
	created, err := create(t.Context(), t, client, `{manifest: []}`)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"observedGeneration": int64(-1)}, created.Object["status"])
	assert.Equal(t, map[string]any{
		"manifest":              []any{}, // must be kept as an empty list
		"adoption":              "Never",
		"adoptedDeletionPolicy": "Orphan",
		"deletionPolicy":        "Delete",
	}, created.Object["spec"])

	var typed v1alpha1.Application
	content, err := created.MarshalJSON()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &typed))
	assert.NotNil(t, typed.Spec.Manifest)
	assert.Nil(t, typed.Spec.ObserverSchema)
	again, err := json.Marshal(&typed)
	require.NoError(t, err)
	assert.Contains(t, string(again), `"manifest":[]`)
}

func TestNullsAndUnknownFieldsSurvive(t *testing.T) {
	client, _ := applications(t)
	const spec = `
  manifest:
  - {apiVersion: v1, kind: Service, metadata: {name: a, labels: null}, spec: {unknown: {deep: [null, 1.5, {x: null}]}}}
  observerSchema:
  - {apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {app: null}, ports: [{port: null}, {observer_schema_list_min_length: 1}]}}
  tosca: null
`
	created, err := create(t.Context(), t, client, spec)
	require.NoError(t, err)
	stored, err := client.Get(t.Context(), created.GetName(), metav1.GetOptions{})
	require.NoError(t, err)
	content, err := json.Marshal(stored.Object["spec"])
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"adoption": "Never", "adoptedDeletionPolicy": "Orphan", "deletionPolicy": "Delete",
		"manifest": [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "labels": null},
			"spec": {"unknown": {"deep": [null, 1.5, {"x": null}]}}}],
		"observerSchema": [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"},
			"spec": {"selector": {"app": null}, "ports": [{"port": null}, {"observer_schema_list_min_length": 1}]}}]
	}`, string(content))
}

func TestRefused(t *testing.T) {
	client, _ := applications(t)
	const oneSource = "exactly one of spec.manifest, spec.tosca and spec.csar must be set"
	for _, row := range []struct{ name, spec, message string }{
		{"no source", `{}`, oneSource},
		{"a selection together with a template", `{select: [{apiVersion: v1, kind: Namespace, hold: {}}], tosca: {template: x}}`, oneSource},
		{"a selection of nothing", `{select: []}`, "spec.select: Invalid value: 0"},
		{"a selection without what it holds", `{select: [{apiVersion: v1, kind: Namespace}]}`, "spec.select[0].hold: Required value"},
		{"a namespace that cannot be", `{select: [{apiVersion: v1, kind: ConfigMap, namespaces: [A], hold: {}}]}`, "spec.select[0].namespaces[0]"},
		{"no object at most", `{manifest: [], maxObjects: -1}`, "spec.maxObjects: Invalid value: -1"},
		{"two sources", `{manifest: [], tosca: {template: x}}`, oneSource},
		{"three sources", `{manifest: [], tosca: {template: x}, csar: {url: x}}`, oneSource},
		{"a TOSCA source without a template", `{tosca: {}}`, "exactly one of template and url must be set"},
		{"a TOSCA source with two templates", `{tosca: {template: x, url: z}}`, "exactly one of template and url must be set"},
		{"an archive from nowhere", `{csar: {inputs: {a: 1}}}`, "exactly one of url, configMapRef and secretRef must be set"},
		{"an archive from two places", `{csar: {url: x, configMapRef: {name: a, key: b}}}`, "exactly one of url, configMapRef and secretRef must be set"},
		{"a manifest that is no object", `{manifest: [text]}`, "spec.manifest[0]"},
		{"a null in place of a manifest", `{manifest: [null]}`, "spec.manifest[0]"},
		{"an unknown policy", `{manifest: [], adoption: Sometimes}`, `spec.adoption: Unsupported value: "Sometimes"`},
		{"a field with a typing error", `{manifest: [], observerShema: []}`, `unknown field "spec.observerShema"`},
		{"a digest without a URL", `{tosca: {template: x, sha256: "` + strings.Repeat("0", 64) + `"}}`, "sha256 requires url"},
		{"a digest that is none", `{csar: {url: x, sha256: abc}}`, "spec.csar.sha256"},
		{"inputs from nowhere", `{tosca: {template: x, inputsFrom: [{}]}}`, "exactly one of configMapRef and secretRef must be set"},
		{"a hook with an unknown purpose", `{manifest: [], hooks: {complete: {action: Explode}}}`, `Unsupported value: "Explode"`},
		{"a variable with a bad name", `{manifest: [], hooks: {complete: {urlVariable: "A-B"}}}`, "spec.hooks.complete.urlVariable"},
		{"a shutdown of no service", `{manifest: [], hooks: {shutdown: {port: 80}}}`, "spec.hooks.shutdown.service"},
		{"a shutdown of another host", `{manifest: [], hooks: {shutdown: {service: "a.b", port: 80}}}`, "spec.hooks.shutdown.service"},
		{"a shutdown with a path that is none", `{manifest: [], hooks: {shutdown: {service: a, port: 80, path: "@b"}}}`, "spec.hooks.shutdown.path"},
		{"an interval that is too short", `{manifest: [], interval: 1s}`, "must be at least 10s"},
		{"an interval that is none", `{manifest: [], interval: often}`, "spec.interval"},
		{"a retry with a decreasing delay", `{manifest: [], retry: {multiplier: 0}}`, "spec.retry.multiplier"},
		{"a first wait of nothing", `{manifest: [], retry: {initialInterval: 1ns}}`, "must be at least 1s"},
		{"a longest wait of nothing", `{manifest: [], retry: {maxInterval: 999ms}}`, "must be at least 1s"},
		{"fields of nothing", `{manifest: [], fields: [{hold: [spec.a]}]}`, "spec.fields[0].resource: Required value"},
		{"fields without effect", `{manifest: [], fields: [{resource: {kind: A, name: a}}]}`, "spec.fields[0] in body should have at least 2 properties"},
		{"a rule of no path", `{manifest: [], fields: [{resource: {kind: A, name: a}, hold: [{minimum: 1}]}]}`, "spec.fields[0].hold[0].path: Required value"},
		{"a rule of an empty path", `{manifest: [], fields: [{resource: {kind: A, name: a}, hold: [{path: ""}]}]}`, "spec.fields[0].hold[0].path"},
		{"a mode that is none", `{manifest: [], fields: [{resource: {kind: A, name: a}, hold: [{path: a, mode: maybe}]}]}`, `spec.fields[0].hold[0].mode: Unsupported value: "maybe"`},
		{"a pattern that is no text", `{manifest: [], fields: [{resource: {kind: A, name: a}, hold: [{path: a, pattern: 5}]}]}`, "spec.fields[0].hold[0].pattern"},
		{"a map that is closed to nothing", `{manifest: [], fields: [{resource: {kind: A, name: a}, hold: [{path: a, keys: {free: [b]}}]}]}`, "spec.fields[0].hold[0].keys.hold: Required value"},
		{"a path of nothing", `{manifest: [], fields: [{resource: {kind: A, name: a}, free: [""]}]}`, "spec.fields[0].free[0]"},
		{"a path of a megabyte", `{manifest: [], fields: [{resource: {kind: A, name: a}, free: ["` + strings.Repeat("*", 1<<20) + `"]}]}`, "Too long: may not be more than 4096"},
		{"a name that is a user's", `{manifest: [], serviceAccountName: dep..loyer}`, "spec.serviceAccountName"},
		{"a name that ends with a dash before a dot", `{manifest: [], serviceAccountName: a-.b}`, "spec.serviceAccountName"},
		{"a name that no service account has", `{manifest: [], serviceAccountName: "a b"}`, "spec.serviceAccountName"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := create(t.Context(), t, client, row.spec)
			assert.True(t, apierrors.IsInvalid(err) || apierrors.IsBadRequest(err), "%v", err)
			assert.ErrorContains(t, err, row.message)
		})
	}
}

func TestAccepted(t *testing.T) {
	client, _ := applications(t)
	for name, spec := range map[string]string{
		"an inline template with inputs": `{tosca: {template: x, inputs: {a: {b: [1, null, text]}}}}`,
		"a template behind a URL":        `{tosca: {url: "https://example.com/t.yaml"}}`,
		"an archive in a ConfigMap":      `{csar: {configMapRef: {name: a, key: b}}}`,
		"an archive in a Secret":         `{csar: {secretRef: {name: a, key: b}}}`,
		"inputs from objects":            `{tosca: {template: x, inputsFrom: [{secretRef: {name: a}}, {configMapRef: {name: a}}]}}`,
		"hooks":                          `{manifest: [], hooks: {complete: {}, shutdown: {service: a, port: 80}}}`,
		"intervals":                      `{manifest: [], interval: 1h30m, retry: {initialInterval: 1s, multiplier: 2, maxInterval: 1m, maxAttempts: 5}}`,
		"a service account with dots":    `{manifest: [], serviceAccountName: a.b-c.0}`,
		"an empty service account name":  `{manifest: [], serviceAccountName: ""}`,
		"fields":                         `{manifest: [], fields: [{resource: {kind: A, name: "a*"}, hold: []}, {resource: {apiVersion: v1, kind: A, namespace: b, name: a}, hold: [spec.a], free: ["b[*]"]}]}`,
		"rules in fields": `{manifest: [], fields: [{resource: {kind: A, name: a}, hold: ["*", {path: a, minimum: 1, maximum: "50%"}, {path: b, oneOf: [1, x, {y: [null]}]},
			{path: c, pattern: "a+"}, {path: d, rule: "self > 1"}, {path: e, mode: push}, {path: f, keys: {hold: ["*"], free: [a]}}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := create(t.Context(), t, client, spec)
			assert.NoError(t, err)
		})
	}
}

func TestStatusTakesValuesOfAnyType(t *testing.T) {
	client, namespace := applications(t)
	created, err := create(t.Context(), t, client, `{manifest: []}`)
	require.NoError(t, err)
	const status = `{"status": {
		"observedGeneration": 1, "summary": "1/2",
		"conditions": [{"type": "Ready", "status": "False", "reason": "Progressing", "message": "waiting for a", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
		"accepted": [
			{"resource": {"apiVersion": "v1", "kind": "Pod", "name": "a"}, "path": "spec.a", "desired": "1000m", "accepted": 1},
			{"resource": {"apiVersion": "v1", "kind": "Pod", "name": "a"}, "path": "spec.b", "desired": [1, null], "accepted": {"x": null}},
			{"resource": {"apiVersion": "v1", "kind": "Pod", "name": "a"}, "path": "spec.c", "desired": false, "dropped": true}],
		"contested": [
			{"resource": {"apiVersion": "v1", "kind": "Pod", "name": "a"}, "path": "spec.d", "desired": 1.5, "live": null, "corrections": 5, "nextCorrection": "2026-01-01T00:00:00Z"}],
		"lastObservedManifest": [{"spec": {"free": null, "list": [{"observer_schema_list_current_length": 0}]}}]
	}}`
	// A merge patch would drop the nulls.
	require.NoError(t, json.Unmarshal([]byte(status), &created.Object))
	updated, err := client.UpdateStatus(t.Context(), created, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
	require.NoError(t, err)

	accepted, _, err := unstructured.NestedSlice(updated.Object, "status", "accepted")
	require.NoError(t, err)
	require.Len(t, accepted, 3)
	assert.Equal(t, int64(1), accepted[0].(map[string]any)["accepted"])
	assert.Equal(t, []any{int64(1), nil}, accepted[1].(map[string]any)["desired"])
	assert.Equal(t, map[string]any{"x": nil}, accepted[1].(map[string]any)["accepted"])
	assert.Equal(t, false, accepted[2].(map[string]any)["desired"])

	t.Run("nothing in a list has an entry of its own in managedFields", func(t *testing.T) {
		fields, err := json.Marshal(updated.GetManagedFields())
		require.NoError(t, err)
		assert.Contains(t, string(fields), `"f:accepted":{}`)
		assert.Contains(t, string(fields), `"f:lastObservedManifest":{}`)
		assert.NotContains(t, string(fields), "f:free")
	})
	t.Run("columns", func(t *testing.T) {
		output, err := testcluster.Shared().Kubectl(t.Context(), "", "get", "hfapp", "-n", namespace)
		require.NoError(t, err)
		assert.Equal(t, "NAME READY REASON RESOURCES AGE", header(output))
		assert.Contains(t, output, "False   Progressing   1/2")
		wide, err := testcluster.Shared().Kubectl(t.Context(), "", "get", "holdfast", "-n", namespace, "-o", "wide")
		require.NoError(t, err)
		assert.Equal(t, "NAME READY REASON RESOURCES AGE MESSAGE", header(wide))
		assert.Contains(t, wide, "waiting for a")
	})
}

func header(output string) string {
	first, _, _ := strings.Cut(output, "\n")
	return strings.Join(strings.Fields(first), " ")
}
