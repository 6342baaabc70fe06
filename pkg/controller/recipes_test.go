package controller_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/facts"
)

var daemonSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}

// page returns docs/share.md with its namespaces replaced by the test's namespace.
func (f *fixture) page() string {
	f.t.Helper()
	text, err := os.ReadFile("../../docs/share.md")
	require.NoError(f.t, err)
	return strings.NewReplacer("kube-system", f.namespace, "namespace: shop", "namespace: "+f.namespace, "platform", f.namespace,
		"clusterrole labels", "clusterrole "+f.namespace, "clusterrolebinding labels", "clusterrolebinding "+f.namespace,
		"clusterrole=labels", "clusterrole="+f.namespace).Replace(string(text))
}

// Follow submits an Application from docs/share.md with more appended. Before that, it runs the page's
// commands for the ServiceAccount.
func (f *fixture) Follow(name, more, right string) {
	f.t.Helper()
	page := f.page()
	for _, example := range facts.Examples(page) {
		command, isCreate := strings.CutPrefix(example.Command, "kubectl create ")
		if !isCreate {
			continue
		}
		if right != "" && (strings.Contains(command, " "+name+" ") || strings.Contains(command, " "+f.namespace+" ") && name == "labels") {
			_, err := f.kubectl("", append([]string{"create"}, strings.Fields(command)...)...)
			require.NoError(f.t, err, command)
		}
	}
	if right != "" {
		f.awaitAccess(name, right)
	}
	for _, block := range facts.Blocks(page, "yaml") {
		for text := range strings.SplitSeq(block, "\n---\n") {
			if strings.Contains(text, "apiVersion: holdfast.dev") && strings.Contains(text, "{name: "+name+", namespace: "+f.namespace+"}") {
				_, err := f.kubectl(strings.TrimRight(text, "\n")+more, "apply", "--server-side", "--filename=-")
				require.NoError(f.t, err, text)
				return
			}
		}
	}
	require.Fail(f.t, "docs/share.md has no Application "+name)
}

func (f *fixture) account(name string) {
	f.t.Helper()
	f.Create("user", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: "+name+"}}")
}

func TestTheRecipeOfADaemonSet(t *testing.T) {
	f := given(t)
	const theirs = `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: aws-node}, spec: {selector: {matchLabels: {k8s-app: aws-node}}, template: {
	  metadata: {labels: {k8s-app: aws-node}}, spec: {initContainers: [{name: aws-vpc-cni-init, image: "init:1"}], containers: [
	  {name: aws-eks-nodeagent, image: "agent:1"}, {name: aws-node, image: "cni:1", env: [{name: ENABLE_POD_ENI, value: "false"}, {name: WARM_IP_TARGET, value: "5"}]}]}}}}`
	target := []string{"spec", "template", "spec", "containers", "1", "env", "1", "value"}
	before := settled(f.Create("eks", theirs).Object)
	f.Follow("warm-pool", "", fmt.Sprintf(`{namespace: %s, verb: patch, group: apps, resource: daemonsets, name: aws-node}`, f.namespace))
	f.AwaitValue(daemonSets, "aws-node", "2", target...)
	f.AwaitHeld("warm-pool")

	f.PatchJSON("eks", daemonSets, "aws-node", `[{op: replace, path: /spec/template/spec/containers/1/image, value: "cni:2"}, {op: replace, path: /spec/template/spec/containers/1/env/1/value, value: "5"}]`)
	live := f.AwaitValue(daemonSets, "aws-node", "2", target...)
	assert.Equal(t, "cni:2", value(live, "spec", "template", "spec", "containers", "1", "image"))
	f.Delete(daemonSets, "aws-node")
	f.Create("eks", theirs)
	f.AwaitValue(daemonSets, "aws-node", "2", target...)
	f.AwaitHeld("warm-pool")
	f.Delete(applications, "warm-pool")
	f.AwaitGone(applications, "warm-pool")
	assert.Equal(t, before["spec"], settled(f.Get(daemonSets, "aws-node"))["spec"])
}

func TestTheRecipeOfAChart(t *testing.T) {
	f := given(t)
	f.Create("helm", `{apiVersion: v1, kind: Service, metadata: {name: made-by-a-chart}, spec: {selector: {app: theirs}, ports: [{port: 80}]}}`)
	f.account("shop")
	f.Grant("cluster-admin", "shop")
	f.Follow("shop", "", "")
	f.AwaitHeld("shop")
	assert.NotNil(t, f.Get(configMaps, "our-own"))
	f.Patch("helm", services, "made-by-a-chart", `{metadata: {annotations: {chart: "2"}}, spec: {selector: {app: theirs, version: "2"}}}`)
	f.Quiet(quiet)
	live := f.Get(services, "made-by-a-chart")
	assert.Equal(t, "net", value(live, "metadata", "annotations", "example.com/team"))
	assert.Equal(t, "2", value(live, "spec", "selector", "version"))
	f.Delete(applications, "shop")
	f.AwaitGone(applications, "shop")
	f.AwaitGone(configMaps, "our-own")
	assert.Equal(t, map[string]any{"chart": "2"}, whatever(f.Get(services, "made-by-a-chart"), "metadata", "annotations"))
}

func TestTheRecipeOfTwoTeams(t *testing.T) {
	f := given(t)
	f.Create("helm", whole)
	f.Follow("security", "", "")
	f.Follow("tracing", "", "")
	f.AwaitHeld("security")
	f.AwaitHeld("tracing")
	f.Mark()
	for replicas := range 7 {
		_, err := f.in("hpa", deployments).Patch(t.Context(), "web", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{}, "scale")
		require.NoError(t, err)
	}
	f.Quiet(quiet)
	assert.Empty(t, counts(f.touched()))
	live := f.Get(deployments, "web")
	assert.Equal(t, int64(6), value(live, "spec", "replicas"))
	assert.Equal(t, true, value(live, "spec", "template", "spec", "securityContext", "runAsNonRoot"))
	assert.Contains(t, whatever(live, "spec", "template", "spec", "containers", "1", "env"), map[string]any{"name": "TRACES", "value": "all"})
}

// applyWeb applies a Deployment in the way of Argo CD.
func (f *fixture) applyWeb(replicas string) {
	f.t.Helper()
	u := f.object(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {` + replicas + `selector: {matchLabels: {app: web}},
	  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}}}`)
	_, err := f.in("argocd-controller", deployments).Apply(f.t.Context(), "web", u, metav1.ApplyOptions{FieldManager: "argocd-controller", Force: true})
	require.NoError(f.t, err)
}

// A field keeps the held value if the user takes two steps. First, the field is applied with our field
// manager. Then it is removed from the manifest of the other tool.
func TestTheRecipeOfKeepingAValue(t *testing.T) {
	f := given(t)
	f.applyWeb("replicas: 3, ")
	f.Follow("replicas", "", "")
	f.AwaitHeld("replicas")
	body := regexp.MustCompile(`(?m)^\$ echo '(.*)' \| \\\n +kubectl apply --server-side --field-manager=holdfast:shop/replicas -f -$`).FindStringSubmatch(f.page())
	require.Len(t, body, 2)
	_, err := f.kubectl(body[1], "apply", "--server-side", "--field-manager=holdfast:"+f.namespace+"/replicas", "--filename=-")
	require.NoError(t, err)
	before := f.Get(deployments, "web")
	f.applyWeb("")
	f.Quiet(quiet)
	live := f.Get(deployments, "web")
	assert.Equal(t, value(before, "metadata", "generation"), value(live, "metadata", "generation"), "it never had another value")
	assert.Equal(t, int64(3), value(live, "spec", "replicas"))
	f.AwaitHeld("replicas")
	f.Delete(applications, "replicas")
	f.AwaitGone(applications, "replicas")
	assert.Equal(t, int64(3), value(f.Get(deployments, "web"), "spec", "replicas"))
}

func TestTheRecipeOfTakingAFieldOver(t *testing.T) {
	f := given(t)
	apply := f.applyWeb
	apply("replicas: 2, ")
	f.Follow("replicas", "", "")
	f.AwaitValue(deployments, "web", int64(3), "spec", "replicas")
	f.AwaitHeld("replicas")

	apply("replicas: 2, ") // still in their manifest, so each apply is corrected
	f.AwaitValue(deployments, "web", int64(3), "spec", "replicas")
	f.Quiet(quiet)
	f.Mark()
	for range 10 {
		apply("")
	}
	f.Quiet(quiet)
	assert.Empty(t, counts(f.touched()))
	assert.Equal(t, int64(3), value(f.Get(deployments, "web"), "spec", "replicas"))
	assert.Empty(t, f.AwaitHeld("replicas").Status.Contested)
}

func TestTheRecipeOfNamespaces(t *testing.T) {
	f := given(t)
	made := func(name string) {
		f.Create("user", `{apiVersion: v1, kind: Namespace, metadata: {name: $NS-`+name+`}}`)
		t.Cleanup(func() {
			_ = f.in("user", namespaces).Delete(cleanupContext(), f.namespace+"-"+name, metav1.DeleteOptions{})
		})
	}
	labelled := func(name string) {
		live := f.AwaitValue(namespaces, name, "baseline", "metadata", "labels", "pod-security.kubernetes.io/enforce")
		assert.Equal(t, name, value(live, "metadata", "labels", "name"))
	}
	made("a")
	f.Follow("labels", "\n    names: ["+f.namespace+", "+f.namespace+"-*]\n", `{verb: patch, resource: namespaces}`) // without those of other tests
	labelled(f.namespace)
	labelled(f.namespace + "-a")
	made("b")
	labelled(f.namespace + "-b")
	f.Delete(applications, "labels")
	f.AwaitGone(applications, "labels")
	assert.Nil(t, value(f.Get(namespaces, f.namespace+"-b"), "metadata", "labels", "pod-security.kubernetes.io/enforce"))
}
