package testcluster

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"testing"
)

// shared is the control plane of this test binary. The first test that needs it starts it, so that pure
// tests can run without it.
var shared struct {
	sync.Mutex
	options *Options
	cluster *Cluster
	scratch string
}

// Main implements TestMain: it runs the tests, stops the control plane of Shared, if any, removes the Scratch
// directory, and exits.
func Main(m *testing.M, options Options) {
	if os.Getenv("GOGC") == "" { // as for the components: see environment
		debug.SetGCPercent(gcPercent)
	}
	shared.options = &options
	code := m.Run()
	shared.Lock()
	if shared.cluster != nil {
		shared.cluster.Stop()
	}
	if shared.scratch != "" {
		_ = os.RemoveAll(shared.scratch)
	}
	os.Exit(code)
}

// Scratch returns a directory that the tests of this binary share. Without Main, each test gets its own.
func Scratch(t testing.TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.options == nil {
		return t.TempDir()
	}
	if shared.scratch == "" {
		scratch, err := os.MkdirTemp("", "holdfast-scratch-")
		if err != nil {
			t.Fatal(err)
		}
		shared.scratch = scratch
	}
	return shared.scratch
}

// Shared returns the control plane of this test binary, whose TestMain must call Main. It panics if the
// control plane does not start, because no test can continue.
func Shared() *Cluster {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		return shared.cluster
	}
	if shared.options == nil {
		panic("testcluster.Shared needs a TestMain that calls testcluster.Main")
	}
	cluster, err := Start(context.Background(), *shared.options)
	if err != nil {
		panic(fmt.Sprint("testcluster: ", err))
	}
	shared.cluster = cluster
	return cluster
}
