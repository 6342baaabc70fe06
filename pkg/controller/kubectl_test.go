package controller_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// kubectl runs the real kubectl in the test's namespace.
func (f *fixture) kubectl(stdin string, args ...string) (string, error) {
	f.t.Helper()
	return f.cluster.Kubectl(f.t.Context(), strings.ReplaceAll(stdin, "$NS", f.namespace), append(args, "--namespace="+f.namespace)...)
}

const withNulls = `
apiVersion: holdfast.dev/v1alpha1
kind: Application
metadata: {name: app}
spec:
  manifest:
  - {apiVersion: v1, kind: Service, metadata: {name: echo}, spec: {selector: {app: echo}, ports: [{port: 80, targetPort: 8080}]}}
  observerSchema:
  - apiVersion: v1
    kind: Service
    metadata: {name: echo}
    spec:
      selector: {app: null}
      ports:
      - {port: null}
      - {observer_schema_list_min_length: 1, observer_schema_list_max_length: 4}
      sessionAffinity: null
`

var withWords = strings.ReplaceAll(withNulls, "null", "observed")

func TestNullsThatKubectlApplyDropsAreRefused(t *testing.T) {
	f := given(t)
	_, err := f.kubectl(withNulls, "apply", "--filename=-")
	require.NoError(t, err)

	app, message := f.AwaitReason("app", v1alpha1.ReasonObserverSchemaNullsDropped)

	assert.Contains(t, message, "spec.sessionAffinity")
	assert.Contains(t, message, "selector.app")
	assert.Contains(t, message, `"observed"`)
	assert.Equal(t, v1alpha1.ReasonObserverSchemaNullsDropped, condition(app, v1alpha1.ConditionStalled).Reason)
	assert.Equal(t, metav1.ConditionTrue, condition(app, v1alpha1.ConditionStalled).Status)
	f.Quiet(quiet)
	assert.Nil(t, f.Get(services, "echo"), "nothing is created")

	// Then: the remedy works, on the same object.
	_, err = f.kubectl(withWords, "apply", "--filename=-")
	require.NoError(t, err)
	f.AwaitReady("app")
	f.Patch("mallory", services, "echo", `{spec: {sessionAffinity: ClientIP}}`)
	f.AwaitValue(services, "echo", "None", "spec", "sessionAffinity")
}

func TestNullsThatServerSideApplyKeepsAreRefused(t *testing.T) {
	f := given(t)
	_, err := f.kubectl(withNulls, "apply", "--server-side", "--filename=-")
	require.NoError(t, err)

	_, message := f.AwaitReason("app", v1alpha1.ReasonObserverSchemaInvalid)

	assert.Contains(t, message, `observerSchema[0] (Service echo): spec.sessionAffinity: is null, which many clients drop: write "observed"`)
	f.Quiet(quiet)
	assert.Nil(t, f.Get(services, "echo"), "nothing is created")

	// Then: the remedy works, on the same object.
	_, err = f.kubectl(withWords, "apply", "--server-side", "--filename=-")
	require.NoError(t, err)
	f.AwaitReady("app")
	f.Patch("mallory", services, "echo", `{spec: {sessionAffinity: ClientIP, selector: {app: other}}}`)
	f.AwaitValue(services, "echo", "None", "spec", "sessionAffinity")
	f.AwaitValue(services, "echo", "echo", "spec", "selector", "app")
}

func TestTheWordObservedSurvivesKubectlApply(t *testing.T) {
	f := given(t)
	_, err := f.kubectl(withWords, "apply", "--filename=-")
	require.NoError(t, err)
	app := f.AwaitReady("app")
	assert.Contains(t, string(app.Status.MangledObserverSchema[0].Raw), `"sessionAffinity":"observed"`)

	f.Patch("mallory", services, "echo", `{spec: {sessionAffinity: ClientIP}}`)
	f.AwaitValue(services, "echo", "None", "spec", "sessionAffinity")

	// Then: the object can be edited in the same way.
	_, err = f.kubectl(strings.Replace(withWords, "targetPort: 8080", "targetPort: 8081", 1), "apply", "--filename=-")
	require.NoError(t, err)
	f.AwaitReady("app")
	f.Quiet(quiet)
}

func TestKubectlColumns(t *testing.T) {
	f := given(t)
	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	f.Create("somebody", `{apiVersion: v1, kind: ConfigMap, metadata: {name: taken}}`)
	f.Submit("refused", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: taken}}]}`)
	f.AwaitReason("refused", v1alpha1.ReasonResourceConflict)

	output, err := f.kubectl("", "get", "hfapp")
	require.NoError(t, err)
	rows := strings.Split(strings.TrimSpace(output), "\n")
	require.Len(t, rows, 3)
	assert.Equal(t, []string{"NAME", "READY", "REASON", "RESOURCES", "AGE"}, strings.Fields(rows[0]))
	assert.Equal(t, []string{"app", "True", "Ready", "1/1"}, strings.Fields(rows[1])[:4])
	assert.Equal(t, []string{"refused", "False", "ResourceConflict", "0/1"}, strings.Fields(rows[2])[:4])

	output, err = f.kubectl("", "get", "hfapp", "--output=wide")
	require.NoError(t, err)
	assert.Contains(t, output, "MESSAGE")
	assert.Contains(t, output, "1 resource, 1 held field in sync")
	assert.Contains(t, output, "taken already exists")

	// Other tools can wait for an Application like for any other object.
	_, err = f.kubectl("", "wait", "--for=condition=Ready", "hfapp/app", "--timeout=60s")
	require.NoError(t, err)
	f.AwaitNote("app", "created ConfigMap")
	output, err = f.kubectl("", "get", "events", "--field-selector=involvedObject.name=app")
	require.NoError(t, err)
	assert.Contains(t, output, "created ConfigMap")
}

func TestDefinitionRejectsInvalidObjects(t *testing.T) {
	f := given(t)
	for name, spec := range map[string]string{
		"no source":   `{}`,
		"two sources": `{manifest: [], tosca: {template: a}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.kubectl("{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: bad}, spec: "+spec+"}", "create", "--filename=-")
			require.ErrorContains(t, err, "exactly one of spec.manifest, spec.tosca and spec.csar")
		})
	}
	// And: an Application that was never reconciled has the observed generation -1.
	output, err := f.kubectl(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: new}, spec: {manifest: []}}`,
		"create", "--filename=-", "--output=jsonpath={.status.observedGeneration}")
	require.NoError(t, err)
	assert.Equal(t, "-1", output)
	f.AwaitReady("new")
}
