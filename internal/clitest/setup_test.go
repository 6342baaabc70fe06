package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/cli"
	"holdfast.dev/holdfast/pkg/cli/setup"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
)

// setUp runs the commands of an administrator who installs, checks and uninstalls.
type setUp struct {
	*testing.T

	cluster *testcluster.Cluster
}

// holdfast runs a command and returns its exit status and output.
func (s setUp) holdfast(args ...string) (status int, stdout, stderr string) {
	var out, messages bytes.Buffer
	status = cli.Main(s.Context(), append([]string{"holdfast"}, args...), cli.Streams{
		In: strings.NewReader(""), Out: &out, Err: &messages, Getenv: os.Getenv, Now: time.Now,
	})
	return status, out.String(), messages.String()
}

func (s setUp) kubectl(stdin string, args ...string) string {
	s.Helper()
	output, err := s.cluster.Kubectl(s.Context(), stdin, args...)
	require.NoError(s, err)
	return output
}

// results returns the results of `check -o json`.
func (s setUp) results(args ...string) (status int, results map[string]string) {
	s.Helper()
	status, stdout, stderr := s.holdfast(append([]string{"check", "-o", "json"}, args...)...)
	require.Empty(s, stderr)
	var printed struct{ Checks []setup.CheckResult }
	require.NoError(s, json.Unmarshal([]byte(stdout), &printed))
	results = map[string]string{}
	for _, c := range printed.Checks {
		results[c.Check] = c.Result
		assert.Equal(s, c.Result == "failed", c.Remedy != "", "%s: what fails has a remedy", c.Check)
	}
	return status, results
}

// lease creates a Lease of a controller that was last active some time ago.
func (s setUp) lease(holder string, ago time.Duration) {
	s.Helper()
	s.kubectl(fmt.Sprintf(`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: holdfast-controller, namespace: holdfast-system},
		spec: {holderIdentity: %q, leaseDurationSeconds: 3600, renewTime: %q}}`, holder, time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000000Z")),
		"apply", "--server-side", "--filename=-")
}

// The lifecycle of an installation, from the command line.
func TestInstallCheckUninstall(t *testing.T) {
	c, err := testcluster.Start(t.Context(), testcluster.Options{Node: true})
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	t.Setenv("KUBECONFIG", c.Kubeconfig())
	s := setUp{t, c}

	s.installs()
	status, _, stderr := s.holdfast("install")
	require.Equal(t, 0, status, stderr)
	s.kubectl("", "scale", "deployment/holdfast-controller", "--replicas=3", "-n", "holdfast-system")
	status, stdout, stderr := s.holdfast("install")
	assert.Equal(t, 2, status)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "nothing was installed: other clients have changed the Deployment holdfast-controller: .spec.replicas. ")
	assert.Contains(t, stderr, "holdfast install --force")
	s.kubectl("", "scale", "deployment/holdfast-controller", "--replicas=1", "-n", "holdfast-system")
	s.check()
	s.refuses()
	s.releases()
}

// installs checks that `install --wait` waits until a Pod of the controller leads: ready Pods and the Lease of a Pod of the
// past are not enough. The node is simulated, so the test writes the Lease.
func (s setUp) installs() {
	type result struct {
		status         int
		stdout, stderr string
	}
	ended := make(chan result, 1)
	go func() {
		var r result
		r.status, r.stdout, r.stderr = s.holdfast("install", "--wait", "--timeout", "3m")
		ended <- r
	}()
	// Each attempt asks for the Lease, which is the last request of one without a leader.
	attempts := func(resource, name string) {
		s.Helper()
		mark := s.cluster.Mark()
		require.Eventually(s, func() bool {
			requests, err := s.cluster.Requests(mark)
			require.NoError(s, err)
			asked := requests.Where(func(r testcluster.Request) bool {
				return r.Verb == "get" && r.Resource == resource && r.Name == name && strings.HasPrefix(r.UserAgent, "holdfast/")
			})
			return len(asked) > 1
		}, 2*time.Minute, 50*time.Millisecond, "it asks for %s", name)
		require.Empty(s, ended, "there is no leader yet")
	}
	attempts("leases", "holdfast-controller")
	pod := s.kubectl("", "get", "pods", "-n", "holdfast-system", "--output=jsonpath={.items[0].metadata.name}")
	s.lease("former-pod_1", 0)
	attempts("pods", "former-pod")
	s.lease(pod+"_2", 0)
	r := <-ended
	require.Equal(s, 0, r.status, r.stderr)
	assert.Contains(s, r.stdout, "Deployment holdfast-controller applied\n")
	assert.True(s, strings.HasSuffix(r.stdout, "\nthe controller is ready\n"), r.stdout)
	s.kubectl("", "delete", "lease/holdfast-controller", "-n", "holdfast-system")
}

func (s setUp) check() {
	s.kubectl("", "wait", "clusterrole/holdfast-kinds", "--for=jsonpath={.rules[0]}", "--timeout=120s")
	status, results := s.results()
	assert.Equal(s, 1, status)
	assert.Equal(s, map[string]string{
		"Kubernetes": "ok", "definitions": "ok", "controller": "failed", "its rights": "ok", "admission policy": "ok", "your rights": "ok", "ServiceAccount": "failed",
	}, results)

	s.kubectl(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: own-account}, spec: {serviceAccountName: default, manifest: []}}`,
		"create", "-f", "-", "-n", "default")
	_, results = s.results()
	assert.Equal(s, "ok", results["ServiceAccount"], "no Application needs the default one")
	s.kubectl("", "patch", "hfapp/own-account", "-n", "default", "--type=merge", `--patch={"spec": {"serviceAccountName": "deployer"}}`)
	_, results = s.results()
	assert.Equal(s, "failed", results["ServiceAccount"], "the one that an Application names is missing")
	s.kubectl("", "delete", "hfapp/own-account", "-n", "default")

	s.kubectl("", "create", "serviceaccount", "holdfast-applier", "-n", "default")
	s.kubectl("", "create", "rolebinding", "holdfast-applier", "-n", "default", "--clusterrole=edit", "--serviceaccount=default:holdfast-applier")
	s.lease("pod-1", time.Minute)
	require.Eventually(s, func() bool { status, _ = s.results(); return status == 0 }, 2*time.Minute, 100*time.Millisecond)
	_, stdout, _ := s.holdfast("check")
	assert.Regexp(s, `(?m)^controller +ok +pod-1 is the leader, active \S+ ago$`, stdout)
	assert.NotContains(s, stdout, "What to do")

	s.lease("pod-1", 2*time.Hour)
	status, stdout, _ = s.holdfast("check")
	assert.Equal(s, 1, status)
	assert.Regexp(s, `(?m)^controller +failed +pod-1 was last active 2h0m\S+ ago, and is no longer the\n +leader$`, stdout)
	assert.Contains(s, stdout, "kubectl get deploy,pods,leases -n holdfast-system")
	s.lease("pod-1", 0)

	s.kubectl("", "delete", "validatingadmissionpolicybinding/holdfast-service-accounts")
	s.kubectl("", "patch", "crd/mysqls.fnjoin.com", "--type=json",
		`--patch=[{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/description", "value": "older"}]`)
	_, results = s.results()
	assert.Equal(s, "failed", results["definitions"])
	assert.Equal(s, "failed", results["admission policy"])

	status, results = s.results("--as", "nobody")
	assert.Equal(s, 1, status)
	assert.Equal(s, map[string]string{
		"Kubernetes": "ok", "definitions": "unknown", "controller": "unknown", "its rights": "unknown", "admission policy": "unknown",
		"your rights": "failed", "ServiceAccount": "unknown",
	}, results)
}

// refuses checks that uninstall reports the remaining objects and refuses to run.
func (s setUp) refuses() {
	const application = `{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: web}, spec: {manifest: [
		{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {key: ours}}]}}`
	s.kubectl(application, "create", "--filename=-", "-n", "default")
	status, _, stderr := s.holdfast("uninstall", "--yes")
	assert.Equal(s, 1, status)
	assert.Contains(s, stderr, "nothing was uninstalled: the cluster still has 1 Application: default/web. ")
	assert.Contains(s, stderr, "--release")
	s.kubectl("{apiVersion: fnjoin.com/v1, kind: Mysql, metadata: {name: db}}", "create", "--filename=-", "-n", "default")
	status, _, stderr = s.holdfast("uninstall", "--yes", "--release")
	assert.Equal(s, 1, status)
	assert.Contains(s, stderr, "the cluster still has 1 Mysql: default/db. ")
	s.kubectl("", "delete", "mysql/db", "-n", "default", "--timeout=120s")
	status, _, stderr = s.holdfast("uninstall", "--release")
	assert.Equal(s, 2, status)
	assert.Contains(s, stderr, "to confirm, add --yes")
	status, _, _ = s.holdfast("uninstall", "--as", "nobody")
	assert.Equal(s, 2, status)
	s.kubectl("", "annotate", "clusterrolebinding/holdfast-definitions", "meta.helm.sh/release-name=hold", "meta.helm.sh/release-namespace=elsewhere")
	status, _, stderr = s.holdfast("uninstall")
	assert.Equal(s, 2, status)
	assert.Contains(s, stderr, "helm uninstall hold -n elsewhere")
	s.kubectl("", "annotate", "clusterrolebinding/holdfast-definitions", "meta.helm.sh/release-name-")
	assert.Equal(s, "web", s.kubectl("", "get", "hfapp", "-n", "default", "--output=jsonpath={.items[*].metadata.name}"))
}

// releases runs a controller that releases all objects, and then uninstalls.
func (s setUp) releases() {
	client, err := cluster.NewClient(s.cluster.Config())
	require.NoError(s, err)
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- controller.New(client, controller.Options{}).Run(ctx) }()
	defer func() {
		cancel()
		<-ended
	}()
	s.kubectl("", "wait", "hfapp/web", "-n", "default", "--for=condition=Ready", "--timeout=120s")
	uid := s.kubectl("", "get", "configmap/web", "-n", "default", "--output=jsonpath={.metadata.uid}")

	status, stdout, stderr := s.holdfast("uninstall", "--release", "--yes", "--timeout", "2m")
	require.Equal(s, 0, status, stderr)
	assert.True(s, strings.HasSuffix(stdout, "\nLease holdfast-controller deleted\nNamespace holdfast-system deleted\n"), stdout)
	assert.Equal(s, uid, s.kubectl("", "get", "configmap/web", "-n", "default", "--output=jsonpath={.metadata.uid}"))
	assert.NotContains(s, s.kubectl("", "get", "configmap/web", "-n", "default", "--output=jsonpath={.metadata.labels}"), "holdfast")
	s.kubectl("", "wait", "crd/applications.holdfast.dev", "crd/mysqls.fnjoin.com", "namespace/holdfast-system", "--for=delete", "--timeout=120s")
	_, results := s.results()
	assert.Equal(s, "failed", results["definitions"])
	status, stdout, stderr = s.holdfast("uninstall", "--yes")
	assert.Equal(s, 0, status, stderr)
	assert.NotContains(s, stdout, "CustomResourceDefinition")
}
