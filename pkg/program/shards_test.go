package program

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
)

// sharing returns the flags of one of several replicas with shards.
func sharing(namespace string) []string { return append(elected(namespace), "--shards=4") }

// metric returns a metric of a process, or -1.
func (p *process) metric(name string) int {
	p.t.Helper()
	_, text := p.Get("/metrics")
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\d+)$`).FindStringSubmatch(text)
	if found == nil {
		return -1
	}
	n, err := strconv.Atoi(found[1])
	require.NoError(p.t, err)
	return n
}

func (p *process) holds(slots int) {
	p.t.Helper()
	p.until(fmt.Sprint(slots, " slots"), func() bool { return p.metric("holdfast_slots_held") == slots })
}

// handled returns the number of ready Applications of a replica.
func (p *process) handled() int { return p.metric(`holdfast_applications{ready="True"}`) }

// submitMany creates Applications of one ConfigMap each, and waits until they are ready.
func submitMany(t *testing.T, c *testcluster.Cluster, namespace string, n int) {
	t.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `---
{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: app-%[1]d},
  spec: {manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: app-%[1]d}, data: {key: ours}}]}}
`, i)
	}
	kubectl(t, c, text.String(), "apply", "--server-side", "-n", namespace, "--filename=-")
	kubectl(t, c, "", "wait", "--for=condition=Ready", "applications.holdfast.dev", "--all", "-n", namespace, "--timeout=60s")
}

// driftMany changes the ConfigMaps of n Applications with one command.
func driftMany(t *testing.T, c *testcluster.Cluster, namespace string, n int) {
	t.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: app-%d}, data: {key: theirs}}\n", i)
	}
	kubectl(t, c, text.String(), "apply", "--server-side", "--force-conflicts", "--field-manager=theirs", "-n", namespace, "--filename=-")
}

func awaitAllCorrected(t *testing.T, c *testcluster.Cluster, namespace string) {
	t.Helper()
	eventually(t, "all to be corrected", func() bool {
		return !strings.Contains(get(t, c, namespace, configMaps, "", "{.items[*].data.key}"), "theirs")
	})
}

// assertCreatedOnce checks that each ConfigMap of n Applications exists, and that each was created by only
// one request with status 201. A create that timed out has another status.
func assertCreatedOnce(t *testing.T, c *testcluster.Cluster, namespace string, mark testcluster.Mark, n int) {
	t.Helper()
	requests, err := c.Requests(mark)
	require.NoError(t, err)
	creates := requests.Where(func(r testcluster.Request) bool {
		return r.Verb == "create" && r.Resource == "configmaps" && r.Namespace == namespace && r.Code == http.StatusCreated && strings.HasPrefix(r.Name, "app-")
	})
	names := map[string]bool{}
	for _, create := range creates {
		assert.NotContains(t, names, create.Name, "%s", creates)
		names[create.Name] = true
	}
	assert.Len(t, strings.Fields(get(t, c, namespace, configMaps, "", "{.items[?(@.data.key)].metadata.name}")), n)
}

func TestReplicasShareApplications(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	mark := c.Mark()
	first := start(t, c, sharing(namespace)...)
	first.holds(4)
	second := start(t, c, sharing(namespace)...)
	second.holds(2)
	first.holds(2)

	const n = 40
	submitMany(t, c, namespace, n)
	eventually(t, "all to be handled, each by one", func() bool { return first.handled()+second.handled() == n })
	assert.Positive(t, first.handled())
	assert.Positive(t, second.handled())
	assertCreatedOnce(t, c, namespace, mark, n)
	driftMany(t, c, namespace, n)
	awaitAllCorrected(t, c, namespace)

	second.Signal(syscall.SIGTERM)
	assert.Equal(t, 0, second.Ends(), second.Log())
	first.holds(4)
	eventually(t, "all to be handled by the one that is left", func() bool { return first.handled() == n })
	driftMany(t, c, namespace, n)
	awaitAllCorrected(t, c, namespace)
	assertCreatedOnce(t, c, namespace, mark, n)

	first.Signal(syscall.SIGTERM)
	assert.Equal(t, 0, first.Ends(), first.Log())
	said := first.Log() + second.Log()
	for _, late := range []string{"wait until its lease expires", "Deleting the lease of this replica", "Lost a slot"} {
		if strings.Contains(said, late) {
			return // the API server was too slow to renew or release a lease in time, which is logged
		}
	}
	assert.Empty(t, strings.TrimSpace(kubectl(t, c, "", "get", "leases", "-n", namespace, "--output=jsonpath={.items[*].spec.holderIdentity}")), "all leases are released")
}

// A replica that crashes, or is paused for longer than its Lease, is replaced. When it resumes, it does not
// write objects of slots that other replicas hold.
func TestNoDoubleCreateAfterReplicaLoss(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		signal syscall.Signal
	}{{"killed", syscall.SIGKILL}, {"stopped", syscall.SIGSTOP}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c, namespace := ours(t)
			first := start(t, c, sharing(namespace)...)
			second := start(t, c, sharing(namespace)...)
			second.holds(2)
			first.holds(2)
			const n = 20
			mark := c.Mark()
			submitMany(t, c, namespace, n)

			first.Signal(row.signal)
			driftMany(t, c, namespace, n)
			second.holds(4)
			awaitAllCorrected(t, c, namespace)
			eventually(t, "all to be handled by the one that is left", func() bool { return second.handled() == n })
			if row.signal == syscall.SIGSTOP {
				first.Signal(syscall.SIGCONT)
				first.Says("Lost a slot")
				first.holds(2)
				second.holds(2)
			}
			driftMany(t, c, namespace, n)
			awaitAllCorrected(t, c, namespace)
			assertCreatedOnce(t, c, namespace, mark, n)
		})
	}
}

func TestADeletedLeaseIsHeldAgain(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	first := start(t, c, sharing(namespace)...)
	first.holds(4)
	leases := func() string {
		return kubectl(t, c, "", "get", "leases", "-n", namespace, "--output=jsonpath={.items[?(@.spec.holderIdentity)].metadata.name}")
	}
	slot := regexp.MustCompile(`\S+-slot-1-of-4`).FindString(leases())
	require.NotEmpty(t, slot)
	kubectl(t, c, "", "delete", "lease", slot, "-n", namespace)
	eventually(t, "the slot to be held again", func() bool { return strings.Contains(leases(), slot) })
	first.holds(4)
	const n = 10
	submitMany(t, c, namespace, n)
	driftMany(t, c, namespace, n)
	awaitAllCorrected(t, c, namespace)
}

func TestSlotsWaitForLeaderWithoutShards(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	first := start(t, c, elected(namespace)...)
	first.Says(leads)
	second := start(t, c, sharing(namespace)...)
	second.Says("Waiting for replicas with another --shards")
	assert.Equal(t, 0, second.metric("holdfast_slots_held"))

	first.Signal(syscall.SIGTERM)
	assert.Equal(t, 0, first.Ends(), first.Log())
	second.holds(4)
}
