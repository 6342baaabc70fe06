package controller_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/adler32"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/cli"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// cannotBe maps each golden case that no API server can contain to the reason.
var cannotBe = map[string]string{
	"hook-fields-are-observed-under-a-user-schema":             "a hook of the test makes its plan",
	"a-schema-finds-a-cluster-scoped-kind-despite-a-namespace": "no API server has a PriorityClass in a namespace",
	"adoption-removes-no-elements-of-a-list":                   "a Pod needs a ServiceAccount with a token",
	"server-added-fields-are-kept-after-a-crash":               "a Pod needs a ServiceAccount with a token",
	"a-duplicate-key-of-another-client-has-no-effect":          "no variable may have a value that is no text",
	"an-object-that-is-being-deleted-is-not-written":           "no client can create an object that is being deleted",
	"keys-with-slash-tilde-dot-and-quotes-are-corrected":       "no ConfigMap may have such keys",
	"each-selected-object-is-held":                             "it selects the namespaces of all cases",
	"a-label-that-is-selected-by-may-be-held":                  "it selects the namespaces of all cases",
	"a-selection-that-releases-its-own-objects-is-invalid":     "it selects the namespaces of all cases",
	"objects-are-selected-by-labels-names-and-namespaces":      "its objects are in other namespaces",
	"values-of-a-selected-object-may-be-its-own-name":          "it selects in the namespaces of all cases",
	"the-namespace-of-a-shared-object-is-not-held":             "its object is in another namespace",
}

// TestPlanMatchesController creates golden cases on a real API server. The CLI plans each case, and
// then a controller reconciles it.
func TestPlanMatchesController(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.grantAll()
	f.defineExamples()
	directories, err := filepath.Glob("../../testdata/plan/*")
	require.NoError(t, err)
	directories = slices.DeleteFunc(directories, func(directory string) bool { return !sampled(filepath.Base(directory)) })
	directories = append(directories, slices.Sorted(maps.Keys(disagreed))...)
	var mu sync.Mutex
	var cases []*agreement
	t.Run("given", func(t *testing.T) {
		for _, directory := range directories {
			name := filepath.Base(directory)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if cannotBe[name] != "" || strings.HasPrefix(name, "worked-example-") { // needs hooks of a test
					return
				}
				if _, err := os.Stat(filepath.Join(directory, "profiles.yaml")); err == nil {
					return // a profile applies to all cases, see profiles_test.go
				}
				c, err := f.put(t, name, readCase(t, directory))
				require.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				cases = append(cases, c)
			})
		}
	})
	require.NotEmpty(t, cases)

	f.Mark()
	f.Run(controller.Options{Callback: func() hooks.Callback {
		return hooks.Callback{URL: "https://callback.example.com", CA: []byte("a bundle")} // never called
	}})
	for _, c := range cases {
		c.f.t, c.f.mark = t, f.mark
		c.f.AwaitApplication(c.app, "looked at", func(app *v1alpha1.Application) bool { return len(app.Status.Conditions) > 0 })
	}
	f.Quiet(quiet)
	for _, c := range cases {
		t.Run(c.name, c.check)
	}
}

// sampled reports whether to run a golden case. The short run takes a quarter of the cases, which
// covers every action.
func sampled(name string) bool {
	return samples.Of(adler32.Checksum([]byte(name))%4 == 0, true)
}

// disagreed lists cases in which the CLI and the controller once disagreed.
var disagreed = map[string][3]string{
	"a kind that cannot be watched": {`
apiVersion: holdfast.dev/v1alpha1
kind: Application
metadata: {name: shop, namespace: default}
spec:
  manifest:
  - {apiVersion: authentication.k8s.io/v1, kind: TokenReview, metadata: {name: review}, spec: {token: none}}
`},
	"a part of an object that exists": {`
apiVersion: holdfast.dev/v1alpha1
kind: Application
metadata: {name: shop, namespace: default}
spec:
  manifest:
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3}}
`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}}
`},
	"a part of an adopted object": {`
apiVersion: holdfast.dev/v1alpha1
kind: Application
metadata: {name: shop, namespace: default}
spec:
  adoption: IfUnowned
  manifest:
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3}}
`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}}
`},
}

// agreement is a golden case on an API server, with its plan.
type agreement struct {
	name, app string
	f         *fixture
	plan      planned
}

// planned contains the compared part of the output of `holdfast diff -o json`.
type planned struct {
	Application explain.ViewOwner
	Changes     []struct {
		Action   plan.Action
		Resource explain.ViewResource
		Problem  *explain.ViewProblem
	}
	refused string
}

// readCase reads the YAML files of a golden case.
func readCase(t *testing.T, directory string) [3]string {
	t.Helper()
	if texts, written := disagreed[directory]; written {
		return texts
	}
	var texts [3]string
	for i, name := range []string{"application.yaml", "live.yaml", "mangle.yaml"} {
		raw, err := os.ReadFile(filepath.Join(directory, name))
		if !os.IsNotExist(err) {
			require.NoError(t, err)
		}
		texts[i] = string(raw)
	}
	return texts
}

// defineExamples creates the CRDs of the golden cases.
func (f *fixture) defineExamples() {
	f.t.Helper()
	for kind, plural := range map[string]string{"Song": "songs", "Playlist": "playlists", "Artist": "artists", "Thing": "things", "Tune": "tunes"} {
		version := func(name string, storage bool) string {
			return fmt.Sprintf(`{name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`, name, storage)
		}
		require.NoError(f.t, f.cluster.Define(f.t.Context(), fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
  metadata: {name: %s.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: %s, plural: %s}, versions: [%s, %s]}}`,
			plural, kind, plural, version("v1", true), version("v1beta1", false)), plural+".example.com"))
	}
}

// grantAll grants all rights to all ServiceAccounts.
func (f *fixture) grantAll() {
	f.t.Helper()
	f.Create("user", `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: all}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccounts"}]`)
	f.eventually("the rights of all ServiceAccounts", func() bool {
		review := f.Create("user", `
apiVersion: authorization.k8s.io/v1
kind: SubjectAccessReview
spec: {user: anybody, groups: ["system:serviceaccounts"], resourceAttributes: {verb: create, group: apiextensions.k8s.io, resource: customresourcedefinitions}}`)
		allowed, _, _ := unstructured.NestedBool(review.Object, "status", "allowed")
		return allowed
	})
}

// complete adds the fields that the API server requires.
func complete(object map[string]any) {
	spec, _ := object["spec"].(map[string]any)
	switch object["kind"] {
	case "Deployment":
		labels := map[string]any{"app": "web"}
		observertest.Set(object, map[string]any{"matchLabels": labels}, "spec", "selector")
		if selector := spec["selector"]; selector != nil {
			observertest.Set(object, selector, "spec", "selector")
			labels, _ = observertest.Get(object, "spec", "selector", "matchLabels").(map[string]any)
		}
		for key, value := range labels {
			observertest.Set(object, value, "spec", "template", "metadata", "labels", key)
		}
		containers, _ := observertest.Get(object, "spec", "template", "spec", "containers").([]any)
		if len(containers) == 0 {
			containers = []any{map[string]any{"name": "web"}}
		}
		for _, container := range containers {
			if c := container.(map[string]any); c["image"] == nil {
				c["image"] = "web:1"
			}
		}
		observertest.Set(object, containers, "spec", "template", "spec", "containers")
	case "Service":
		ports, _ := spec["ports"].([]any)
		for i, port := range ports {
			p := port.(map[string]any)
			if delete(p, "nodePort"); len(ports) > 1 && p["name"] == nil {
				p["name"] = fmt.Sprint("port-", i)
			}
		}
		if spec["ports"] == nil {
			observertest.Set(object, []any{map[string]any{"port": int64(80)}}, "spec", "ports")
		}
	case "PersistentVolumeClaim":
		observertest.Set(object, []any{"ReadWriteOnce"}, "spec", "accessModes")
		observertest.Set(object, "1Gi", "spec", "resources", "requests", "storage")
	}
}

// put creates a golden case in a namespace of its own, with UIDs mapped, and plans it.
func (f *fixture) put(t *testing.T, name string, texts [3]string) (*agreement, error) {
	t.Helper()
	own := *f
	own.t = t
	own.namespace = f.cluster.Namespace(f.t) // the namespace outlives the subtest
	own.Create("user", fmt.Sprintf(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s}}`, applier))
	was := f.object(texts[0]).GetNamespace()
	mapped := strings.NewReplacer("namespace: "+was, "namespace: "+own.namespace, was+"/", own.namespace+"/").Replace
	app, live := own.object(mapped(texts[0])), []manifest.Document(nil)
	if texts[1] != "" {
		var err error
		if live, err = manifest.Read("live.yaml", []byte(mapped(texts[1]))); err != nil {
			return nil, err
		}
	}
	status, _ := app.Object["status"].(map[string]any)
	uids := map[string]string{}
	uid := string(app.GetUID())
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "finalizers", "managedFields"} {
		unstructured.RemoveNestedField(app.Object, "metadata", field)
	}
	app.SetFinalizers([]string{v1alpha1.Finalizer})
	client := own.in("user", applications)
	created, err := client.Create(t.Context(), app, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	uids[uid] = string(created.GetUID())
	for _, document := range live {
		if err := own.putLive(document.Value, created, uid == "", uids); err != nil {
			return nil, err
		}
	}
	if status != nil {
		created.Object["status"] = withUIDs(status, uids)
		if _, err := client.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}); err != nil {
			return nil, err
		}
	}
	return &agreement{name: name, app: created.GetName(), f: &own, plan: own.planned(t, created.GetName())}, nil
}

// putLive creates a live object. It adds the tracking metadata if the Application owns the object.
func (f *fixture) putLive(content map[string]any, app *unstructured.Unstructured, ours bool, uids map[string]string) error {
	u := &unstructured.Unstructured{Object: withUIDs(content, uids).(map[string]any)}
	was := string(u.GetUID())
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	if ours {
		gvk := u.GroupVersionKind()
		id := manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
		labels, annotations := u.GetLabels(), u.GetAnnotations()
		u.SetLabels(with(labels, v1alpha1.LabelApplicationUID, string(app.GetUID())))
		u.SetAnnotations(with(annotations, v1alpha1.AnnotationTrackingID, claim.TrackingID(f.decode(app.Object), id)))
	}
	complete(u.Object)
	client := f.in("somebody", resourceOf(u))
	if slices.Contains([]string{"Namespace", "Node", "PriorityClass"}, u.GetKind()) {
		client = f.As("somebody").Resource(resourceOf(u))
	}
	created, err := client.Create(f.t.Context(), u, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	uids[was] = string(created.GetUID())
	return nil
}

func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// withUIDs replaces the UIDs of the golden case with those from the API server.
func withUIDs(value any, uids map[string]string) any {
	switch value := value.(type) {
	case map[string]any:
		mapped := make(map[string]any, len(value))
		for name, child := range value {
			mapped[name] = withUIDs(child, uids)
		}
		return mapped
	case []any:
		mapped := make([]any, len(value))
		for i, child := range value {
			mapped[i] = withUIDs(child, uids)
		}
		return mapped
	case string:
		if uid := uids[value]; uid != "" && value != "" {
			return uid
		}
	}
	return value
}

// planned runs `holdfast diff` and returns the plan.
func (f *fixture) planned(t *testing.T, name string) (v planned) {
	t.Helper()
	var out, problems bytes.Buffer
	code := cli.Main(t.Context(), []string{"holdfast", "diff", name, "-o", "json", "-n", f.namespace, "--kubeconfig", f.cluster.Kubeconfig()}, cli.Streams{
		In: strings.NewReader(""), Out: &out, Err: &problems, Getenv: func(string) string { return "" }, Now: time.Now,
	})
	if v.refused = problems.String(); code == 2 {
		return v
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &v), "%s\n%s", out.String(), problems.String())
	return v
}

// check compares the plan with the requests of the controller. Failed requests count, because golden
// cases have short manifests and a real API server rejects some of them.
func (c *agreement) check(t *testing.T) {
	expected, asked := map[string]bool{}, map[string]bool{}
	for _, change := range c.plan.Changes {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion(change.Resource.APIVersion)
		u.SetKind(change.Resource.Kind)
		if verb := verbs[change.Action]; verb != "" && c.plan.Application.Mode != v1alpha1.ModeObserve && change.Resource.Namespace == c.f.namespace {
			expected[verb+" "+resourceOf(u).Resource+" "+change.Resource.Name] = true
		}
	}
	for _, r := range c.f.Requests().Writes() {
		isOwn := r.Resource == applications.Resource && r.Name == c.app
		if r.Namespace == c.f.namespace && !isOwn && r.Resource != events.Resource && r.Code != http.StatusConflict {
			asked[r.Verb+" "+r.Resource+" "+r.Name] = true
		}
	}
	assert.Equal(t, expected, asked, "%+v\n%s", c.plan, c.f.Requests())
}

// verbs maps actions to request verbs. A shared object is only ever patched.
var verbs = map[plan.Action]string{
	plan.Create: "create", plan.Update: "patch", plan.Delete: "delete", "hold": "patch", "restore": "patch", "release": "patch",
}
