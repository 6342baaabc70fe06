package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
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

// Each controller reconciles only what it selects, and neither takes the Lease of the other one.
func TestControllersDivideTheApplications(t *testing.T) {
	c, err := testcluster.Start(t.Context(), testcluster.Options{ControllerManager: true})
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	documents := install(t, c, "split", "")
	namespace := c.Namespace(t)
	installed.Applier(t, c, namespace, "holdfast-applier")
	in := "--namespace=" + namespace
	holder := func(lease string) string {
		return kubectl(t, c, "", "get", "lease/"+lease, "--output=jsonpath={.spec.holderIdentity}", "--namespace="+deploy.Namespace)
	}
	drift := func(names ...string) {
		for _, name := range names {
			kubectl(t, c, "", "patch", "configmap/"+name, "--patch", `{"data": {"key": "theirs"}}`, in)
		}
	}
	awaitCorrected := func(name string) {
		kubectl(t, c, "", "wait", "configmap/"+name, "--for=jsonpath={.data.key}=ours", "--timeout=120s", in)
	}
	first, second := installed.Run(t, c, documents), installed.RunOne(t, c, documents, "holdfast-controller-b")
	for name, labels := range map[string]string{"one": "", "two": "holdfast.dev/controller: b", "three": "holdfast.dev/controller: c"} {
		kubectl(t, c, fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: %[1]s, labels: {%[2]s}}, spec: {manifest: [
			{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s}, data: {key: ours}}]}}`, name, labels), "create", "--filename=-", in)
	}
	kubectl(t, c, "", "wait", "hfapp/one", "hfapp/two", "--for=condition=Ready", "--timeout=120s", in)
	for _, p := range []*installed.Controller{first, second} {
		assert.Contains(t, p.Exposition(), `holdfast_applications{ready="True"} 1`)
		p.CallBack()
	}
	assert.NotEmpty(t, holder("holdfast-controller"))
	assert.NotEmpty(t, holder("holdfast-controller-b"))
	assert.NotEqual(t, holder("holdfast-controller"), holder("holdfast-controller-b"))

	assert.Equal(t, `{"observedGeneration":-1}`, kubectl(t, c, "", "get", "hfapp/three", "--output=jsonpath={.status}", in))
	message, commands := checked(t, c, namespace)
	assert.Equal(t, "no controller selects "+namespace+"/three: holdfast-controller selects the labels !holdfast.dev/controller, holdfast-controller-b selects the labels holdfast.dev/controller=b", message)
	require.Len(t, commands, 2)
	kubectl(t, c, "", strings.Fields(commands[1])[1:]...)
	kubectl(t, c, "", "wait", "hfapp/three", "--for=condition=Ready", "--timeout=120s", in)
	message, _ = checked(t, c, namespace)
	assert.Regexp(t, "^.+ is the leader, active .+ ago; .+ is the leader, active .+ ago$", message)

	first.Stop()
	drift("one", "two")
	awaitCorrected("two")
	assert.Empty(t, holder("holdfast-controller"), "it is released, and the other controller does not take it")
	assert.Equal(t, "theirs", kubectl(t, c, "", "get", "configmap/one", "--output=jsonpath={.data.key}", in))
	kubectl(t, c, "", "label", "hfapp/one", "holdfast.dev/controller=b", in)
	awaitCorrected("one")
	second.AssertNothingWasForbidden()
}

// checked returns the message of `holdfast check` about the controllers, and the commands of the remedy.
func checked(t *testing.T, c *testcluster.Cluster, namespace string) (message string, commands []string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), installed.Program(t, "holdfast"), "check", "--namespace="+namespace, "--output=json")
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig())
	output, _ := command.Output() // it exits with 1 if a check fails
	var found struct {
		Checks []struct{ Check, Message, Remedy string }
	}
	require.NoError(t, json.Unmarshal(output, &found))
	for _, one := range found.Checks {
		if one.Check == "controller" {
			for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(one.Remedy, -1) {
				commands = append(commands, match[1])
			}
			return one.Message, commands
		}
	}
	require.Fail(t, "there is no check of the controller")
	return "", nil
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
	for _, row := range []struct{ directory, deployment string }{
		{"default", "holdfast-controller"}, {"ha", "holdfast-controller"}, {"namespaced", "holdfast-controller"},
		{"split", "holdfast-controller"}, {"split", "holdfast-controller-b"},
	} {
		t.Run(row.directory+" "+row.deployment, func(t *testing.T) {
			accepts(t, installed.Arguments(installed.NamedDeployment(t, build(t, row.directory), row.deployment)))
		})
	}
	t.Run("the Helm chart, with every value", func(t *testing.T) {
		text, err := os.ReadFile("../tools/manifests/testdata/everything.golden.yaml")
		require.NoError(t, err)
		accepts(t, installed.Arguments(installed.Deployment(t, string(text))))
	})
}
