package hooks_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
)

func appWithHooks(h v1alpha1.Hooks) *v1alpha1.Application {
	return &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop", UID: "uid"},
		Spec:       v1alpha1.ApplicationSpec{Hooks: &h},
	}
}

// pod returns a Pod with the spec given as YAML.
func pod(t *testing.T, namespace, spec string) manifest.Object {
	t.Helper()
	documents, err := manifest.Read("", []byte("{apiVersion: v1, kind: Pod, metadata: {name: work}, spec: "+spec+"}"))
	require.NoError(t, err)
	return manifest.Object{ID: manifest.ID{Kind: "Pod", Namespace: namespace, Name: "work"}, APIVersion: "v1", Content: documents[0].Value}
}

func specOf(o manifest.Object) map[string]any { return o.Content["spec"].(map[string]any) }

func firstContainer(o manifest.Object) map[string]any {
	return specOf(o)["containers"].([]any)[0].(map[string]any)
}

var (
	ours = map[string]any{"name": "holdfast-callback", "secret": map[string]any{
		"secretName": "shop-hooks", "items": []any{map[string]any{"key": "ca.crt", "path": "ca.crt"}},
	}}
	ourMount = map[string]any{"name": "holdfast-callback", "mountPath": "/var/run/secrets/holdfast.dev/callback", "readOnly": true}
)

// The manifest has precedence: a Pod with two mounts at one path, or with the bundle in another volume,
// would not start.
func TestMangleKeepsConflictingMounts(t *testing.T) {
	complete := v1alpha1.Hooks{Complete: &v1alpha1.CompleteHook{}}
	for _, row := range []struct {
		name, spec      string
		volumes, mounts []any
		warnings        []string
	}{
		{"nothing", `{containers: [{name: a}]}`, []any{ours}, []any{ourMount}, nil},
		{
			"a volume of that name",
			`{containers: [{name: a}], volumes: [{name: holdfast-callback, emptyDir: {}}]}`,
			[]any{map[string]any{"name": "holdfast-callback", "emptyDir": map[string]any{}}}, nil,
			[]string{"Pod default/work: it already has a volume holdfast-callback, so ca.crt is not mounted"},
		},
		{
			"a mount at that place",
			`{containers: [{name: a, volumeMounts: [{name: own, mountPath: /var/run/secrets/holdfast.dev/callback}]}], volumes: [{name: own, emptyDir: {}}]}`,
			[]any{map[string]any{"name": "own", "emptyDir": map[string]any{}}, ours},
			[]any{map[string]any{"name": "own", "mountPath": "/var/run/secrets/holdfast.dev/callback"}},
			[]string{"Pod default/work: container a already mounts holdfast-callback, or another volume at /var/run/secrets/holdfast.dev/callback, which is not changed"},
		},
		{
			"the volume mounted elsewhere",
			`{containers: [{name: a, volumeMounts: [{name: holdfast-callback, mountPath: /ca}]}]}`,
			[]any{ours}, []any{map[string]any{"name": "holdfast-callback", "mountPath": "/ca"}},
			[]string{"Pod default/work: container a already mounts holdfast-callback, or another volume at /var/run/secrets/holdfast.dev/callback, which is not changed"},
		},
		{
			"what was copied from a live Pod",
			`{containers: [{name: a, volumeMounts: [{name: holdfast-callback, mountPath: /var/run/secrets/holdfast.dev/callback, readOnly: true}]}],
  volumes: [{name: holdfast-callback, secret: {secretName: shop-hooks, items: [{key: ca.crt, path: ca.crt}]}}]}`,
			[]any{ours}, []any{ourMount}, nil,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := &hooks.Mangling{Application: appWithHooks(complete), Objects: []manifest.Object{pod(t, "default", row.spec)}}
			require.NoError(t, hooks.Callback{URL: "https://callback.example.com", CA: []byte("bundle")}.Mangle(m))
			work := m.Objects[1]
			assert.Equal(t, row.volumes, specOf(work)["volumes"])
			mounts, _ := firstContainer(work)["volumeMounts"].([]any)
			assert.Equal(t, row.mounts, mounts)
			assert.Equal(t, row.warnings, m.Warnings)
			assert.Len(t, firstContainer(work)["env"], 2)
		})
	}
}

func TestDuplicateVariablesAreRejected(t *testing.T) {
	for _, h := range []v1alpha1.Hooks{
		{Complete: &v1alpha1.CompleteHook{URLVariable: "X", TokenVariable: "X"}},
		{Complete: &v1alpha1.CompleteHook{URLVariable: "HOLDFAST_SHUTDOWN_URL"}, Shutdown: &v1alpha1.ShutdownHook{Service: "a", Port: 1}},
	} {
		m := &hooks.Mangling{Application: appWithHooks(h), Objects: []manifest.Object{pod(t, "default", "{containers: [{name: a}]}")}}
		assert.ErrorContains(t, hooks.Callback{URL: "https://callback.example.com"}.Mangle(m), "two variables have the name")
	}
}

// liveSecret returns the live Secret of the hooks.
func liveSecret(uid string, data map[string]string) map[string]any {
	encoded := map[string]any{}
	for key, text := range data {
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return map[string]any{
		"metadata": map[string]any{"name": "shop-hooks", "labels": map[string]any{v1alpha1.LabelApplicationUID: uid}}, "data": encoded,
	}
}

// Without the callback server, the address in the existing Secrets remains the desired one, also for new Pods
// and hooks.
func TestExistingAddressIsKept(t *testing.T) {
	const address = "https://callback.example.com/v1/applications/default/shop/complete"
	id := manifest.ID{Kind: "Secret", Namespace: "default", Name: "shop-hooks"}
	for _, row := range []struct {
		name string
		live map[string]any
		// bundle reports whether Pods mount it; wrong is the error of NeedAddresses
		bundle bool
		wrong  string
	}{
		{"with a bundle", liveSecret("uid", map[string]string{"complete-url": address, "ca.crt": "bundle"}), true, ""},
		{"without one", liveSecret("uid", map[string]string{"complete-url": address}), false, ""},
		{"nothing from before", nil, true, "which is off"},
		{"of another client", liveSecret("other", map[string]string{"complete-url": address}), true, "which is off"},
		{"of no callback", liveSecret("uid", map[string]string{"complete-url": "https://example.com"}), true, "which is off"},
	} {
		t.Run(row.name, func(t *testing.T) {
			app := appWithHooks(v1alpha1.Hooks{Complete: &v1alpha1.CompleteHook{}, Reconcile: &v1alpha1.ReconcileHook{}})
			m := &hooks.Mangling{
				Application: app, Live: map[manifest.ID]map[string]any{id: row.live},
				Objects: []manifest.Object{pod(t, "default", "{containers: [{name: a}]}"), pod(t, "elsewhere", "{containers: [{name: a}]}")},
			}
			require.NoError(t, hooks.Callback{}.Mangle(m))
			require.Len(t, m.Objects, 4)
			for i, name := range []string{"default", "elsewhere"} {
				secret := m.Objects[i]
				assert.Equal(t, name, secret.ID.Namespace)
				data := secret.Content["data"].(map[string]any)
				if row.wrong == "" {
					assert.Equal(t, base64.StdEncoding.EncodeToString([]byte(address)), data["complete-url"])
					assert.Equal(t, base64.StdEncoding.EncodeToString([]byte("https://callback.example.com/v1/applications/default/shop/reconcile")), data["reconcile-url"])
				}
				assert.Equal(t, row.bundle, data["ca.crt"] != nil)
				assert.Equal(t, row.bundle, specOf(m.Objects[2+i])["volumes"] != nil)
			}
			err := hooks.NeedAddresses(m)
			if row.wrong == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, row.wrong)
		})
	}
}
