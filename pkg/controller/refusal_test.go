package controller_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// bulky returns a spec with n ConfigMaps or Secrets, each with the given size in KiB.
func bulky(kind string, n, kib int) string {
	var text strings.Builder
	text.WriteString("manifest:\n")
	for i := range n {
		fmt.Fprintf(&text, "- {apiVersion: v1, kind: %s, metadata: {name: bulk-%d}, %s: {key: %s}}\n", kind, i, map[string]string{"ConfigMap": "data", "Secret": "stringData"}[kind], noise(kib))
	}
	return text.String()
}

// noise returns text that hardly compresses.
func noise(kib int) string {
	raw := make([]byte, kib<<10*3/4)
	_, _ = rand.NewChaCha8([32]byte{}).Read(raw)
	return base64.StdEncoding.EncodeToString(raw)
}

// Slices never contain values of Secrets.
func TestAnApplicationWhoseSecretsDoNotFit(t *testing.T) {
	f := given(t)
	f.Submit("app", bulky("Secret", 8, 180))

	app, message := f.AwaitReason("app", v1alpha1.ReasonManifestTooLarge)

	assert.Contains(t, message, "KiB")
	assert.Contains(t, message, "split it")
	assert.Equal(t, v1alpha1.ReasonManifestTooLarge, condition(app, v1alpha1.ConditionStalled).Reason)
	f.Quiet(quiet)
	// Such a spec leaves no room for the record.
	assert.Equal(t, map[string]int{"create applicationslices": 1, "patch applications/status": 1}, counts(withoutEvents(f.Requests())))

	// Then: a spec that fits is created.
	f.Submit("app", bulky("Secret", 4, 180))
	f.AwaitReady("app")
	f.Quiet(quiet) // the slice of the rejected spec is deleted
	// And: when the spec outgrows the limit again, the existing objects stay.
	f.Mark()
	f.Submit("app", bulky("Secret", 8, 180))
	f.AwaitReason("app", v1alpha1.ReasonManifestTooLarge)
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"create applicationslices": 1, "patch applications/status": 1}, counts(withoutEvents(f.Requests())))
	assert.NotNil(t, f.Get(secrets, "bulk-0"))
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	assert.Nil(t, f.Get(secrets, "bulk-0"))
}

// Nothing of a spec is decoded that would take too much memory. It is not retried, and its deletion works.
func TestASpecThatIsTooLarge(t *testing.T) {
	f := given(t)
	f.Submit("app", configs(2))
	f.AwaitReady("app")
	f.Quiet(quiet)
	for field, rest := range map[string]string{"manifest": "", "observerSchema": configs(2)} {
		f.Mark()
		f.Submit("app", rest+field+": ["+strings.Repeat("{}, ", 20_000)+"{}]\n")
		app, message := f.AwaitReason("app", v1alpha1.ReasonTooLarge)
		assert.Contains(t, message, "spec."+field+" has 20001 elements, more than the limit of 20000")
		assert.Equal(t, v1alpha1.ReasonTooLarge, condition(app, v1alpha1.ConditionStalled).Reason)
		assert.Len(t, app.Status.Resources, 2, "nothing is forgotten")
		f.Patch("mallory", configMaps, "config-0", `{data: {key: changed}}`)
		f.Quiet(time.Second)
		assert.Equal(t, map[string]int{"patch applications/status": 1}, counts(withoutEvents(f.Requests())), field)
	}
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	assert.Nil(t, f.Get(configMaps, "config-0"))
	assert.Nil(t, f.Get(configMaps, "config-1"))
}

// The status contains the spec once, because held fields have their desired values. The limit of etcd
// is 1.5 MiB.
func TestSizesAroundTheLimitAreHeld(t *testing.T) {
	f := given(t)
	for _, kib := range []int{80, 92} {
		f.Submit("app", bulky("ConfigMap", 8, kib))
		f.AwaitApplication("app", "held", func(app *v1alpha1.Application) bool {
			return app.Status.ObservedGeneration == app.Generation && condition(app, v1alpha1.ConditionReady).Status == metav1.ConditionTrue
		})
		f.Patch("mallory", configMaps, "bulk-3", `{data: {key: small}}`)
		f.Await(configMaps, "bulk-3", "corrected", func(object map[string]any) bool { return value(object, "data", "key") != "small" })
		f.Quiet(quiet)
	}
}

func TestAllFaultsOfTheInputAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, spec, reason string
		faults             []string
	}{
		{
			name: "of manifests",
			spec: `
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {key: ours}}
- {apiVersion: v1, metadata: {name: without-kind}}
- {apiVersion: v1, kind: ConfigMap, metadata: {}}
- {apiVersion: v1, kind: ConfigMap, metadata: {generateName: made-up-}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: not/a/name}}
- {apiVersion: v1, kind: List, items: []}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: twice}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: twice, namespace: $NS}}
`,
			reason: v1alpha1.ReasonManifestInvalid,
			faults: []string{"manifest[1]", "manifest[2]", "manifest[3]", "manifest[4]", "manifest[5]", "manifest[7]"},
		},
		{
			name: "of schemas",
			spec: `
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {key: ours}}
- {apiVersion: v1, kind: Service, metadata: {name: service}, spec: {ports: [{port: 80}]}}
observerSchema:
- {apiVersion: v1, kind: Service, metadata: {name: service}, spec: {ports: [{port: observed}]}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {key: 5}}
- {apiVersion: v1, kind: ConfigMap, metadata: {}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: new, uid: observed}}
`,
			reason: v1alpha1.ReasonObserverSchemaInvalid,
			faults: []string{"observerSchema[0]", "spec.ports", "observerSchema[1]", "data.key", "observerSchema[2]", "observerSchema[3]", "metadata.uid"},
		},
		{
			name: "of schemas that fit no manifest",
			spec: `
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {key: ours}}
- {apiVersion: v1, kind: Service, metadata: {name: service}, spec: {ports: [{port: 80}]}}
observerSchema:
- {apiVersion: v1, kind: Service, metadata: {name: service}, spec: {ports: {port: observed}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: nowhere}, data: {key: observed}}
`,
			reason: v1alpha1.ReasonObserverSchemaInvalid,
			faults: []string{"observerSchema[0]", "observerSchema[1]"},
		},
		{
			name: "of both",
			spec: `
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {}}
observerSchema:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {key: 5}}
`,
			reason: v1alpha1.ReasonManifestInvalid,
			faults: []string{"manifest[0]", "observerSchema[0]"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := given(t)
			// Given an Application that holds an object,
			f.Submit("app", oneConfig)
			f.AwaitReady("app")
			f.Quiet(time.Second)
			before := f.Get(configMaps, "config")
			// when the new spec is invalid and does not contain that object,
			f.Mark()
			f.Submit("app", row.spec)

			app, message := f.AwaitReason("app", row.reason)

			for _, fault := range row.faults {
				assert.Contains(t, message, fault)
			}
			assert.Equal(t, row.reason, condition(app, v1alpha1.ConditionRendered).Reason)
			assert.Equal(t, row.reason, condition(app, v1alpha1.ConditionStalled).Reason)
			f.Quiet(quiet)
			assert.Empty(t, f.touched())
			assert.Equal(t, before, f.Get(configMaps, "config"))
			assert.Len(t, app.Status.Resources, 1, "the inventory is unchanged")

			// then the corrected spec leads to the same result as without the mistake.
			f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {key: ours}}]}`)
			f.AwaitReady("app")
			assert.NotNil(t, f.Get(configMaps, "new"))
			assert.Nil(t, f.Get(configMaps, "config"))
		})
	}
}

func TestOneRejectionDoesNotStopTheRest(t *testing.T) {
	f := given(t)
	f.Submit("app", `
manifest:
- {apiVersion: v1, kind: Service, metadata: {name: bad}, spec: {ports: [{port: 99999}]}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, data: {key: {not: text}}}
- {apiVersion: v1, kind: Secret, metadata: {name: bad}, type: kubernetes.io/tls, data: {tls.crt: Y2FuYXJ5}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: there-is-no-such-namespace}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: good}, data: {key: ours}}
`)
	app := f.AwaitApplication("app", "refused in part", func(app *v1alpha1.Application) bool {
		reasons := map[string]bool{}
		for _, r := range app.Status.Resources {
			reasons[r.Reason] = true
		}
		return reasons[v1alpha1.ReasonRejected] && len(reasons) > 1
	})
	held := condition(app, v1alpha1.ConditionHeld).Message
	assert.Contains(t, held, "spec.ports[0].port")
	assert.NotContains(t, held, "canary")
	assert.NotContains(t, held, "Y2FuYXJ5")
	f.AwaitValue(configMaps, "good", "ours", "data", "key")
	assert.Nil(t, f.Get(secrets, "bad"))
}
