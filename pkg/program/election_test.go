package program

import (
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/internal/testcluster"
)

// elected returns the flags of one of several replicas, with short timeouts.
func elected(namespace string) []string {
	return []string{
		"--leader-elect-resource-namespace=" + namespace,
		"--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms",
		"--watch-namespaces=" + namespace,
	}
}

const (
	leads   = "Holding Applications"
	standby = "Ready to become the leader"
)

func TestReplicaTakesOverOnShutdown(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	first := start(t, c, elected(namespace)...)
	first.Says(leads)
	submit(t, c, namespace, "app", "")
	awaitReady(t, c, namespace, "app")
	mark := c.Mark()
	second := start(t, c, elected(namespace)...)
	second.Says(standby)

	status, body := second.Get("/readyz")
	assert.Equal(t, 200, status, body)
	drift(t, c, namespace, "app")
	awaitCorrected(t, c, namespace, "app")
	requests, err := c.Requests(mark)
	require.NoError(t, err)
	lists := requests.By("holdfast-controller").Where(func(r testcluster.Request) bool {
		return r.Resource == "configmaps" && r.Verb == "list" && r.Namespace == namespace // controllers of other tests have others
	})
	assert.Empty(t, lists, "a replica that does not lead watches no objects")
	_, metrics := second.Get("/metrics")
	assert.Contains(t, metrics, "holdfast_watches 0")
	assert.Contains(t, metrics, `leader_election_master_status{name="holdfast-controller"} 0`)

	first.Signal(syscall.SIGTERM)
	assert.Equal(t, 0, first.Ends(), first.Log())
	second.Says(leads)
	assert.Empty(t, kubectl(t, c, "", "get", "events", "-n", namespace, "--field-selector=reason=LeaderElectionLost", "--output=name"))
	drift(t, c, namespace, "app")
	awaitCorrected(t, c, namespace, "app")
	_, metrics = second.Get("/metrics")
	assert.Contains(t, metrics, `leader_election_master_status{name="holdfast-controller"} 1`)
	holder := kubectl(t, c, "", "get", "lease", "holdfast-controller", "-n", namespace, "--output=jsonpath={.spec.leaseTransitions}")
	assert.NotEmpty(t, holder)

	second.Signal(syscall.SIGTERM)
	assert.Equal(t, 0, second.Ends(), second.Log())
	assert.Empty(t, strings.TrimSpace(kubectl(t, c, "", "get", "lease", "holdfast-controller", "-n", namespace, "--output=jsonpath={.spec.holderIdentity}")), "the lease is released: %s", second.Log())
}

// A leader that is paused for longer than its Lease still considers itself the leader when it resumes. It
// exits, and its writes until then are harmless.
func TestPausedLeaderExits(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	first := start(t, c, elected(namespace)...)
	first.Says(leads)
	submit(t, c, namespace, "app", "")
	awaitReady(t, c, namespace, "app")
	uid := get(t, c, namespace, configMaps, "app", "{.metadata.uid}")
	second := start(t, c, elected(namespace)...)
	second.Says(standby)

	first.Signal(syscall.SIGSTOP)
	second.Says(leads)
	submit(t, c, namespace, "app-2", "")
	awaitReady(t, c, namespace, "app-2")
	drift(t, c, namespace, "app")
	first.Signal(syscall.SIGCONT)

	assert.Equal(t, 1, first.Ends(), first.Log())
	assert.Contains(t, first.Log(), "is no longer the leader")
	awaitCorrected(t, c, namespace, "app")
	awaitCorrected(t, c, namespace, "app-2")
	assert.Equal(t, uid, get(t, c, namespace, configMaps, "app", "{.metadata.uid}"), "no object is created again")
	drift(t, c, namespace, "app-2")
	awaitCorrected(t, c, namespace, "app-2")
}

// During a shutdown, the process waits at most for an unresponsive API server.
func TestSecondSignalExitsAtOnce(t *testing.T) {
	t.Parallel()
	c, namespace := alone(t)
	p := start(t, c, elected(namespace)...)
	p.Says(leads)

	require.NoError(t, c.Pause(testcluster.APIServer))
	p.Signal(syscall.SIGTERM)
	p.Says("Shutting down")
	p.Signal(syscall.SIGTERM)
	p.Ends()
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	assert.True(t, status.Signaled(), "it did not end by itself: %v", p.cmd.ProcessState)
	require.NoError(t, c.Resume(testcluster.APIServer))
}

// An unresponsive API server delays the shutdown no longer than the kubelet waits, even during work and
// with the timeouts of the manifests.
func TestShutdownWithoutAPIServer(t *testing.T) {
	t.Parallel()
	found := regexp.MustCompile(`terminationGracePeriodSeconds: (\d+)`).FindSubmatch(deploy.Install())
	require.Len(t, found, 2)
	seconds, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	c, namespace := alone(t)
	p := start(t, c, "--leader-elect-resource-namespace="+namespace, "-v=7")
	p.Says(leads)
	kubectl(t, c, `{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: app}, spec: {retry: {initialInterval: 1s, multiplier: 1},
  manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: app, namespace: nowhere}}]}}`, "apply", "--server-side", "-n", namespace, "--filename=-")
	creates := func() int { return strings.Count(p.Log(), "/namespaces/nowhere/configmaps?") }
	p.until("a create", func() bool { return creates() > 0 })
	require.NoError(t, c.Pause(testcluster.APIServer))
	before, paused := creates(), time.Now()
	// There is none if the pause has interrupted the last one, or the following status update.
	p.until("a request without an answer", func() bool { return creates() > before || time.Since(paused) > 3*time.Second })

	p.Signal(syscall.SIGTERM)
	begun := time.Now()
	assert.Equal(t, 0, p.Ends(), p.Log())
	took := time.Since(begun)
	t.Log("ended after", took)
	assert.Less(t, took, time.Duration(seconds)*time.Second)
	require.NoError(t, c.Resume(testcluster.APIServer))
}

// A process that cannot renew its Lease must assume that another process leads.
func TestAPIServerPausedBeyondLease(t *testing.T) {
	t.Parallel()
	c, namespace := alone(t)
	first := start(t, c, elected(namespace)...)
	first.Says(leads)
	submit(t, c, namespace, "app", "")
	awaitReady(t, c, namespace, "app")

	require.NoError(t, c.Pause(testcluster.APIServer))
	assert.Equal(t, 1, first.Ends(), first.Log())
	require.NoError(t, c.Resume(testcluster.APIServer))

	eventually(t, "an API server that answers", func() bool {
		_, err := c.Kubectl(t.Context(), "", "get", "--raw=/readyz")
		return err == nil
	})
	second := start(t, c, elected(namespace)...)
	second.Says(leads)
	drift(t, c, namespace, "app")
	awaitCorrected(t, c, namespace, "app")
}

// Holdfast is not installed in this cluster.
func TestMissingLeaseNamespace(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	elsewhere := namespace + "-system"
	p := start(t, c, append(elected(namespace), "--leader-elect-resource-namespace="+elsewhere)...)
	p.Says("the namespace " + elsewhere + " of the lease does not exist")
	p.Says("--leader-elect=false")
	mark := c.Mark()
	eventually(t, "more tries", func() bool {
		requests, err := c.Requests(mark)
		require.NoError(t, err)
		return len(requests.Where(func(r testcluster.Request) bool { return r.Resource == "leases" && r.Namespace == elsewhere })) > 2
	})
	status, body := p.Get("/readyz")
	assert.Equal(t, 503, status)
	assert.Contains(t, body, elsewhere)

	kubectl(t, c, "", "create", "namespace", elsewhere)
	p.Says(leads)
	assert.Equal(t, 1, strings.Count(p.Log(), "of the lease does not exist"), "it is said once")
	assert.NotContains(t, p.Log(), `Error initially creating lease lock" err="namespaces`) // except after a timeout of a request
	status, _ = p.Get("/readyz")
	assert.Equal(t, 200, status)
}
