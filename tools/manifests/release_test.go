package manifests_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/internal/testcluster/installed"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/yaml"
)

// system is the namespace of the release in the documentation.
const system = "holdfast-system"

func TestMain(m *testing.M) { testcluster.Main(m, testcluster.Options{}) }

// helm runs Helm actions with a real control plane.
type helm struct {
	t       *testing.T
	cluster *testcluster.Cluster
	action  *action.Configuration
	chart   *chart.Chart
}

// newHelm uses a separate control plane.
func newHelm(t *testing.T) *helm {
	t.Helper()
	c, err := testcluster.Start(t.Context(), testcluster.Options{ControllerManager: true})
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	found, err := loader.Load(chartPath)
	require.NoError(t, err)
	h := &helm{t: t, cluster: c, action: &action.Configuration{}, chart: found}
	kubeconfig, namespace := c.Kubeconfig(), system
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = &kubeconfig, &namespace
	require.NoError(t, h.action.Init(flags, namespace, "secret", func(string, ...any) {}))
	return h
}

// install runs `helm install holdfast CHART -n holdfast-system --create-namespace`. It returns the
// manifests of the release.
func (h *helm) install(values string) string {
	h.t.Helper()
	install := action.NewInstall(h.action)
	install.ReleaseName, install.Namespace, install.CreateNamespace = "holdfast", system, true
	made, err := install.RunWithContext(h.t.Context(), h.chart, valuesOf(h.t, values))
	require.NoError(h.t, err)
	assert.Contains(h.t, made.Info.Notes, "holds the Applications of")
	return made.Manifest
}

// upgrade runs `helm upgrade holdfast CHART -n holdfast-system --reset-then-reuse-values`.
func (h *helm) upgrade(values string) string {
	h.t.Helper()
	upgrade := action.NewUpgrade(h.action)
	upgrade.Namespace, upgrade.ResetThenReuseValues = system, true
	made, err := upgrade.RunWithContext(h.t.Context(), "holdfast", h.chart, valuesOf(h.t, values))
	require.NoError(h.t, err)
	return made.Manifest
}

// uninstall runs `helm uninstall holdfast -n holdfast-system`. It returns Helm's message about kept
// objects.
func (h *helm) uninstall() string {
	h.t.Helper()
	response, err := action.NewUninstall(h.action).Run("holdfast")
	require.NoError(h.t, err)
	return response.Info
}

func valuesOf(t *testing.T, text string) (found map[string]any) {
	t.Helper()
	require.NoError(t, yaml.Unmarshal([]byte(text), &found))
	return found
}

// kubectl runs kubectl as the administrator.
func (h *helm) kubectl(stdin string, args ...string) string {
	h.t.Helper()
	output, err := h.cluster.Kubectl(h.t.Context(), stdin, args...)
	require.NoError(h.t, err)
	return output
}

func (h *helm) eventually(what string, holds func() bool) {
	h.t.Helper()
	require.Eventually(h.t, holds, 2*time.Minute, 50*time.Millisecond, what)
}

// may reports whether the controller of the release has a permission.
func (h *helm) may(verb, resource, namespace string) bool {
	h.t.Helper()
	has, err := h.cluster.Has(h.t.Context(), "system:serviceaccount:"+system+":holdfast-controller", testcluster.Right{Verb: verb, Resource: resource, Namespace: namespace})
	require.NoError(h.t, err)
	return has
}

// run runs the controller of a release after the cluster has aggregated its roles: for all namespaces, or
// for one.
func (h *helm) run(manifest, in string) *installed.Controller {
	h.t.Helper()
	h.kubectl("", "wait", "--for=condition=Established", "--timeout=120s", "crd/applications.holdfast.dev", "crd/applicationslices.holdfast.dev", "crd/holdprofiles.holdfast.dev", "crd/mysqls.fnjoin.com")
	h.eventually("its rights", func() bool { return h.may("watch", "secrets", in) })
	return installed.Run(h.t, h.cluster, manifest)
}

// hold creates an Application with a ConfigMap of the same name.
func (h *helm) hold(namespace, name string) {
	h.t.Helper()
	h.kubectl(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: `+name+`},
		spec: {manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`}, data: {key: ours}}]}}`, "create", "--filename=-", "--namespace="+namespace)
}

func (h *helm) awaitReady(namespace, name string) {
	h.t.Helper()
	h.kubectl("", "wait", "hfapp/"+name, "--for=condition=Ready", "--timeout=120s", "--namespace="+namespace)
}

// upgradesASchema checks an observer schema in a user's chart. Holdfast rejects nulls, which Helm drops on
// upgrades, and Helm keeps the word "observed".
func (h *helm) upgradesASchema(namespace string) {
	h.t.Helper()
	configuration := *h.action
	flags := genericclioptions.NewConfigFlags(false)
	kubeconfig := h.cluster.Kubeconfig()
	flags.KubeConfig, flags.Namespace = &kubeconfig, &namespace
	require.NoError(h.t, configuration.Init(flags, namespace, "secret", func(string, ...any) {}))
	chartOf := func(leaf string, longest int) *chart.Chart {
		return &chart.Chart{
			Metadata: &chart.Metadata{APIVersion: chart.APIVersionV2, Name: "shop", Version: "1.0.0"},
			Templates: []*chart.File{{Name: "templates/app.yaml", Data: fmt.Appendf(nil, `
apiVersion: holdfast.dev/v1alpha1
kind: Application
metadata: {name: shop}
spec:
  manifest:
  - {apiVersion: v1, kind: Service, metadata: {name: shop}, spec: {ports: [{port: 80, targetPort: 8080}]}}
  observerSchema:
  - apiVersion: v1
    kind: Service
    metadata: {name: shop}
    spec:
      ports:
      - {port: %s}
      - {observer_schema_list_min_length: 1, observer_schema_list_max_length: %d}
`, leaf, longest)}},
		}
	}
	upgrade := func(leaf string, longest int) {
		upgrade := action.NewUpgrade(&configuration)
		upgrade.Namespace = namespace
		_, err := upgrade.RunWithContext(h.t.Context(), "shop", chartOf(leaf, longest), nil)
		require.NoError(h.t, err)
	}
	install := action.NewInstall(&configuration)
	install.ReleaseName, install.Namespace = "shop", namespace
	_, err := install.RunWithContext(h.t.Context(), chartOf("null", 4), nil)
	require.NoError(h.t, err)
	h.kubectl("", "wait", "hfapp/shop", "--for=jsonpath={.status.conditions[?(@.type==\"Stalled\")].reason}=ObserverSchemaInvalid", "--timeout=120s", "--namespace="+namespace)

	upgrade("observed", 5)
	h.awaitReady(namespace, "shop")
	upgrade("observed", 6)
	h.kubectl("", "patch", "service/shop", "--type=json", `--patch=[{"op": "replace", "path": "/spec/ports/0/port", "value": 81}]`, "--namespace="+namespace)
	h.kubectl("", "wait", "service/shop", "--for=jsonpath={.spec.ports[0].port}=80", "--timeout=120s", "--namespace="+namespace)
	_, err = action.NewUninstall(&configuration).Run("shop")
	require.NoError(h.t, err)
	h.kubectl("", "wait", "hfapp/shop", "--for=delete", "--timeout=120s", "--namespace="+namespace)
}

// isHeld checks that drift is corrected.
func (h *helm) isHeld(namespace, name string) {
	h.t.Helper()
	h.kubectl("", "patch", "configmap/"+name, "--patch", `{"data": {"key": "theirs"}}`, "--namespace="+namespace)
	h.kubectl("", "wait", "configmap/"+name, "--for=jsonpath={.data.key}=ours", "--timeout=120s", "--namespace="+namespace)
}

// leaves waits until only the expected objects of the manifests exist.
func (h *helm) leaves(manifest string, expected ...string) {
	h.t.Helper()
	var left []string
	if !assert.Eventually(h.t, func() bool {
		left = h.left(manifest)
		return slices.Equal(left, expected)
	}, 2*time.Minute, time.Millisecond) {
		require.Equal(h.t, expected, left)
	}
}

// left returns the objects of the manifests that exist.
func (h *helm) left(manifest string) (found []string) {
	h.t.Helper()
	for key, object := range read(h.t, manifest) {
		metadata, _ := object["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		namespace, _ := metadata["namespace"].(string)
		if h.kubectl("", "get", object["kind"].(string), name, "--namespace="+namespace, "--ignore-not-found", "--output=name") != "" {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

// The lifecycle of a release: an Application that is created at its start survives until its end.
func TestHelmReleaseLifecycle(t *testing.T) {
	if samples.Of(true, false) {
		t.Skip("upgrades of a release are only part of `make test-long`")
	}
	h := newHelm(t)
	for _, namespace := range []string{"shop", "blog"} {
		h.kubectl("", "create", "namespace", namespace)
		installed.Applier(t, h.cluster, namespace, "holdfast-applier")
	}
	uid := func() string {
		return h.kubectl("", "get", "configmap/kept", "--namespace=shop", "--output=jsonpath={.metadata.uid}")
	}
	newer := func() string {
		return h.kubectl("", "get", "crd/applications.holdfast.dev", `--output=jsonpath={.metadata.annotations.example\.com/newer}`)
	}

	first := h.install("")
	p := h.run(first, "")
	p.Life("shop")
	p.CallBack()
	h.hold("shop", "kept")
	h.awaitReady("shop", "kept")
	created := uid()
	h.upgradesASchema("shop")
	p.AssertNothingWasForbidden()
	p.Stop()

	// An upgrade to a chart with another definition, and to other values: permissions in one namespace, two
	// replicas, another default ServiceAccount.
	for _, file := range h.chart.Files {
		if file.Name == "files/crd/holdfast.dev_applications.yaml" {
			file.Data = []byte(strings.Replace(string(file.Data), "\n  annotations:\n", "\n  annotations:\n    example.com/newer: here\n", 1))
		}
	}
	assert.Empty(t, newer())
	installed.Applier(t, h.cluster, "shop", "deployer")
	second := h.upgrade("{watchNamespaces: [shop], replicas: 2, defaultServiceAccount: deployer, resyncInterval: 1h}")
	assert.Equal(t, "here", newer(), "the definitions are upgraded, too")
	h.eventually("rights to end", func() bool { return !h.may("list", "configmaps", "blog") })
	h.kubectl("", "get", "poddisruptionbudget/holdfast-controller", "--namespace="+system)
	p = h.run(second, "shop")
	h.hold("blog", "elsewhere")
	h.isHeld("shop", "kept")
	p.Life("shop")
	assert.Equal(t, created, uid(), "existing objects are not created again")
	assert.Equal(t, `{"observedGeneration":-1}`, h.kubectl("", "get", "hfapp/elsewhere", "--namespace=blog", "--output=jsonpath={.status}"))
	p.AssertNothingWasForbidden()
	p.Stop()

	// Roll back.
	require.NoError(t, action.NewRollback(h.action).Run("holdfast"))
	assert.Empty(t, newer())
	p = h.run(first, "")
	h.awaitReady("blog", "elsewhere")
	h.isHeld("shop", "kept")
	p.AssertNothingWasForbidden()
	p.Stop()

	// These objects are kept: the definitions, and therefore every Application with its objects; the
	// aggregated role, without a binding; and the objects that the controller has created in its namespace.
	kept := []string{"ClusterRole /holdfast-kinds", "CustomResourceDefinition /applications.holdfast.dev", "CustomResourceDefinition /applicationslices.holdfast.dev",
		"CustomResourceDefinition /holdprofiles.holdfast.dev", "CustomResourceDefinition /mysqls.fnjoin.com"}
	says := h.uninstall()
	for _, object := range kept {
		assert.Contains(t, says, strings.ReplaceAll(object, " /", "] "))
	}
	h.leaves(first, kept...)
	assert.Equal(t, created, uid())
	h.awaitReady("shop", "kept")
	h.kubectl("", "get", "secret/holdfast-callback-ca", "--namespace="+system)
	assert.False(t, h.may("list", "configmaps", "shop"))
	h.kubectl("", "patch", "configmap/kept", "--patch", `{"data": {"key": "theirs"}}`, "--namespace=shop")

	// Install again: the new release adopts all kept objects, and corrects drift.
	third := h.install("")
	p = h.run(third, "")
	h.kubectl("", "wait", "configmap/kept", "--for=jsonpath={.data.key}=ours", "--timeout=120s", "--namespace=shop")
	assert.Equal(t, created, uid())

	// Uninstall completely, as described in docs/install.md: delete the Applications first, while the
	// controller can release them.
	h.kubectl("", "delete", "mysqls,hfapp", "--all", "--all-namespaces", "--timeout=120s")
	p.AssertNothingWasForbidden()
	p.Stop()
	fourth := h.upgrade("{crds: {keep: false}}")
	h.uninstall()
	h.leaves(fourth, "ClusterRole /holdfast-kinds")
	assert.Empty(t, h.kubectl("", "get", "configmap/kept", "--namespace=shop", "--ignore-not-found"))
}

// The next controller must not wait until the Lease of the last one expires.
func TestHelmUninstallDeletesTheLease(t *testing.T) {
	h := newHelm(t)
	h.install("")
	assert.Empty(t, h.kubectl("", "get", "leases", "--namespace="+system, "--output=name"), "the controller creates it")
	h.kubectl(`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: holdfast-controller}, spec: {holderIdentity: pod-1, leaseDurationSeconds: 30}}`,
		"create", "--filename=-", "--namespace="+system)
	h.uninstall()
	assert.Empty(t, h.kubectl("", "get", "leases", "--namespace="+system, "--output=name"))
}

// As described in the README of the chart.
func TestHelmAdoptsForeignDefinitions(t *testing.T) {
	if samples.Of(true, false) {
		t.Skip("a second way to install is only part of `make test-long`")
	}
	h := newHelm(t)
	uid := func() string {
		return h.kubectl("", "get", "crd/applications.holdfast.dev", "--output=jsonpath={.metadata.uid}")
	}
	h.kubectl("", "apply", "--server-side", "--filename="+deployed+"/crd")
	before := uid()
	install := func(values string, takeOver bool) error {
		install := action.NewInstall(h.action)
		install.ReleaseName, install.Namespace, install.CreateNamespace, install.TakeOwnership = "holdfast", system, true, takeOver
		_, err := install.RunWithContext(t.Context(), h.chart, valuesOf(t, values))
		return err
	}
	require.NoError(t, install("{crds: {install: false}}", false))
	h.uninstall()
	assert.Equal(t, before, uid())

	require.ErrorContains(t, install("", false), "invalid ownership metadata")
	require.NoError(t, install("", true))
	assert.Equal(t, before, uid(), "the definitions are adopted, not replaced")
	h.uninstall()
	assert.Equal(t, before, uid())
}
