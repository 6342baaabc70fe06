package faults_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
)

// usage is the resource usage of this process: the controller and the test, without the control plane.
type usage struct {
	cpu time.Duration
	// memory is the live heap in bytes. resident also includes memory that the runtime retains.
	memory, resident uint64
}

func (w *world) usage() usage {
	w.t.Helper()
	debug.FreeOSMemory()
	var r syscall.Rusage
	require.NoError(w.t, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{cpu: time.Duration(r.Utime.Nano() + r.Stime.Nano()), memory: m.HeapAlloc, resident: resident(w.t)}
}

// resident returns the resident memory of this process without pages of the executable, because more of
// these are loaded whenever code runs for the first time.
func resident(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "\nRssAnon:")
	require.True(t, found)
	var kib uint64
	_, err = fmt.Sscan(after, &kib)
	require.NoError(t, err)
	return kib << 10
}

// warm runs a short storm, so that the usage before the real storm includes everything that is allocated
// once: type tables, stack tables and threads never shrink, and do not grow further with a storm.
func (s *storm) warm() {
	s.t.Helper()
	random := s.random
	s.random = rand.New(rand.NewPCG(1, 1)) // the seed determines the rest
	s.begin()
	for range samples.Of(0, 200) {
		s.step()
	}
	s.running.faults.Calm()
	s.Kubectl("", "delete", "applications", "--all", "-n", s.namespace, "--timeout=60s")
	s.running.stop()
	s.random, s.deaths = random, 0
	clear(s.did)
}

// settled returns the usage of an idle controller with the Applications of the end of the storm.
func (s *storm) settled() usage {
	s.t.Helper()
	first := s.Run(nil)
	var namespaces []string
	for range 2 {
		namespace := s.Namespace()
		namespaces = append(namespaces, namespace)
		for i := range apps {
			name := fmt.Sprintf("app%d", i)
			s.Submit(namespace, name, spec(s.random, name))
		}
	}
	for _, namespace := range namespaces {
		for i := range apps {
			s.AwaitHeld(namespace, fmt.Sprintf("app%d", i))
		}
	}
	s.Quiet(2 * time.Second)
	took := s.usage()
	for _, namespace := range namespaces {
		s.Kubectl("", "delete", "applications", "--all", "-n", namespace, "--timeout=60s")
	}
	first.stop()
	return took
}

// rests checks that the controller is idle: it sends no requests, takes almost no reconciles and CPU time,
// and needs no more memory than before the storm. The last two are asserted only after a full-length storm,
// because a short one ends before either settles.
func (s *storm) rests(before usage) {
	s.t.Helper()
	const mostReconciles, mostOfACore, mostGrowth = 4, 0.005, 0.1
	period := samples.Of(3*time.Second, time.Minute)
	mark, reconciles, begin := s.mark(), s.running.Reconciles(), time.Now()
	from := s.usage().cpu
	select {
	case <-time.After(period):
	case <-s.t.Context().Done():
	}
	took := time.Since(begin)
	to := s.usage()
	reconciles = s.running.Reconciles() - reconciles
	requests, err := s.cluster.Requests(mark)
	require.NoError(s.t, err)
	asked := requests.By(agent).Where(func(r testcluster.Request) bool { return r.Verb != "watch" })
	core, growth := (to.cpu-from).Seconds()/took.Seconds(), grown(before.memory, to.memory)
	s.t.Logf("at rest for %v: %d requests, %d reconciles, %.2f %% of a core, %d KiB in use, %+.0f %% of those before the storm, %d KiB resident, %+.0f %%",
		took.Round(time.Second), len(asked), reconciles, 100*core, to.memory>>10, 100*growth, to.resident>>10, 100*grown(before.resident, to.resident))

	assert.Empty(s.t, asked, "requests at rest")
	assert.LessOrEqual(s.t, reconciles, mostReconciles, "reconciles at rest")
	if samples.Of(false, true) {
		assert.Less(s.t, core, mostOfACore, "of a core at rest")
		assert.Less(s.t, growth, mostGrowth, "growth of the memory in use")
		assert.Less(s.t, grown(before.resident, to.resident), mostGrowth, "growth of the resident memory")
	}
}

// grown returns the relative growth.
func grown(from, to uint64) float64 { return float64(to)/float64(from) - 1 }
