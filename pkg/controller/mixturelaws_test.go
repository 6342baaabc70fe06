package controller_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// immutables are objects that contain immutable fields and other fields.
var immutables = map[string]string{
	"job": `{apiVersion: batch/v1, kind: Job, spec: {suspend: true, parallelism: 1, completions: 2, backoffLimit: 3,
		template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}`,
	"claimed": `{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 0, serviceName: a, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}},
		spec: {containers: [{name: a, image: "a:1"}]}}, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`,
	"settled":  `{apiVersion: v1, kind: ConfigMap, immutable: true, data: {key: a, other: b}}`,
	"binding":  `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: a}]}`,
	"priority": `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 5, description: a}`,
	"storage":  `{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: example.com/a, parameters: {a: b}, allowVolumeExpansion: true}`,
	"ingress":  `{apiVersion: networking.k8s.io/v1, kind: IngressClass, spec: {controller: example.com/a, parameters: {kind: A, name: a}}}`,
	"runtime":  `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, handler: a, overhead: {podFixed: {cpu: 1m}}}`,
	"claim":    `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
}

// mixtures is a control plane with an Application for each object of the laws: those with one of
// several fields, and those of forty shapes.
type mixtures struct {
	*fixture
	random  *rand.Rand
	objects []*unstructured.Unstructured
}

func givenMixtures(t *testing.T) *mixtures {
	t.Helper()
	f := givenAlone(t, testcluster.Options{})
	f.Create("user", fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %[1]s},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[1]s}]}`, f.namespace, applier))
	rules := plan.DefaultContestPolicy
	rules.Limit = 1_000_000 // contests have their own tests
	f.Run(controller.Options{Rules: rules})
	seed := uint64(time.Now().UnixNano())
	t.Logf("the seed is %d", seed)
	m := &mixtures{fixture: f, random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // only for test data
	for _, u := range unions {
		m.objects = append(m.objects, u.manifest(f))
	}
	repeated := f.object(podOf("", `, env: [{name: A, value: "1"}, {name: B, value: "2"}, {name: A, value: "3"}]`))
	repeated.SetName("repeated")
	m.objects = append(m.objects, repeated)
	for name, text := range immutables {
		object := f.object(text)
		object.SetName(name)
		m.objects = append(m.objects, object)
	}
	for _, item := range strings.Split(shaped, "\n- ")[1:] {
		m.objects = append(m.objects, f.object(strings.ReplaceAll(item, "\n  ", "\n")))
	}
	m.objects = append(m.objects, m.golden(samples.Of(0, 200))...)
	for i, object := range m.objects {
		m.submit(i, object, nil)
	}
	for i := range m.objects {
		f.AwaitHeld(m.name(i))
	}
	return m
}

// golden draws objects of the golden cases that the API server accepts.
func (m *mixtures) golden(n int) (objects []*unstructured.Unstructured) {
	m.t.Helper()
	if n == 0 {
		return nil
	}
	files, err := filepath.Glob("../../testdata/plan/*/application.yaml")
	require.NoError(m.t, err)
	m.random.Shuffle(len(files), func(i, k int) { files[i], files[k] = files[k], files[i] })
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(m.t, err)
		manifests, _, _ := unstructured.NestedSlice(m.object(string(raw)).Object, "spec", "manifest")
		for _, item := range manifests {
			content, _ := item.(map[string]any)
			object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": content["apiVersion"], "kind": content["kind"]}}
			maps.Copy(object.Object, contentOf(content))
			if object.SetName(fmt.Sprintf("golden-%d", len(objects))); len(object.Object) < 4 {
				continue // there is nothing to change
			}
			_, err := m.in("user", resourceOf(object)).Create(m.t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: "Strict"})
			if err == nil && len(objects) < n {
				objects = append(objects, object)
			}
		}
	}
	return objects
}

func (m *mixtures) name(i int) string {
	return strings.ToLower(m.objects[i].GetKind()) + "-" + fmt.Sprint(i)
}

// submit submits the Application of an object with this content of its manifest; nil for its own.
func (m *mixtures) submit(i int, object *unstructured.Unstructured, content map[string]any) {
	m.t.Helper()
	whole := observer.CopyMap(object.Object)
	maps.Copy(whole, content)
	m.submitObject(m.name(i), &unstructured.Unstructured{Object: whole}, v1alpha1.AdoptNever)
}

func (m *mixtures) live(i int) map[string]any {
	m.t.Helper()
	return m.Get(resourceOf(m.objects[i]), m.objects[i].GetName())
}

// TestLawOfIdentityOnAnAPIServer writes other content as another client. Afterwards each held field,
// and each list without keys as a whole, has its earlier value. A reason in the status counts only if
// the API server rejects the earlier object.
func TestLawOfIdentityOnAnAPIServer(t *testing.T) {
	m := givenMixtures(t)
	written := 0
	for range samples.Of(1, 20) {
		for i, object := range m.objects {
			before := m.live(i)
			foreign, ok := m.overwrite(i, before)
			if !ok {
				continue
			}
			written++
			wrong := ""
			err := m.until(func() bool {
				wrong = changed(intent.Offline().Type(object.GroupVersionKind()), "", contentOf(object.Object), contentOf(before), contentOf(m.live(i)))
				return wrong == ""
			})
			if err != nil && m.accepts(i, before) {
				app := m.Application(m.name(i))
				t.Fatalf("%s: %s\nmanifest %v\nbefore   %v\nforeign  %v\nafter    %v\nstatus   %+v", m.name(i), wrong,
					contentOf(object.Object), contentOf(before), contentOf(foreign), contentOf(m.live(i)), app.Status.Conditions)
			}
		}
	}
	t.Logf("%d writes of another client", written)
	assert.Greater(t, written, len(m.objects)/2, "the law has to be tried")
}

// TestLawOfNoMixtureOnAnAPIServer: a change of the manifest that the API server refuses as a whole
// changes nothing of the object.
func TestLawOfNoMixtureOnAnAPIServer(t *testing.T) {
	m := givenMixtures(t)
	refused := 0
	for range samples.Of(1, 10) {
		for i, object := range m.objects {
			before := m.live(i)
			next, ok := m.refusedManifest(i, before)
			if !ok {
				continue
			}
			refused++
			m.submit(i, object, next)
			m.AwaitReason(m.name(i), v1alpha1.ReasonRejected)
			if after := contentOf(m.live(i)); !observer.Equal(after, contentOf(before)) {
				t.Fatalf("%s is a mixture:\nbefore %v\nchange %v\nafter  %v", m.name(i), contentOf(before), next, after)
			}
			m.submit(i, object, nil)
			m.AwaitHeld(m.name(i))
		}
	}
	t.Logf("%d changes that the API server refuses", refused)
	assert.Positive(t, refused, "the law has to be tried")
}

// until waits for a short time. If the controller writes at all, it has written by then.
func (m *mixtures) until(holds func() bool) error {
	return wait.PollUntilContextTimeout(m.t.Context(), 50*time.Millisecond, 30*time.Second, true,
		func(context.Context) (bool, error) { return holds(), nil })
}

// overwrite writes other content that the API server accepts, as another client.
func (m *mixtures) overwrite(i int, before map[string]any) (after map[string]any, ok bool) {
	m.t.Helper()
	client := m.in("mallory", resourceOf(m.objects[i]))
	for range 30 {
		next := observer.CopyMap(before)
		maps.Copy(next, m.edited(contentOf(before)))
		after, err := client.Update(m.t.Context(), &unstructured.Unstructured{Object: next}, metav1.UpdateOptions{FieldManager: "mallory"})
		switch {
		case err == nil && !observer.Equal(contentOf(before), contentOf(after.Object)):
			return after.Object, true
		case apierrors.IsConflict(err):
			before = m.live(i)
		}
	}
	return nil, false
}

// accepts reports whether the API server would accept the object as it was.
func (m *mixtures) accepts(i int, content map[string]any) bool {
	m.t.Helper()
	next := observer.CopyMap(m.live(i))
	maps.Copy(next, contentOf(content))
	_, err := m.in("mallory", resourceOf(m.objects[i])).Update(m.t.Context(), &unstructured.Unstructured{Object: next}, metav1.UpdateOptions{FieldManager: "mallory", DryRun: []string{metav1.DryRunAll}})
	return err == nil
}

// refusedManifest draws a content of a manifest that the API server refuses in place of what
// there is, and would not refuse for its form.
func (m *mixtures) refusedManifest(i int, before map[string]any) (content map[string]any, ok bool) {
	m.t.Helper()
	client := m.in("mallory", resourceOf(m.objects[i]))
	for range 30 {
		content = m.edited(contentOf(m.objects[i].Object))
		if observer.Equal(content, contentOf(m.objects[i].Object)) || content["kind"] != m.objects[i].GetKind() || content["apiVersion"] != m.objects[i].GetAPIVersion() {
			continue
		}
		next := observer.CopyMap(before)
		maps.Copy(next, overlaid(before, content).(map[string]any))
		_, err := client.Update(m.t.Context(), &unstructured.Unstructured{Object: next}, metav1.UpdateOptions{FieldManager: "mallory", DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsInvalid(err) {
			return content, true
		}
	}
	return nil, false
}

// overlaid returns a live value with the fields of a manifest.
func overlaid(live, content any) any {
	of, isMap := content.(map[string]any)
	was, had := live.(map[string]any)
	if !isMap || !had {
		return content
	}
	all := maps.Clone(was)
	for name, child := range of {
		all[name] = overlaid(was[name], child)
	}
	return all
}

// edited draws one to three changes.
func (m *mixtures) edited(content map[string]any) map[string]any {
	for range 1 + m.random.IntN(3) {
		content = m.mutated(content).(map[string]any)
	}
	return content
}

// mutated draws another value: a scalar of its type, a map or list with a change somewhere, or
// one element more, less, or elsewhere.
func (m *mixtures) mutated(v any) any {
	r := m.random
	switch v := v.(type) {
	case map[string]any:
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(v)), func(name string) bool { return name == "apiVersion" || name == "kind" })
		if len(names) == 0 {
			return v
		}
		name, next := names[r.IntN(len(names))], maps.Clone(v)
		if r.IntN(5) == 0 {
			delete(next, name)
			return next
		}
		next[name] = m.mutated(v[name])
		return next
	case []any:
		next := slices.Clone(v)
		if len(v) == 0 {
			return next
		}
		k := r.IntN(len(v))
		switch r.IntN(6) {
		case 0:
			return slices.Delete(next, k, k+1)
		case 1:
			return slices.Insert(next, r.IntN(len(v)+1), m.mutated(v[k]))
		case 2:
			slices.Reverse(next)
			return next
		}
		next[k] = m.mutated(v[k])
		return next
	case string:
		return []string{v + "x", "a", "1", "80%", "Always", "None", "10.0.0.1"}[r.IntN(7)]
	case int64:
		return v + int64(r.IntN(7)) - 3
	case bool:
		return !v
	}
	return v
}

// changed returns what of a manifest has another value than before; empty if nothing has. A list
// without keys, or with a key twice, counts as a whole.
func changed(t *kinds.Node, path string, manifest, before, after any) string {
	switch of := manifest.(type) {
	case map[string]any:
		was, _ := before.(map[string]any)
		is, _ := after.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if wrong := changed(t.Field(name), path+"."+name, of[name], was[name], is[name]); wrong != "" {
				return wrong
			}
		}
		return ""
	case []any:
		list := new(observer.List)
		if !list.ByIdentity(t) || hasRepeatedName(of) {
			break
		}
		was, _ := before.([]any)
		is, _ := after.([]any)
		inWas, inIs := list.Identities(t, of, was), list.Identities(t, of, is)
		for i, element := range of {
			if wrong := changed(t.Elem(), fmt.Sprintf("%s[%d]", path, i), element, at(was, inWas[i]), at(is, inIs[i])); wrong != "" {
				return wrong
			}
		}
		return ""
	}
	if !observer.Equal(before, after) {
		return fmt.Sprintf("%s was %v, and is %v", path, before, after)
	}
	return ""
}

func at(list []any, i int) any {
	if i < 0 {
		return nil
	}
	return list[i]
}

func hasRepeatedName(list []any) bool {
	names := map[string]bool{}
	for _, element := range list {
		name := nameOf(element)
		if name != "" && names[name] {
			return true
		}
		names[name] = true
	}
	return false
}

func nameOf(element any) string {
	m, _ := element.(map[string]any)
	name, _ := m["name"].(string)
	return name
}
