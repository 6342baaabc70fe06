package controller_test

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/manifest"
)

// shopTemplate contains a Secret value, which the status must not contain, and a workload for hooks.
const shopTemplate = `tosca_definitions_version: tosca_simple_yaml_1_3
topology_template:
  node_templates:
    page:
      type: tosca.nodes.indigo.KubernetesObject
      properties: {spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: page}, data: {text: %s, free: one}}}
    login:
      type: tosca.nodes.indigo.KubernetesObject
      properties: {spec: {apiVersion: v1, kind: Secret, metadata: {name: login, labels: {app: shop}}, stringData: {password: hunter2}}}
    service:
      type: tosca.nodes.indigo.KubernetesObject
      properties: {spec: {apiVersion: v1, kind: Service, metadata: {name: shop}, spec: {selector: {app: shop}, ports: [{name: http, port: 80}]}}}
    work:
      type: tosca.nodes.indigo.KubernetesObject
      properties: {spec: {apiVersion: batch/v1, kind: Job, metadata: {name: work}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: work, image: "work:1"}]}}}}}
  outputs:
    text: {value: %[1]s}
`

// If the source is unavailable during a restart, held fields stay held. Their values come from the
// record in the status. For values that the record masks, the live values are used.
func TestASourceThatIsGoneAfterARestart(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	s := newSite(t)
	options := controller.Options{Fetcher: s.fetcher(patience), SourceInterval: time.Second}
	running := f.RunWithCallbacks(options)
	f.Submit("app", fmt.Sprintf(`
hooks: {complete: {action: Keep}}
tosca: {url: %q}
observerSchema:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: page}, data: {text: observed}}
- {apiVersion: v1, kind: Service, metadata: {name: shop}, spec: {clusterIP: observed, selector: {app: observed}}}`, s.Put("/t/shop.yaml", fmt.Sprintf(shopTemplate, "one"))))
	f.AwaitHeld("app")
	f.Quiet(2 * time.Second)
	before := f.Application("app")
	ip := value(f.Get(services, "shop"), "spec", "clusterIP")
	running.Stop()

	s.Down(true)
	f.Patch("mallory", configMaps, "page", `{data: {text: hacked, free: two}}`)
	f.Patch("mallory", secrets, "login", fmt.Sprintf(`{metadata: {labels: {app: hacked}}, data: {password: %q}}`, base64.StdEncoding.EncodeToString([]byte("theirs"))))
	f.Delete(services, "shop")
	running = f.RunWithCallbacks(options)
	f.AwaitValue(configMaps, "page", "one", "data", "text")
	f.AwaitValue(secrets, "login", "shop", "metadata", "labels", "app")
	f.Await(services, "shop", "made again", func(object map[string]any) bool { return object != nil })
	app := f.AwaitApplication("app", "held, and not rendered", func(app *v1alpha1.Application) bool {
		return condition(app, v1alpha1.ConditionRendered).Reason == v1alpha1.ReasonFetchFailed && condition(app, v1alpha1.ConditionHeld).Status == metav1.ConditionTrue
	})
	assert.Contains(t, condition(app, v1alpha1.ConditionRendered).Message, "the manifests of the last translation remain in use")
	assert.Equal(t, ip, value(f.Get(services, "shop"), "spec", "clusterIP"), "what was learned is used again")
	assert.Equal(t, "two", value(f.Get(configMaps, "page"), "data", "free"))
	assert.Equal(t, base64.StdEncoding.EncodeToString([]byte("theirs")), value(f.Get(secrets, "login"), "data", "password"), "nothing here knows another value")
	assert.NotNil(t, f.Get(jobs, "work"))
	s.AwaitAsked(f, "/t/shop.yaml", 2)
	app = f.Application("app")
	assert.Equal(t, before.Status.LastAppliedManifest, app.Status.LastAppliedManifest)
	assert.Equal(t, before.Status.SourceDigest, app.Status.SourceDigest)
	assert.Equal(t, before.Status.ManifestDigest, app.Status.ManifestDigest)
	assert.Equal(t, before.Status.Outputs, app.Status.Outputs)
	f.nowhereElse("hunter2")

	// A deleted Secret has to wait for the source, because its values are unknown. Nothing else has to
	// wait.
	f.Delete(secrets, "login")
	f.Patch("mallory", configMaps, "page", `{data: {text: hacked}}`)
	f.AwaitValue(configMaps, "page", "one", "data", "text")
	app = f.AwaitApplication("app", "to miss the Secret", func(app *v1alpha1.Application) bool {
		return condition(app, v1alpha1.ConditionHeld).Reason == v1alpha1.ReasonFetchFailed
	})
	assert.Contains(t, condition(app, v1alpha1.ConditionHeld).Message, "Secret "+f.namespace+"/login has values that are not known until the source is available again")
	assert.Nil(t, f.Get(secrets, "login"))

	// The record does not match a changed spec.
	f.Patch("user", applications, "app", `{spec: {adoption: Always}}`)
	f.eventually("the word about the new spec", func() bool {
		_, message := f.AwaitNotRendered("app", v1alpha1.ReasonFetchFailed)
		return message == s.URL+"/t/shop.yaml cannot be fetched: the server responded with status 503\nUntil then nothing is created, corrected or deleted"
	})

	s.Down(false)
	s.Put("/t/shop.yaml", fmt.Sprintf(shopTemplate, "two"))
	f.AwaitValue(configMaps, "page", "two", "data", "text")
	f.Await(secrets, "login", "with its value", func(object map[string]any) bool {
		return value(object, "data", "password") == base64.StdEncoding.EncodeToString([]byte("hunter2"))
	})
	f.AwaitHeld("app")
	f.Quiet(2 * time.Second)
	running.Stop()
}

// Objects of a later translation, which the status does not record, are not deleted.
func TestARestoredTranslationDeletesNothing(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	s := newSite(t)
	options := controller.Options{Fetcher: s.fetcher(patience), SourceInterval: time.Second}
	running := f.Run(options)
	f.Submit("app", fmt.Sprintf(`tosca: {url: %q}`, s.Put("/t/page.yaml", page("page", "one"))))
	app := f.AwaitReady("app")
	running.Stop()
	s.Down(true)
	f.Create("user", fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: later, labels: {%s: %s}, annotations: {%s: %q}}}`,
		v1alpha1.LabelApplicationUID, app.UID, v1alpha1.AnnotationTrackingID, f.namespace+"/app:/ConfigMap:"+f.namespace+"/later"))
	f.Patch("user", applications, "app", fmt.Sprintf(`{metadata: {annotations: {%s: %s}}}`,
		v1alpha1.AnnotationCreating, announced(manifest.ID{Kind: "ConfigMap", Namespace: f.namespace, Name: "later"})))
	f.Patch("mallory", configMaps, "page", `{data: {text: hacked}}`)

	running = f.Run(options)
	f.AwaitValue(configMaps, "page", "one", "data", "text")
	s.AwaitAsked(f, "/t/page.yaml", 2)
	require.NotNil(t, f.Get(configMaps, "later"))
	s.Down(false)
	f.AwaitGone(configMaps, "later")
	f.AwaitReady("app")
	running.Stop()
}
