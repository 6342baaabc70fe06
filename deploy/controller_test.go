package deploy_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/internal/testcluster/installed"
)

func TestDefaultPermissions(t *testing.T) {
	c := withDefault(t)
	p := installed.Run(t, c, build(t, "default"))
	namespace := c.Namespace(t)
	installed.Applier(t, c, namespace, "holdfast-applier")

	p.Life(namespace)

	kubectl(t, c, "{apiVersion: fnjoin.com/v1, kind: Mysql, metadata: {name: db}}", "create", "--filename=-", "--namespace="+namespace)
	kubectl(t, c, "", "wait", "statefulset/db", "--for=create", "--timeout=120s", "--namespace="+namespace)
	kubectl(t, c, "", "wait", "mysql/db", "--for=jsonpath={.status.observedGeneration}=1", "--timeout=120s", "--namespace="+namespace)
	kubectl(t, c, "", "delete", "mysql/db", "--timeout=120s", "--namespace="+namespace)
	p.CallBack()
	kubectl(t, c, "", "wait", "lease/holdfast-controller", "--for=jsonpath={.spec.holderIdentity}", "--timeout=120s", "--namespace="+deploy.Namespace)
	p.AssertNothingWasForbidden()

	t.Run("and serves the metrics of the documents", func(t *testing.T) {
		assertDocumented(t, p.Exposition())
	})
}

func TestNamespacedPermissions(t *testing.T) {
	c, err := testcluster.Start(t.Context(), testcluster.Options{ControllerManager: true})
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	for _, namespace := range []string{"shop", "blog"} {
		kubectl(t, c, "", "create", "namespace", namespace)
		installed.Applier(t, c, namespace, "holdfast-applier")
	}
	documents := install(t, c, "namespaced", "shop")
	for _, verb := range []string{"impersonate", "list"} {
		has, err := c.Has(t.Context(), controllerUser, testcluster.Right{Verb: verb, Resource: "serviceaccounts", Namespace: "blog"})
		require.NoError(t, err)
		require.False(t, has, "%s in a namespace that is not listed", verb)
	}
	kubectl(t, c, `{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: other}, spec: {manifest: []}}`, "create", "--filename=-", "--namespace=blog")
	p := installed.Run(t, c, documents)

	p.Life("shop")

	assert.Equal(t, `{"observedGeneration":-1}`, kubectl(t, c, "", "get", "hfapp/other", "--namespace=blog", "--output=jsonpath={.status}"))
	p.AssertNothingWasForbidden()

	t.Run("and in one that is added while it runs", func(t *testing.T) {
		p := p.ForSubtest(t)
		kubectl(t, c, kubectl(t, c, "", "kustomize", "rbac/namespace"), "apply", "--server-side", "--filename=-", "--namespace=blog")
		c.AwaitRight(t, controllerUser, testcluster.Right{Verb: "watch", Resource: "secrets", Namespace: "blog"})
		text, err := os.ReadFile(p.Configuration)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(p.Configuration, []byte(strings.Replace(string(text), "[shop]", "[shop, blog]", 1)), 0o600))
		kubectl(t, c, "", "wait", "hfapp/other", "--for=condition=Ready", "--timeout=120s", "--namespace=blog")
		p.Life("blog")
		p.AssertNothingWasForbidden()
	})
}

// The test runs the program with --version: it parses its flags first, and needs no cluster.
func TestManifestFlagsExist(t *testing.T) {
	controller := installed.Program(t, "holdfast-controller")
	accepts := func(t *testing.T, args []string) {
		t.Helper()
		require.NotEmpty(t, args)
		output, err := exec.CommandContext(t.Context(), controller, append(args, "--version")...).CombinedOutput()
		assert.NoError(t, err, "%s", output)
	}
	for _, directory := range []string{"default", "ha", "namespaced"} {
		t.Run(directory, func(t *testing.T) { accepts(t, installed.Arguments(t, build(t, directory))) })
	}
	t.Run("the Helm chart, with every value", func(t *testing.T) {
		text, err := os.ReadFile("../tools/manifests/testdata/everything.golden.yaml")
		require.NoError(t, err)
		accepts(t, installed.Arguments(t, string(text)))
	})
}
