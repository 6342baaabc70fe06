package plan_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/writer"
)

var binding = manifest.ID{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding", Name: "view"}

// subject returns a user as the API server stores it.
func subject(name string) map[string]any {
	return map[string]any{"apiGroup": binding.Group, "kind": "User", "name": name}
}

// bindingSpec returns the spec of an Application that holds users in a ClusterRoleBinding.
func bindingSpec(ownership, hold, subjects string) string {
	return `
ownership: ` + ownership + `
manifest: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: view}, ` + subjects + `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}]
fields: [{resource: {kind: ClusterRoleBinding, name: view}, hold: [` + hold + `{path: subjects, type: set}]}]
`
}

// defaultSubjects sets the API group of the subjects, as the API server does.
func defaultSubjects(object map[string]any) {
	subjects, _ := object["subjects"].([]any)
	for _, s := range subjects {
		s.(map[string]any)["apiGroup"] = binding.Group
	}
}

func bindingWorld(t *testing.T, spec string) *world {
	t.Helper()
	w := newWorld(t, spec)
	w.respond = defaultSubjects
	return w
}

func (w *world) subjects() (names []string) {
	list, _ := w.only()["subjects"].([]any)
	for _, s := range list {
		names = append(names, s.(map[string]any)["name"].(string))
	}
	return names
}

func (w *world) setSubjects(names ...string) {
	list := []any{}
	for _, name := range names {
		list = append(list, subject(name))
	}
	w.only()["subjects"] = list
}

func TestASetOfASharedObject(t *testing.T) {
	w := bindingWorld(t, bindingSpec("Share", `"*", `, "subjects: [{kind: User, name: ours}, {kind: User, name: both}], "))
	w.live[binding] = map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": "view", "uid": "u-9", "resourceVersion": "7"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
		"subjects": []any{subject("theirs"), subject("both")},
	}
	before := observer.CopyMap(w.live[binding])
	w.round()
	w.quiet()
	assert.ElementsMatch(t, []string{"ours", "theirs", "both"}, w.subjects())

	w.setSubjects("other", "theirs", "both")
	w.round()
	assert.ElementsMatch(t, []string{"ours", "other", "theirs", "both"}, w.subjects(), "a removed element is added again, and the other client keeps its own")
	w.quiet()

	w.setSubjects("both", "ours", "theirs")
	p, _ := w.round()
	assert.False(t, p.Changes[0].Writes(), "in any order, and without the element of the other client")

	w.edit(bindingSpec("Share", `"*", `, "subjects: [{kind: User, name: both}], "))
	w.round()
	w.round()
	assert.ElementsMatch(t, []string{"theirs", "both"}, w.subjects(), "only the element that it added is removed")
	w.edit(bindingSpec("Share", `"*", `, "subjects: [{kind: User, name: both}, {kind: User, name: ours}], "))
	w.round()
	w.edit("ownership: Share\nmanifest: []")
	w.round()
	w.only()["subjects"] = slices.Clone(before["subjects"].([]any))
	assert.Equal(t, before, w.live[binding])
}

func TestASetOfAnOwnedObject(t *testing.T) {
	for name, hold := range map[string]string{"all fields": `"*", `, "only the set": ""} {
		t.Run(name, func(t *testing.T) {
			w := bindingWorld(t, bindingSpec("Own", hold, "subjects: [{kind: User, name: a}, {kind: User, name: b}], "))
			w.round()
			w.quiet()
			w.setSubjects("x", "b")
			w.round()
			assert.ElementsMatch(t, []string{"x", "b", "a"}, w.subjects(), "another value belongs to another client")
			w.setSubjects("theirs", "b", "a")
			w.round()
			w.quiet()
			assert.Equal(t, []string{"theirs", "b", "a"}, w.subjects())
			w.edit(bindingSpec("Own", hold, "subjects: [{kind: User, name: c}, {kind: User, name: b}], "))
			w.round()
			assert.ElementsMatch(t, []string{"theirs", "b", "c"}, w.subjects())
			w.quiet()
			w.setSubjects("theirs", "b", "x")
			w.round()
			assert.ElementsMatch(t, []string{"theirs", "b", "c", "x"}, w.subjects())
			w.edit(bindingSpec("Own", hold, "subjects: [], "))
			w.round()
			assert.ElementsMatch(t, []string{"theirs", "x"}, w.subjects())
			w.edit(bindingSpec("Own", hold, "subjects: [{kind: User, name: d}], "))
			w.round()
			w.edit(bindingSpec("Own", hold, ""))
			w.round()
			assert.ElementsMatch(t, []string{"theirs", "x"}, w.subjects())
		})
	}
}

func TestAQuantityIsRestored(t *testing.T) {
	const tune = `{apiVersion: example.com/v1, kind: Tune, metadata: {name: a}, `
	w := newWorld(t, `
ownership: Share
manifest: [`+tune+`spec: {size: 1Gi}}]
fields: [{resource: {kind: Tune, name: a}, hold: [{path: spec.size, type: quantity}]}]
`)
	id := manifest.ID{Group: "example.com", Kind: "Tune", Namespace: "default", Name: "a"}
	w.live[id] = map[string]any{
		"apiVersion": "example.com/v1", "kind": "Tune", "metadata": map[string]any{"name": "a", "namespace": "default", "uid": "u-9", "resourceVersion": "7"},
		"spec": map[string]any{"size": "2Gi"},
	}
	w.round()
	require.Equal(t, "1Gi", get(w.only(), "spec", "size"))
	set(w.only(), "1024Mi", "spec", "size")
	p, _ := w.round()
	require.False(t, p.Changes[0].Writes(), "the same amount")
	w.edit("ownership: Share\nmanifest: []")
	w.round()
	assert.Equal(t, "2Gi", get(w.only(), "spec", "size"))
}

// If the declaration leaves with the list, the elements are still found by their values.
func TestASetLeavesWithItsDeclaration(t *testing.T) {
	w := bindingWorld(t, bindingSpec("Own", `"*", `, "subjects: [{kind: User, name: a}, {kind: User, name: b}], "))
	w.round()
	w.setSubjects("theirs", "b", "a")
	managed := `[{"manager": "kubectl", "operation": "Update", "apiVersion": "rbac.authorization.k8s.io/v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:subjects": {}}}]`
	w.written = map[manifest.ID]writer.Activity{binding: {ManagedFields: []byte(managed), Events: 1, ResourceVersion: "1", Write: "1"}}
	w.edit("manifest: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: view}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}]")
	w.round()
	assert.Equal(t, []string{"theirs"}, w.subjects())
}

// A list with keys needs no type, and a path that names it sets no bounds.
func TestAKeyedListOfASharedObject(t *testing.T) {
	for _, hold := range []string{"spec.template.spec.imagePullSecrets", `"*", spec.template.spec.imagePullSecrets`} {
		w := newWorld(t, `
ownership: Share
manifest: [{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: aws-node}, spec: {template: {spec: {imagePullSecrets: [{name: ours}]}}}}]
fields: [{resource: {kind: DaemonSet, name: aws-node}, hold: [`+hold+`]}]
`)
		w.live[node] = theirs()
		set(w.live[node], []any{map[string]any{"name": "theirs"}}, "spec", "template", "spec", "imagePullSecrets")
		p, _ := w.round()
		require.Nil(t, p.Invalid)
		assert.Equal(t, []any{map[string]any{"name": "theirs"}, map[string]any{"name": "ours"}}, get(w.only(), "spec", "template", "spec", "imagePullSecrets"))
	}
}

// The message about a list without keys contains the item that makes it valid.
func TestTheRemedyForAListWithoutKeysWorks(t *testing.T) {
	w := newWorld(t, bindingSpec("Share", "", "subjects: [{kind: User, name: a}], "))
	remedied := w.app.Spec.Fields
	w.app.Spec.Fields = nil
	p := w.decide()
	require.NotNil(t, p.Invalid)
	item := regexp.MustCompile(`\{path: .*\}`).FindString(p.Invalid.Message)
	require.NoError(t, yaml.UnmarshalStrict([]byte("["+item+"]"), &remedied[0].Hold))
	w.app.Spec.Fields = remedied
	assert.Nil(t, w.decide().Invalid)
}
