package builtin_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"

	"holdfast.dev/holdfast/pkg/builtin"
	"holdfast.dev/holdfast/pkg/template"
)

// A template needs entries in files that package builtin does not generate. Without its entry in the admission policy,
// for example, its users could act as any ServiceAccount of their namespace.
func TestTheInstallationHasEachTemplate(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range builtin.Kinds() {
		assert.False(t, seen[kind.Option()], "%s: another template has this kind, too, so their options would have the same names", kind.Kind)
		seen[kind.Option()] = true
		for _, check := range []func(*testing.T, template.Kind){
			hasDefinition, isInstalled, isChartValue, isGuarded, isAllowedToController, isAllowedToUsers,
		} {
			check(t, kind)
		}
	}
}

// hasDefinition checks the generated definition in deploy/crd.
func hasDefinition(t *testing.T, kind template.Kind) {
	t.Helper()
	file := "crd/" + definitionOf(kind)
	if !assert.FileExists(t, deployed+file, "write the types of %s in pkg/api, and run `make generate`", kind.Kind) {
		return
	}
	var definition map[string]any
	read(t, file, func(object map[string]any) { definition = object })
	text := func(path ...string) string {
		found, _, _ := unstructured.NestedString(definition, path...)
		return found
	}
	assert.Equal(t, kind.Kind, text("spec", "names", "kind"), file)
	assert.Equal(t, kind.Option(), text("spec", "names", "singular"), file)
	assert.Equal(t, "Namespaced", text("spec", "scope"), file)
	assert.Equal(t, kind.Option(), text("metadata", "labels", "holdfast.dev/optional"),
		`%s: the type needs the marker +kubebuilder:metadata:labels="holdfast.dev/optional=%s"`, file, kind.Option())
	versions, _, _ := unstructured.NestedSlice(definition, "spec", "versions")
	require.NotEmpty(t, versions, file)
	version, _ := versions[0].(map[string]any)
	_, hasStatus, _ := unstructured.NestedMap(version, "subresources", "status")
	assert.True(t, hasStatus, "%s: the type needs the marker +kubebuilder:subresource:status", file)
}

// isInstalled checks the list of definitions of deploy/default, and so of `holdfast install`.
func isInstalled(t *testing.T, kind template.Kind) {
	t.Helper()
	const file = "crd/Kustomization"
	read(t, file, func(object map[string]any) {
		resources, _, _ := unstructured.NestedStringSlice(object, "resources")
		assert.Contains(t, resources, definitionOf(kind), "deploy/%s: without this entry, the definition is not installed", file)
	})
}

// isChartValue checks that the chart can omit the definition.
func isChartValue(t *testing.T, kind template.Kind) {
	t.Helper()
	read(t, "helm/holdfast/values.yaml", func(values map[string]any) {
		isOn, _, _ := unstructured.NestedBool(values, "crds", kind.Option())
		assert.True(t, isOn, "deploy/helm/holdfast/values.yaml needs crds.%s: true", kind.Option())
	})
	read(t, "helm/holdfast/values.schema.json", func(schema map[string]any) {
		valueType, _, _ := unstructured.NestedString(schema, "properties", "crds", "properties", kind.Option(), "type")
		assert.Equal(t, "boolean", valueType, "deploy/helm/holdfast/values.schema.json needs crds.%s", kind.Option())
	})
}

// isGuarded checks that a user who writes a resource must be allowed to impersonate its ServiceAccount.
func isGuarded(t *testing.T, kind template.Kind) {
	t.Helper()
	const file = "admission/service-accounts.yaml"
	var guarded []admissionv1.NamedRuleWithOperations
	read(t, file, func(policy admissionv1.ValidatingAdmissionPolicy) {
		if policy.Kind == "ValidatingAdmissionPolicy" {
			guarded = policy.Spec.MatchConstraints.ResourceRules
		}
	})
	assert.True(t, slices.ContainsFunc(guarded, func(rule admissionv1.NamedRuleWithOperations) bool {
		return slices.Contains(rule.APIGroups, kind.Group) && slices.Contains(rule.APIVersions, "*") && slices.Contains(rule.Resources, kind.Resource) &&
			slices.Contains(rule.Operations, admissionv1.Create) && slices.Contains(rule.Operations, admissionv1.Update)
	}), "deploy/%s needs a rule for CREATE and UPDATE of %s in %q: without it, a user who writes a %s acts as any ServiceAccount of the namespace",
		file, kind.Resource, kind.Group, kind.Kind)
}

// isAllowedToController checks the permissions of the template controller.
func isAllowedToController(t *testing.T, kind template.Kind) {
	t.Helper()
	isAllowed(t, "rbac/roles/controller.yaml", "holdfast-controller", kind, "", "list", "watch")
	isAllowed(t, "rbac/roles/controller.yaml", "holdfast-controller", kind, "/status", "patch")
	isAllowed(t, "rbac/roles/controller.yaml", "holdfast-controller", kind, "/finalizers", "update")
}

// isAllowedToUsers checks the permissions in view, edit and admin. None of them can write the status.
func isAllowedToUsers(t *testing.T, kind template.Kind) {
	t.Helper()
	isAllowed(t, "rbac/roles/users.yaml", "holdfast-view", kind, "", "get", "list", "watch")
	isAllowed(t, "rbac/roles/users.yaml", "holdfast-view", kind, "/status", "get", "list", "watch")
	isAllowed(t, "rbac/roles/users.yaml", "holdfast-edit", kind, "", "create", "update", "patch", "delete", "deletecollection")
	isAllowed(t, "rbac/roles/users.yaml", "holdfast-edit", kind, "/status")
}

// isAllowed checks that a ClusterRole has exactly these verbs for a kind, or for a subresource.
func isAllowed(t *testing.T, file, role string, kind template.Kind, subresource string, verbs ...string) {
	t.Helper()
	found := sets.New[string]()
	read(t, file, func(object rbacv1.ClusterRole) {
		for _, rule := range object.Rules {
			if object.Name == role && slices.Contains(rule.APIGroups, kind.Group) && slices.Contains(rule.Resources, kind.Resource+subresource) {
				found.Insert(rule.Verbs...)
			}
		}
	})
	assert.ElementsMatch(t, verbs, sets.List(found), "deploy/%s: the ClusterRole %s needs %v for %s%s in %q", file, role, verbs, kind.Resource, subresource, kind.Group)
}

const deployed = "../../deploy/"

// definitionOf returns the name of the file with the definition of a kind, as controller-gen chooses it.
func definitionOf(kind template.Kind) string {
	return fmt.Sprintf("%s_%s.yaml", kind.Group, kind.Resource)
}

// read calls visit for each document of a file below deploy.
func read[T any](t *testing.T, file string, visit func(T)) {
	t.Helper()
	content, err := os.ReadFile(deployed + file)
	require.NoError(t, err)
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		var document T
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err, file)
		visit(document)
	}
}
