package controller_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

// Profile installs a HoldProfile with one rule for the objects in the test's namespace, and returns its
// name. The rights of the ServiceAccount do not matter for profiles: here they cover only the test's
// namespace.
func (f *fixture) Profile(rule string) string {
	f.t.Helper()
	name := "for-" + f.namespace
	f.Create("owner", `
apiVersion: holdfast.dev/v1alpha1
kind: HoldProfile
metadata: {name: `+name+`}
spec:
  rules:
  - match: object.metadata.namespace == "$NS"
`+rule)
	f.t.Cleanup(func() {
		err := f.As("owner").Resource(holdProfiles).Delete(cleanupContext(), name, metav1.DeleteOptions{})
		if !apierrors.IsNotFound(err) {
			require.NoError(f.t, err)
		}
	})
	return name
}

// AwaitProfile waits until the Ready condition of a profile has a reason, and returns its message.
func (f *fixture) AwaitProfile(name, reason string) (message string) {
	f.t.Helper()
	f.Await(holdProfiles, name, "Ready: "+reason, func(object map[string]any) bool {
		raw, err := json.Marshal(object)
		require.NoError(f.t, err)
		var profile v1alpha1.HoldProfile
		require.NoError(f.t, json.Unmarshal(raw, &profile))
		c := apimeta.FindStatusCondition(profile.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.ObservedGeneration != profile.Generation {
			return false
		}
		message = c.Message
		return c.Reason == reason
	})
	return message
}

// AwaitCount waits until the status of a profile has a number of objects.
func (f *fixture) AwaitCount(profile string, n int64) {
	f.t.Helper()
	f.AwaitValue(holdProfiles, profile, n, "status", "objects")
}

// AwaitProfiles waits until the status of an Application names the profiles of its first
// resource.
func (f *fixture) AwaitProfiles(name string, profiles ...string) {
	f.t.Helper()
	f.AwaitApplication(name, "of these profiles", func(app *v1alpha1.Application) bool {
		return len(app.Status.Resources) > 0 && assert.ObjectsAreEqual(profiles, app.Status.Resources[0].Profiles)
	})
}

const whileAutoscaled = `
    kinds: [{group: apps, kind: Deployment}]
    whileTargetedBy: HorizontalPodAutoscaler
    free: [spec.replicas]
`

const plainDeployment = `
manifest:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    replicas: 2
    selector: {matchLabels: {app: web}}
    template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}
`

const autoscaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
`

func ofDeployments(r testcluster.Request) bool { return r.Resource == deployments.Resource }

func TestReplicasAreFreeWhileAutoscaled(t *testing.T) {
	f := given(t)
	profile := f.Profile(whileAutoscaled)
	assert.Equal(t, "In effect", f.AwaitProfile(profile, v1alpha1.ProfileInEffect))
	f.Submit("app", plainDeployment)
	f.AwaitHeld("app")
	f.scaleTo(7)
	f.AwaitValue(deployments, "web", int64(2), "spec", "replicas")

	f.Create("user", autoscaler)
	f.AwaitProfiles("app", profile)
	f.Quiet(time.Second)
	f.Mark()
	before := f.reconciles()
	f.scaleTo(7)
	f.Patch("user", autoscalers, "web", "{metadata: {annotations: {touched: again}}}")
	f.Quiet(time.Second)
	assert.Equal(t, int64(7), value(f.Get(deployments, "web"), "spec", "replicas"))
	assert.Empty(t, f.Requests().Writes().Where(ofDeployments))
	assert.LessOrEqual(t, f.reconciles(), before+2, "the status of an autoscaler starts no reconcile")
	f.Patch("rival", deployments, "web", `{spec: {template: {spec: {containers: [{name: web, image: "web:2"}]}}}}`)
	f.Await(deployments, "web", "the image corrected", func(object map[string]any) bool {
		return value(object, "spec", "template", "spec", "containers", "0", "image") == "web:1"
	})
	assert.Equal(t, int64(7), value(f.Get(deployments, "web"), "spec", "replicas"))

	f.Mark()
	f.Delete(autoscalers, "web")
	f.AwaitValue(deployments, "web", int64(2), "spec", "replicas")
	f.AwaitProfiles("app")
	f.Quiet(time.Second)
	f.AssertAsked(map[string]int{"patch deployments": 1}, ofDeployments)
}

func TestProfileIsCreatedAndDeleted(t *testing.T) {
	const freesOne = `
    kinds: [{group: "", kind: ConfigMap}]
    free: [data.one]
`
	f := given(t)
	f.Submit("app", "manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {one: a, two: b}}]")
	f.AwaitHeld("app")
	profile := f.Profile(freesOne)
	f.AwaitProfiles("app", profile)
	f.Patch("rival", configMaps, "settings", "{data: {one: theirs, two: theirs}}")
	f.AwaitValue(configMaps, "settings", "b", "data", "two")
	assert.Equal(t, "theirs", value(f.Get(configMaps, "settings"), "data", "one"))

	f.Patch("user", applications, "app", `{spec: {fields: [{resource: {kind: ConfigMap, name: settings}, hold: ["*", data.one]}]}}`)
	f.AwaitValue(configMaps, "settings", "a", "data", "one")
	f.Patch("user", applications, "app", "{spec: {fields: null}}")
	f.AwaitProfiles("app", profile)
	f.Patch("rival", configMaps, "settings", "{data: {one: theirs}}")
	f.Quiet(time.Second)
	assert.Equal(t, "theirs", value(f.Get(configMaps, "settings"), "data", "one"))

	f.Patch("owner", holdProfiles, profile, `{spec: {rules: [{kinds: [{kind: ConfigMap}], match: "object.metadata.namespace == '$NS'", free: ["metadata.uid"]}]}}`)
	message := f.AwaitProfile(profile, v1alpha1.ProfileInvalid)
	assert.Equal(t, "spec.rules[0].free[0]: metadata.uid identifies a resource or is set by the API server, and can be neither held nor free. The profile has no effect", message)
	f.AwaitValue(configMaps, "settings", "a", "data", "one")
	f.Patch("owner", holdProfiles, profile, `{spec: {rules: [{kinds: [{kind: ConfigMap}], match: "object.metadata.namespace == '$NS'", free: [data.two]}]}}`)
	f.AwaitProfile(profile, v1alpha1.ProfileInEffect)
	f.AwaitProfiles("app", profile)
	f.Patch("rival", configMaps, "settings", "{data: {two: theirs}}")
	f.Quiet(time.Second)
	assert.Equal(t, "theirs", value(f.Get(configMaps, "settings"), "data", "two"))
	f.Delete(holdProfiles, profile)
	f.AwaitValue(configMaps, "settings", "b", "data", "two")
	f.Quiet(time.Second)
}

func TestInvalidProfilesAreRejected(t *testing.T) {
	f := given(t)
	for name, rule := range map[string]string{
		"no field":            "{kinds: [{kind: Deployment}]}",
		"no kind":             "{kinds: [], free: [spec.replicas]}",
		"a kind without name": "{kinds: [{group: apps}], free: [spec.replicas]}",
		"an empty path":       `{kinds: [{kind: Deployment}], free: [""]}`,
		"another target":      "{kinds: [{kind: Deployment}], whileTargetedBy: Service, free: [spec.replicas]}",
	} {
		t.Run(name, func(t *testing.T) {
			u := f.object("{apiVersion: holdfast.dev/v1alpha1, kind: HoldProfile, metadata: {name: refused}, spec: {rules: [" + rule + "]}}")
			_, err := f.As("owner").Resource(holdProfiles).Create(t.Context(), u, metav1.CreateOptions{})
			require.True(t, apierrors.IsInvalid(err), "%v", err)
		})
	}
}

// A profile with a name that the API server does not know is not reported as in effect.
func TestProfileWithUnknownNames(t *testing.T) {
	f := given(t)
	profile := f.Profile(`
    kinds: [{group: apps, kind: Deploymnt}, {group: apps, kind: StatefulSet}]
    free: [spec.replicas]
`)
	assert.Equal(t, "spec.rules[0].kinds[0]: the API server serves no kind Deploymnt.apps: did you mean Deployment?\nAll other rules and paths are in effect",
		f.AwaitProfile(profile, v1alpha1.ProfileUnknownNames))
	one := func(rule string) {
		f.Patch("owner", holdProfiles, profile, `{spec: {rules: [{match: "object.metadata.namespace == '$NS'", `+rule+`}]}}`)
	}
	one(`kinds: [{kind: Deployment}, {kind: ConfigMap}], free: [spec.replicas, data.one, "metadata.annotations[*]"]`)
	f.AwaitProfile(profile, v1alpha1.ProfileInEffect)
	one(`kinds: [{kind: Deployment}, {kind: ConfigMap}], hold: [spec.paused], free: [data.one, spec.replica, spec.template.spec.containers.image]`)
	assert.Equal(t, "spec.rules[0].free[1]: Deployment: no field spec.replica: did you mean replicas?\n"+
		"spec.rules[0].free[2]: Deployment: spec.template.spec.containers is a list: write spec.template.spec.containers[*]\nAll other rules and paths are in effect",
		f.AwaitProfile(profile, v1alpha1.ProfileUnknownNames))

	group := f.namespace + ".example.com"
	one("kinds: [{group: " + group + ", kind: Song}], free: [spec.title]")
	f.AwaitProfile(profile, v1alpha1.ProfileUnknownNames)
	f.Definition("Song", "songs", anySpec)
	f.AwaitProfile(profile, v1alpha1.ProfileInEffect)
	f.Quiet(time.Second)
	f.Delete(definitions, "songs."+group)
	f.AwaitProfile(profile, v1alpha1.ProfileUnknownNames)
}

// The status of a profile counts the objects in which the profile decides about a field.
func TestProfileCountsObjects(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.Run(controller.Options{})
	profile := f.Profile(`
    kinds: [{group: "", kind: ConfigMap}]
    free: [data.one]
`)
	f.AwaitCount(profile, 0)
	f.Submit("a", "manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {one: a}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {one: a}}]")
	f.Submit("b", "manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {one: a}}, {apiVersion: v1, kind: Secret, metadata: {name: d}, stringData: {one: a}}]")
	f.AwaitCount(profile, 3)
	f.Quiet(time.Second)
	f.Mark()
	f.Quiet(7 * time.Second)
	assert.Empty(t, f.Requests(), "at rest nothing is asked")
	f.Delete(applications, "b")
	f.AwaitCount(profile, 2)
	f.Quiet(time.Second)
	f.AssertAsked(map[string]int{"patch holdprofiles/status": 1}, func(r testcluster.Request) bool { return r.Resource == holdProfiles.Resource })
}

// A new process must read all profiles before it writes anything.
func TestARestartKeepsWhatAProfileFrees(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.Profile(whileAutoscaled)
	f.Create("user", autoscaler)
	first := f.Run(controller.Options{})
	f.Submit("app", plainDeployment)
	f.AwaitHeld("app")
	f.scaleTo(7)
	f.Quiet(time.Second)
	first.Stop()
	f.Mark()
	f.Run(controller.Options{})
	f.Await(applications, "app", "looked at", func(map[string]any) bool { return f.reconciles() > 0 })
	f.Quiet(time.Second)
	assert.Empty(t, f.Requests().Writes().Where(ofDeployments))
	assert.Equal(t, int64(7), value(f.Get(deployments, "web"), "spec", "replicas"))
	f.Mark()
	f.Quiet(3 * time.Second)
	assert.Empty(t, f.Requests(), "at rest nothing is asked")
}

var validators = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}

// Shipped installs a profile from deploy/profiles for objects with the test's label, and returns its
// name.
func (f *fixture) Shipped(file string) string {
	f.t.Helper()
	raw, err := os.ReadFile("../../deploy/profiles/" + file)
	require.NoError(f.t, err)
	var profile v1alpha1.HoldProfile
	require.NoError(f.t, yaml.UnmarshalStrict(raw, &profile))
	for i, rule := range profile.Spec.Rules {
		ours := "object.metadata.labels['of'] == '" + f.namespace + "'"
		if rule.Match != "" {
			ours = "(" + rule.Match + ") && " + ours
		}
		profile.Spec.Rules[i].Match = ours
	}
	profile.Name = f.namespace
	text, err := yaml.Marshal(profile)
	require.NoError(f.t, err)
	f.Create("owner", string(text))
	f.t.Cleanup(func() {
		require.NoError(f.t, f.As("owner").Resource(holdProfiles).Delete(cleanupContext(), profile.Name, metav1.DeleteOptions{}))
	})
	return profile.Name
}

// Without the profile, Holdfast and the other writer contest the fields. With the profile, they do not.
func TestTheShippedProfiles(t *testing.T) {
	t.Parallel()
	const webhook = "webhooks: [{name: a.example.com, clientConfig: {service: {name: a, namespace: $NS}, caBundle: Cg==}, failurePolicy: Ignore, sideEffects: None, admissionReviewVersions: [v1]}]"
	for _, row := range []struct {
		name, file, manifest, before string
		resource                     schema.GroupVersionResource
		patch                        string
		path                         []string
		ours, theirs                 any
	}{
		{
			name: "replicas of an autoscaled Deployment", file: "autoscaled-replicas.yaml", resource: deployments, before: strings.ReplaceAll(autoscaler, "name: web", "name: $NS"),
			manifest: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: $NS, labels: {of: $NS}}, spec: {replicas: 2, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}}}`,
			patch: `[{op: replace, path: /spec/replicas, value: 7}]`, path: []string{"spec", "replicas"}, ours: int64(2), theirs: int64(7),
		},
		{
			name: "a certificate that cert-manager injects", file: "injected-authorities.yaml", resource: webhooks,
			manifest: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: of-$NS, labels: {of: $NS}, annotations: {cert-manager.io/inject-ca-from: a/b}}, ` + webhook + "}",
			patch:    `[{op: replace, path: /webhooks/0/clientConfig/caBundle, value: aW5qZWN0ZWQ=}]`, path: []string{"webhooks", "0", "clientConfig", "caBundle"}, ours: "Cg==", theirs: "aW5qZWN0ZWQ=",
		},
		{
			name: "a certificate that OpenShift injects", file: "injected-authorities.yaml", resource: configMaps,
			manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: of-$NS, labels: {of: $NS}, annotations: {service.beta.openshift.io/inject-cabundle: "true"}}, data: {service-ca.crt: ""}}`,
			patch:    `[{op: replace, path: /data/service-ca.crt, value: injected}]`, path: []string{"data", "service-ca.crt"}, ours: "", theirs: "injected",
		},
		{
			name: "how istiod lets its validation fail", file: "istio-webhooks.yaml", resource: validators,
			manifest: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: of-$NS, labels: {of: $NS, istio.io/rev: default}}, ` + webhook + "}",
			patch:    `[{op: replace, path: /webhooks/0/failurePolicy, value: Fail}, {op: replace, path: /webhooks/0/clientConfig/caBundle, value: aW5qZWN0ZWQ=}]`,
			path:     []string{"webhooks", "0", "failurePolicy"}, ours: "Ignore", theirs: "Fail",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := given(t)
			f.GrantEverywhere()
			if row.before != "" {
				f.Create("user", row.before)
			}
			f.Submit("app", "manifest: ["+row.manifest+"]")
			f.AwaitHeld("app")
			name := f.object(row.manifest).GetName()
			f.PatchJSON("other", row.resource, name, row.patch)
			f.AwaitValue(row.resource, name, row.ours, row.path...)
			profile := f.Shipped(row.file)
			f.AwaitProfiles("app", profile)
			f.PatchJSON("other", row.resource, name, row.patch)
			f.Quiet(time.Second)
			assert.Equal(t, row.theirs, value(f.Get(row.resource, name), row.path...))
		})
	}
}
