package manifests_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "update the golden file")

const (
	deployed  = "../../deploy"
	chartPath = deployed + "/helm/holdfast"
)

// objects contains the objects of a rendering by kind, namespace and name.
type objects map[string]map[string]any

func read(t *testing.T, text string) objects {
	t.Helper()
	found := objects{}
	for document := range strings.SplitSeq("\n"+text, "\n---") {
		var object map[string]any
		require.NoError(t, yaml.UnmarshalStrict([]byte(document), &object), "%s", document) // rejects duplicate keys
		if object == nil {
			continue
		}
		metadata, _ := object["metadata"].(map[string]any)
		namespace, _ := metadata["namespace"].(string)
		name, _ := metadata["name"].(string)
		key := object["kind"].(string) + " " + namespace + "/" + name
		require.NotContains(t, found, key, "twice")
		found[key] = object
	}
	return found
}

// values reads a file of values.
func values(t *testing.T, path string) map[string]any {
	t.Helper()
	found, err := chartutil.ReadValuesFile(path)
	require.NoError(t, err)
	return found
}

// render renders the chart with values in a namespace.
func render(t *testing.T, namespace string, given map[string]any) (string, error) {
	t.Helper()
	chart, err := loader.Load(chartPath)
	require.NoError(t, err)
	require.NoError(t, chart.Validate())
	all, err := chartutil.ToRenderValues(chart, given, chartutil.ReleaseOptions{Name: "holdfast", Namespace: namespace}, capable())
	if err != nil {
		return "", err
	}
	files, err := engine.Render(chart, all)
	require.NoError(t, err)
	var text strings.Builder
	for _, file := range chart.Templates {
		rendered := files["holdfast/"+file.Name]
		if strings.HasSuffix(file.Name, ".yaml") && strings.TrimSpace(rendered) != "" {
			text.WriteString("---\n" + strings.TrimPrefix(strings.TrimSpace(rendered), "---\n") + "\n")
		}
	}
	return text.String(), nil
}

// capable returns the capabilities of a cluster with the definitions.
func capable() *chartutil.Capabilities {
	has := *chartutil.DefaultCapabilities
	has.APIVersions = append(slices.Clone(has.APIVersions), "holdfast.dev/v1alpha1/HoldProfile")
	return &has
}

// kustomized returns the objects of a directory of deploy.
func kustomized(t *testing.T, directory string) objects {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(deployed, directory))
	require.NoError(t, err)
	text, err := built.AsYaml()
	require.NoError(t, err)
	return read(t, string(text))
}

func TestChartMatchesManifests(t *testing.T) {
	for _, directory := range []string{"default", "ha", "namespaced"} {
		t.Run(directory, func(t *testing.T) {
			text, err := render(t, "holdfast-system", values(t, "testdata/values/"+directory+".yaml"))
			require.NoError(t, err)
			chart, directories := read(t, text), kustomized(t, directory)
			delete(directories, "Namespace /holdfast-system")          // Helm has --create-namespace
			delete(chart, "Lease holdfast-system/holdfast-controller") // only helm uninstall uses it
			for key, object := range chart {
				unlabelled(t, key, object)
				alike(t, object)
				alike(t, directories[key])
			}
			assert.Equal(t, directories, chart)
		})
	}
}

// unlabelled removes the labels that the chart adds to every object.
func unlabelled(t *testing.T, key string, object map[string]any) {
	t.Helper()
	metadata, _ := object["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	for label, value := range map[string]string{
		"helm.sh/chart": "holdfast-0.1.0", "app.kubernetes.io/instance": "holdfast",
		"app.kubernetes.io/version": "devel", "app.kubernetes.io/managed-by": "Helm",
	} {
		assert.Equal(t, value, labels[label], "%s: %s", key, label)
		delete(labels, label)
	}
	if len(labels) == 0 {
		delete(metadata, "labels")
	}
}

// alike removes expected differences and normalizes equivalent notations.
func alike(t *testing.T, object map[string]any) {
	t.Helper()
	metadata, _ := object["metadata"].(map[string]any)
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, "helm.sh/resource-policy")
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	switch object["kind"] {
	case "Deployment":
		spec := object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		delete(spec["containers"].([]any)[0].(map[string]any), "imagePullPolicy")
	case "ConfigMap":
		data := object["data"].(map[string]any)
		var configuration map[string]any
		require.NoError(t, yaml.UnmarshalStrict([]byte(data["config.yaml"].(string)), &configuration))
		if configuration["selector"] == "" {
			delete(configuration, "selector")
		}
		data["config.yaml"] = configuration
	}
}

func TestChartInAnyNamespace(t *testing.T) {
	for _, path := range []string{"testdata/everything.yaml", "testdata/values/ha.yaml"} {
		text, err := render(t, "elsewhere", values(t, path))
		require.NoError(t, err)
		assert.NotContains(t, text, "holdfast-system")
	}
}

// YAML reads 2026 without quotes as a number, and the controller and the API server then reject it.
func TestNamespacesThatLookLikeNumbers(t *testing.T) {
	text, err := render(t, "holdfast-system", map[string]any{"watchNamespaces": []any{"2026", "shop"}})
	require.NoError(t, err)
	found := read(t, text)
	assert.NotEmpty(t, found["RoleBinding 2026/holdfast-controller"])
	data, _ := found["ConfigMap holdfast-system/holdfast-controller"]["data"].(map[string]any)
	assert.Contains(t, data["config.yaml"], `watchNamespaces: ["2026", shop]`)
}

// The tests of deploy pass the rendered flags to the program.
func TestEveryValueIsUsed(t *testing.T) {
	const golden = "testdata/everything.golden.yaml"
	text, err := render(t, "holdfast-system", values(t, "testdata/everything.yaml"))
	require.NoError(t, err)
	// Definitions do not depend on values.
	var kept strings.Builder
	for document := range strings.SplitSeq(text, "\n---\n") {
		if !strings.Contains(document, "\nkind: CustomResourceDefinition\n") {
			kept.WriteString(strings.TrimPrefix(document, "---\n") + "\n---\n")
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(kept.String()), 0o600))
	}
	expected, err := os.ReadFile(golden)
	require.NoError(t, err, "make it with -update")
	assert.Equal(t, string(expected), kept.String())

	used, err := chartutil.ReadValuesFile("testdata/everything.yaml")
	require.NoError(t, err)
	all, err := chartutil.ReadValuesFile(chartPath + "/values.yaml")
	require.NoError(t, err)
	for name := range all {
		if name != "networkPolicy" && name != "admissionPolicy" { // covered by the next test
			assert.Contains(t, used, name, "testdata/everything.yaml")
		}
	}
}

func TestDisabledValuesRenderNothing(t *testing.T) {
	for _, row := range []struct{ name, value, without string }{
		{"definitions", "crds: {install: false}", "kind: CustomResourceDefinition"},
		{"the definition of Mysql", "crds: {mysql: false}", "name: mysqls.fnjoin.com"},
		{"the policy", "admissionPolicy: {enabled: false}", "ValidatingAdmissionPolicy"},
		{"the network policy", "networkPolicy: {enabled: false}", "kind: NetworkPolicy"},
		{"the right to read Secrets", "rights: {secrets: false}", "holdfast-kinds-secrets\n"},
		{"workloads", "rights: {workloads: false}", "holdfast-kinds-workloads\n"},
		{"roles for users", "rights: {users: false}", "aggregate-to-view"},
		{"the Service of callbacks", "callback: {enabled: false}", "name: holdfast-callback\n"},
		{"keeping the definitions", "crds: {keep: false}", "annotations:\n    helm.sh/resource-policy: keep\n    controller-gen"},
	} {
		t.Run(row.name, func(t *testing.T) {
			with, err := render(t, "holdfast-system", nil)
			require.NoError(t, err)
			assert.Contains(t, with, row.without)
			var given map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(row.value), &given))
			text, err := render(t, "holdfast-system", given)
			require.NoError(t, err)
			assert.NotContains(t, text, row.without)
		})
	}
}

func TestChartProfiles(t *testing.T) {
	profiles := func(objects objects) (names []string) {
		for key := range objects {
			if name, is := strings.CutPrefix(key, "HoldProfile /"); is {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	directory := profiles(kustomized(t, "profiles"))
	require.NotEmpty(t, directory)
	given := map[string]any{"profiles": []any{}}
	for _, name := range directory {
		given["profiles"] = append(given["profiles"].([]any), name)
	}
	text, err := render(t, "holdfast-system", given)
	require.NoError(t, err)
	assert.Equal(t, directory, profiles(read(t, text)), "each of deploy/profiles")
	text, err = render(t, "holdfast-system", nil)
	require.NoError(t, err)
	assert.Empty(t, profiles(read(t, text)), "off until they are asked for")

	chart, err := loader.Load(chartPath)
	require.NoError(t, err)
	all, err := chartutil.ToRenderValues(chart, given, chartutil.ReleaseOptions{Name: "holdfast", Namespace: "holdfast-system"}, chartutil.DefaultCapabilities)
	require.NoError(t, err)
	_, err = engine.Render(chart, all)
	require.ErrorContains(t, err, "install without profiles, and then upgrade with them")
}

func TestInvalidValuesAreRejected(t *testing.T) {
	for _, row := range []struct{ name, value, message string }{
		{"a typing error", "replica: 2", "additional properties 'replica' not allowed"},
		{"a number that is text", `replicas: "2"`, "/replicas"},
		{"a namespace that is none", "watchNamespaces: [Shop]", "/watchNamespaces/0"},
		{"a namespace twice", "watchNamespaces: [shop, shop]", "/watchNamespaces"},
		{"an interval without a unit", `resyncInterval: "10"`, "/resyncInterval"},
		{"a digest that is none", "image: {digest: abc}", "/image/digest"},
		{"a tag that is none", `image: {tag: "a b"}`, "/image/tag"},
		{"a webhook without authentication", "auditWebhook: {enabled: true, tlsSecretName: a}", "/auditWebhook"},
		{"a webhook without TLS", "auditWebhook: {enabled: true, tokenSecretName: a}", "/auditWebhook"},
		{"a profile that is none", "profiles: [replicas]", "/profiles/0"},
		{"notifications to no URL", "notify: {url: hooks.example.com}", "/notify/url"},
		{"callbacks over plain HTTP", `callback: {externalURL: "http://a"}`, "/callback/externalURL"},
		{"more verbose than there is", "logging: {verbosity: 8}", "/logging/verbosity"},
		{"a limit in units of Kubernetes", "goMemLimit: 460Mi", "/goMemLimit"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var given map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(row.value), &given))
			_, err := render(t, "holdfast-system", given)
			assert.ErrorContains(t, err, row.message)
		})
	}
}

func TestHelmLint(t *testing.T) {
	for _, message := range lint.AllWithKubeVersion(chartPath, values(t, "testdata/values/default.yaml"), "holdfast-system", &chartutil.DefaultCapabilities.KubeVersion).Messages {
		assert.Less(t, message.Severity, support.WarningSev, message)
	}
}

func TestNotesNameImage(t *testing.T) {
	notes := func(given map[string]any) string {
		chart, err := loader.Load(chartPath)
		require.NoError(t, err)
		all, err := chartutil.ToRenderValues(chart, given, chartutil.ReleaseOptions{Name: "holdfast", Namespace: "holdfast-system"}, chartutil.DefaultCapabilities)
		require.NoError(t, err)
		files, err := engine.Render(chart, all)
		require.NoError(t, err)
		return files["holdfast/templates/NOTES.txt"]
	}
	assert.Contains(t, notes(nil), "The image holdfast.dev/holdfast-controller:devel is in no public registry.")
	assert.Contains(t, notes(nil), "make push IMAGE=")
	assert.NotContains(t, notes(map[string]any{"image": map[string]any{"repository": "registry.example.com/own"}}), "make push")
}
