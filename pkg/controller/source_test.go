package controller_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// shop is a template with a ConfigMap and a Secret. Each of them contains an input.
const shop = `
tosca_definitions_version: tosca_simple_yaml_1_3
topology_template:
  inputs:
    mode: {type: string, default: live}
    replicas: {type: integer, default: 3, constraints: [{in_range: [1, 5]}]}
    password: {type: string, default: none}
  node_templates:
    shop:
      type: tosca.nodes.indigo.KubernetesObject
      requirements: [{dependency: settings}, {dependency: login}]
      properties:
        spec:
          concat:
          - |-
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: shop}
            spec:
              selector: {matchLabels: {app: shop}}
              template: {metadata: {labels: {app: shop}}, spec: {containers: [{name: shop, image: "shop:1"}]}}
              replicas:
          - get_input: replicas
    settings:
      type: tosca.nodes.indigo.KubernetesObject
      properties: {spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: shop}, data: {MODE: {get_input: mode}}}}
    login:
      type: tosca.nodes.indigo.KubernetesObject
      properties: {spec: {apiVersion: v1, kind: Secret, metadata: {name: shop}, stringData: {password: {get_input: password}}}}
  outputs:
    mode: {value: {get_input: mode}}
    password: {value: {get_input: password}}
    address: {value: {get_attribute: [shop, ip]}}
`

// page returns a template with one ConfigMap.
func page(name, text string) string {
	return fmt.Sprintf(`tosca_definitions_version: tosca_simple_yaml_1_3
topology_template:
  node_templates:
    page:
      type: tosca.nodes.indigo.KubernetesObject
      properties: {spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {text: %s}}}
`, name, text)
}

// inline returns a spec with an inline template. The other arguments are YAML to add below spec.tosca
// and below spec.
func inline(template, beside, below string) string {
	return "tosca:\n  template: |\n    " + strings.ReplaceAll(strings.TrimSpace(template), "\n", "\n    ") + "\n" + beside + "\n" + below
}

// archive returns a CSAR with one template, in base64.
func archive(t *testing.T, template string) string {
	t.Helper()
	var raw bytes.Buffer
	w := zip.NewWriter(&raw)
	for _, file := range [][2]string{
		{"TOSCA-Metadata/TOSCA.meta", "TOSCA-Meta-File-Version: 1.1\nCSAR-Version: 1.1\nCreated-By: test\nEntry-Definitions: main.yaml\n"},
		{"main.yaml", template},
	} {
		f, err := w.Create(file[0])
		require.NoError(t, err)
		_, err = f.Write([]byte(file[1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return base64.StdEncoding.EncodeToString(raw.Bytes())
}

// LookAgain requests a reconcile and waits until it is done.
func (f *fixture) LookAgain(name string) {
	f.t.Helper()
	request := time.Now().Format(time.RFC3339Nano)
	f.Patch("user", applications, name, fmt.Sprintf(`{metadata: {annotations: {%s: %q}}}`, v1alpha1.AnnotationReconcile, request))
	f.AwaitApplication(name, "looked at again", func(app *v1alpha1.Application) bool { return app.Status.ReconcileRequest == request })
}

// AwaitNotRendered waits until the condition Rendered is false for a reason, and returns
// the Application and the message.
func (f *fixture) AwaitNotRendered(name, reason string) (*v1alpha1.Application, string) {
	f.t.Helper()
	app := f.AwaitApplication(name, "not rendered because "+reason, func(app *v1alpha1.Application) bool {
		rendered := condition(app, v1alpha1.ConditionRendered)
		return rendered.Status == metav1.ConditionFalse && rendered.Reason == reason
	})
	return app, condition(app, v1alpha1.ConditionRendered).Message
}

func TestATemplateIsHeld(t *testing.T) {
	f := given(t)
	f.Submit("app", inline(shop, "  inputs: {mode: test, replicas: 2}", ""))

	app := f.AwaitHeld("app")

	deployment := f.Get(deployments, "shop")
	assert.Equal(t, int64(2), value(deployment, "spec", "replicas"))
	assert.Equal(t, "test", value(f.Get(configMaps, "shop"), "data", "MODE"))
	assert.Equal(t, "none", decoded(t, f.Get(secrets, "shop"), "password"))
	assert.Len(t, app.Status.SourceDigest, 64)
	assert.Len(t, app.Status.ManifestDigest, 64)
	assert.JSONEq(t, `{"mode": "test"}`, string(app.Status.Outputs.Raw), "no output is sensitive, and none needs what runs")
	assert.Empty(t, app.Spec.Manifest, "the spec is the user's")
	assert.Equal(t, "3 resources", condition(app, v1alpha1.ConditionRendered).Message)
	f.Quiet(quiet)

	// Nothing is requested at rest.
	f.Mark()
	f.Quiet(2 * quiet)
	assert.Empty(t, f.Requests())

	// Drift is corrected.
	f.Patch("mallory", configMaps, "shop", `{data: {MODE: hacked, more: stays}}`)
	f.Patch("mallory", deployments, "shop", `{spec: {replicas: 7}}`)
	f.AwaitValue(configMaps, "shop", "test", "data", "MODE")
	f.AwaitValue(deployments, "shop", int64(2), "spec", "replicas")
	assert.Equal(t, "stays", value(f.Get(configMaps, "shop"), "data", "more"))
	f.Delete(secrets, "shop")
	f.Await(secrets, "shop", "there again", func(object map[string]any) bool { return object != nil })

	// A changed template changes the plan: one object is created, one is updated, and two are deleted.
	before := f.AwaitHeld("app")
	f.Submit("app", inline(page("shop", "{get_input: mode}")+`    more:
      type: tosca.nodes.indigo.KubernetesObject
      properties: {spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: more}}}
  inputs: {mode: {type: string}}
`, "  inputs: {mode: next}", ""))
	f.AwaitGone(deployments, "shop")
	f.AwaitGone(secrets, "shop")
	app = f.AwaitReady("app")
	settings := f.Get(configMaps, "shop")
	assert.Equal(t, "next", value(settings, "data", "text"))
	assert.Nil(t, value(settings, "data", "MODE"), "a field that left the template is removed")
	assert.Equal(t, "stays", value(settings, "data", "more"))
	assert.NotNil(t, f.Get(configMaps, "more"))
	assert.NotEqual(t, before.Status.SourceDigest, app.Status.SourceDigest)
	assert.NotEqual(t, before.Status.ManifestDigest, app.Status.ManifestDigest)
	assert.Nil(t, app.Status.Outputs)

	// Other changes to the spec do not concern the source.
	f.Patch("user", applications, "app", `{spec: {suspend: true}}`)
	suspended := f.AwaitApplication("app", "suspended", func(app *v1alpha1.Application) bool {
		return condition(app, v1alpha1.ConditionReady).Reason == v1alpha1.ReasonSuspended
	})
	assert.Equal(t, app.Status.SourceDigest, suspended.Status.SourceDigest)
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	assert.Nil(t, f.Get(configMaps, "shop"))
}

func TestTheObserverSchemaHoldsWhatATemplateMakes(t *testing.T) {
	f := given(t)
	f.Submit("app", inline(shop, "  inputs: {mode: test}", `
observerSchema:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: shop}, data: {MODE: observed, LEARNED: observed}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: shop}, spec: {replicas: observed}}`))
	f.AwaitHeld("app")
	f.Patch("operator", configMaps, "shop", `{data: {MODE: hacked, free: stays}}`)
	f.Patch("operator", deployments, "shop", `{metadata: {labels: {free: stays}}, spec: {replicas: 9, minReadySeconds: 5}}`)
	f.AwaitValue(configMaps, "shop", "test", "data", "MODE")
	deployment := f.AwaitValue(deployments, "shop", int64(3), "spec", "replicas")
	assert.Equal(t, int64(5), value(deployment, "spec", "minReadySeconds"))

	f.Submit("app", inline(shop, "", `
observerSchema:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: shops}, data: {MODE: observed}}`))
	_, message := f.AwaitReason("app", v1alpha1.ReasonObserverSchemaInvalid)
	assert.Contains(t, message, "shops")
}

func TestATemplateWithMistakesDoesNothing(t *testing.T) {
	t.Parallel()
	wrong := strings.Replace(shop, "indigo.KubernetesObject", "indigo.KubernetesObjekt", 1)
	for _, row := range []struct {
		name, spec string
		messages   []string
	}{
		{name: "two mistakes", spec: inline(wrong, "  inputs: {mod: x}", ""), messages: []string{
			`spec.tosca.template:3:3: inputs: unknown input "mod": did you mean mode?`,
			"spec.tosca.template:9:7: node_templates.shop.type: the node type",
		}},
		{name: "an input out of range", spec: inline(shop, "  inputs: {replicas: 9}", ""), messages: []string{
			"spec.tosca.template:5:5: inputs.replicas: value 9 is not in range [1, 5]",
		}},
		{name: "a secret of another type", spec: inline(shop, "  inputs: {password: [hunter2]}", ""), messages: []string{
			"inputs.password: (hidden) is not a string",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := given(t)
			f.Submit("app", row.spec)
			app, message := f.AwaitNotRendered("app", v1alpha1.ReasonTranslationFailed)
			for _, part := range row.messages {
				assert.Contains(t, message, part)
			}
			assert.NotContains(t, message, "hunter2")
			assert.Equal(t, v1alpha1.ReasonTranslationFailed, condition(app, v1alpha1.ConditionStalled).Reason)
			assert.Equal(t, v1alpha1.ReasonTranslationFailed, condition(app, v1alpha1.ConditionReady).Reason)
			f.Quiet(quiet)
			assert.Empty(t, f.touched())

			// The corrected template is held.
			f.Submit("app", inline(shop, "", ""))
			f.AwaitHeld("app")
			f.Quiet(time.Second)
			f.Mark()

			// When the template breaks again, the objects stay as they are, but drift is not corrected.
			f.Submit("app", row.spec)
			_, message = f.AwaitNotRendered("app", v1alpha1.ReasonTranslationFailed)
			assert.Contains(t, message, "Until then nothing is created, corrected or deleted")
			f.Quiet(quiet)
			assert.Empty(t, f.touched())
			f.Delete(applications, "app")
			f.AwaitGone(applications, "app")
			assert.Nil(t, f.Get(configMaps, "shop"))
		})
	}
}

func TestATemplateThatWouldNotFitIsRefused(t *testing.T) {
	f := given(t)
	var text strings.Builder
	// A small template can produce large manifests.
	fmt.Fprintf(&text, "tosca_definitions_version: tosca_simple_yaml_1_3\ntopology_template:\n  inputs: {key: {type: string, default: %s}}\n  node_templates:\n", noise(130))
	for i := range 12 {
		fmt.Fprintf(&text, "    n%d:\n      type: tosca.nodes.indigo.KubernetesObject\n      properties: {spec: {apiVersion: v1, kind: Secret, metadata: {name: bulk-%d}, stringData: {key: {get_input: key}}}}\n", i, i)
	}
	f.Submit("app", inline(text.String(), "", ""))
	f.AwaitReason("app", v1alpha1.ReasonManifestTooLarge)
	f.Quiet(time.Second)
	assert.Empty(t, f.touched())
}

func TestAnArchiveMayBeInAConfigMapOrASecret(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ kind, field, ref string }{
		{"ConfigMap", "binaryData", "configMapRef"},
		{"Secret", "data", "secretRef"},
	} {
		t.Run(row.kind, func(t *testing.T) {
			f := given(t)
			resource := configMaps
			if row.kind == "Secret" {
				resource = secrets
			}
			f.Submit("app", fmt.Sprintf("csar: {%s: {name: archive, key: shop.csar}}", row.ref))
			app, message := f.AwaitNotRendered("app", v1alpha1.ReasonFetchFailed)
			assert.Equal(t, fmt.Sprintf("%s %s/archive does not exist", row.kind, f.namespace), message)
			assert.Empty(t, condition(app, v1alpha1.ConditionStalled).Reason, "it may appear")
			f.Create("user", fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: {name: archive}, %s: {shop.csar: %q}}", row.kind, row.field, archive(t, page("page", "one"))))
			f.LookAgain("app")
			f.AwaitReady("app")
			assert.Equal(t, "one", value(f.Get(configMaps, "page"), "data", "text"))

			// Another archive leads to another plan.
			before := f.Application("app").Status
			f.Patch("user", resource, "archive", fmt.Sprintf("{%s: {shop.csar: %q}}", row.field, archive(t, page("page", "two"))))
			f.LookAgain("app")
			f.AwaitValue(configMaps, "page", "two", "data", "text")
			f.AwaitReady("app")
			after := f.Application("app").Status
			assert.NotEqual(t, before.SourceDigest, after.SourceDigest)
			assert.NotEqual(t, before.ManifestDigest, after.ManifestDigest)

			// An invalid archive is rejected, and the manifests of the last valid one stay held.
			f.Patch("user", resource, "archive", fmt.Sprintf("{%s: {shop.csar: %q}}", row.field, base64.StdEncoding.EncodeToString([]byte("PK\x03\x04hunter2"))))
			f.LookAgain("app")
			app, message = f.AwaitNotRendered("app", v1alpha1.ReasonTranslationFailed)
			assert.Contains(t, message, row.kind+" archive, key shop.csar: ")
			assert.Contains(t, message, "the manifests of the last translation remain in use")
			assert.NotContains(t, message, "hunter2")
			assert.Equal(t, metav1.ConditionTrue, condition(app, v1alpha1.ConditionHeld).Status)
			f.Patch("mallory", configMaps, "page", `{data: {text: hacked}}`)
			f.AwaitValue(configMaps, "page", "two", "data", "text")

			// Without the archive, the Application can still be deleted.
			f.Delete(resource, "archive")
			f.Delete(applications, "app")
			f.AwaitGone(applications, "app")
			assert.Nil(t, f.Get(configMaps, "page"))
		})
	}
}

func TestInputsComeFromConfigMapsAndSecrets(t *testing.T) {
	const password, next = "canary-hunter2-first", "canary-hunter2-next"
	f := given(t)
	f.Create("user", `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {mode: test, replicas: "4"}}`)
	f.Create("user", `{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {password: `+password+`}}`)
	f.Submit("app", inline(shop, "  inputsFrom: [{configMapRef: {name: settings}}, {secretRef: {name: login}}]\n  inputs: {replicas: 5}", ""))
	before := f.AwaitHeld("app")
	assert.Equal(t, "test", value(f.Get(configMaps, "shop"), "data", "MODE"))
	assert.Equal(t, int64(5), value(f.Get(deployments, "shop"), "spec", "replicas"))
	assert.Equal(t, password, decoded(t, f.Get(secrets, "shop"), "password"))

	// A new password changes only the Secret that the template generates.
	f.Patch("user", secrets, "login", `{stringData: {password: `+next+`}}`)
	f.LookAgain("app")
	f.eventually("the new password", func() bool { return decoded(t, f.Get(secrets, "shop"), "password") == next })
	after := f.AwaitHeld("app")
	assert.Equal(t, before.Status.SourceDigest, after.Status.SourceDigest)
	assert.Equal(t, before.Status.ManifestDigest, after.Status.ManifestDigest)
	f.Patch("mallory", secrets, "shop", `{stringData: {password: hacked}}`)
	f.eventually("the password again", func() bool { return decoded(t, f.Get(secrets, "shop"), "password") == next })

	// An error message does not contain the password, either.
	f.Submit("app", inline(strings.Replace(shop, "password: {type: string, default: none}", "password: {type: integer}", 1),
		"  inputsFrom: [{secretRef: {name: login}}]", ""))
	_, message := f.AwaitNotRendered("app", v1alpha1.ReasonTranslationFailed)
	assert.Contains(t, message, "inputs.password: (hidden) is not an integer")
	f.Quiet(time.Second)
	f.nowhereElse(password, next)

	// A missing Secret does not block the deletion.
	f.Delete(secrets, "login")
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	assert.Nil(t, f.Get(secrets, "shop"))
}

func TestInputsAreReadWithTheRightsOfTheAccount(t *testing.T) {
	f := given(t)
	f.Create("user", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: reader}}`)
	f.Create("user", `{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {password: hunter2}}`)
	spec := inline(shop, "  inputsFrom: [{secretRef: {name: login}}]", "")
	f.Submit("app", spec+"serviceAccountName: reader")
	_, message := f.AwaitNotRendered("app", v1alpha1.ReasonForbidden)
	assert.Contains(t, message, "may not get Secret "+f.namespace+"/login")
	assert.Contains(t, message, "kubectl create rolebinding reader -n "+f.namespace)
	f.Quiet(time.Second)
	assert.Empty(t, f.touched())

	// Another account may solve the problem, so the controller retries at once.
	f.Submit("app", spec)
	f.AwaitHeld("app")
}

func TestWithoutAnAllowedPrefixNoURLIsFetched(t *testing.T) {
	f := given(t)
	for name, spec := range map[string]string{
		"template": `tosca: {url: "https://example.com/shop.yaml?token=hunter2"}`,
		"archive":  `csar: {url: "https://example.com/shop.csar?token=hunter2"}`,
		"import":   inline("tosca_definitions_version: tosca_simple_yaml_1_3\nimports: ['https://example.com/types.yaml?token=hunter2']", "", ""),
	} {
		f.Submit(name, spec)
		app, message := f.AwaitNotRendered(name, v1alpha1.ReasonSourceNotAllowed)
		assert.Contains(t, message, "https://example.com/")
		assert.Contains(t, message, "the controller fetches no URLs: its --allow-url-prefix is empty")
		assert.NotContains(t, message, "hunter2")
		assert.Equal(t, v1alpha1.ReasonSourceNotAllowed, condition(app, v1alpha1.ConditionStalled).Reason)
	}
}
