package testcluster

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is the control plane of this test binary. It is started by the first test
// that asks for it: those who run one pure test do not wait for it.
var shared struct {
	sync.Mutex
	options *Options
	cluster *Cluster
	scratch string
}

// Main is a TestMain: it runs the tests, stops the control plane that Shared started,
// if any, removes the Scratch directory, and exits.
func Main(m *testing.M, options Options) {
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

// Scratch is a directory for what the tests of this binary share. Without Main it is the
// test's own.
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

// Shared returns the control plane of this test binary, whose TestMain calls Main. It
// panics if it does not start: no test can go on then.
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
