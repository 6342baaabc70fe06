package controlplane

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// background is an Up that runs concurrently with the test.
type background struct {
	dir directory
	out safeBuffer
	err chan error
}

func up(t *testing.T, options Options) *background {
	t.Helper()
	if options.Dir == "" {
		options.Dir = t.TempDir()
	}
	b := &background{dir: directory(options.Dir), err: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { b.err <- Up(ctx, options, &b.out, io.Discard) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-b.err:
		case <-time.After(time.Minute):
			t.Error("up does not end")
		}
	})
	return b
}

func upAndReady(t *testing.T, options Options) *background {
	t.Helper()
	b := up(t, options)
	eventually(t, "ready", func() bool { return strings.Contains(b.out.String(), "export ") })
	return b
}

func (b *background) pid(t *testing.T, component string) int {
	t.Helper()
	text, err := os.ReadFile(b.dir.pid(component))
	check(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	check(t, err)
	return pid
}

func TestUpAndDown(t *testing.T) {
	b := upAndReady(t, Options{})
	if want := "ready\n" + ExportLine(string(b.dir)) + "\n"; b.out.String() != want {
		t.Errorf("printed %q, want %q", b.out.String(), want)
	}
	pids := []int{b.pid(t, Etcd), b.pid(t, APIServer)}

	found, err := Down(t.Context(), string(b.dir))
	check(t, err)
	if !found {
		t.Error("down did not find it")
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	found, err = Down(t.Context(), string(b.dir))
	check(t, err)
	if found {
		t.Error("down found it a second time")
	}
}

func TestSecondUpPrintsExportLine(t *testing.T) {
	b := upAndReady(t, Options{})
	var out bytes.Buffer
	check(t, Up(t.Context(), Options{Dir: string(b.dir)}, &out, io.Discard))
	if want := "already running\n" + ExportLine(string(b.dir)) + "\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestKilledComponentIsNotRestarted(t *testing.T) {
	b := upAndReady(t, Options{})
	var before, after ports
	check(t, b.dir.readJSON("ports.json", &before))
	killed := b.pid(t, APIServer)
	check(t, syscall.Kill(killed, syscall.SIGKILL))
	eventually(t, "no pid file", func() bool {
		_, err := os.Stat(b.dir.pid(APIServer))
		return os.IsNotExist(err)
	})

	check(t, Restart(t.Context(), string(b.dir), APIServer))
	if b.pid(t, APIServer) == killed {
		t.Error("the same process")
	}
	check(t, b.dir.readJSON("ports.json", &after))
	if before != after {
		t.Errorf("ports changed from %v to %v", before, after)
	}
	if err := Restart(t.Context(), string(b.dir), "kubelet"); err == nil {
		t.Error("restarted a component that does not exist")
	}
}

func TestRestartReplacesPausedComponent(t *testing.T) {
	b := upAndReady(t, Options{})
	paused := b.pid(t, Etcd)
	check(t, syscall.Kill(paused, syscall.SIGSTOP))
	check(t, Restart(t.Context(), string(b.dir), Etcd))
	if alive(paused) {
		t.Error("the paused process is still there")
	}
}

func TestComponentCrashDuringStart(t *testing.T) {
	b := up(t, Options{EtcdArgs: []string{"--broken=true"}})
	err := <-b.err
	b.err <- err
	if err == nil || !strings.Contains(err.Error(), "the disk is made of cheese") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got error %v", err)
	}
}

func TestRestartKeepsPortsAndCredentials(t *testing.T) {
	b := upAndReady(t, Options{})
	before, err := os.ReadFile(b.dir.kubeconfig())
	check(t, err)
	_, err = Down(t.Context(), string(b.dir))
	check(t, err)

	again := upAndReady(t, Options{Dir: string(b.dir)})
	after, err := os.ReadFile(again.dir.kubeconfig())
	check(t, err)
	if !bytes.Equal(before, after) {
		t.Errorf("kubeconfig changed from\n%s\nto\n%s", before, after)
	}
}

func TestUpEndsWithParent(t *testing.T) {
	// The test process is not the child of this one, as if that had died.
	other := exec.Command("sleep", "60")
	check(t, other.Start())
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	dir := t.TempDir() + "/new"
	b := up(t, Options{Dir: dir, ParentPID: other.Process.Pid, Remove: true})
	<-b.err
	b.err <- nil
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}

func TestForeignFilesAreNotRemoved(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(dir+"/thesis.tex", nil, 0o600))
	if err := Up(t.Context(), Options{Dir: dir, Remove: true}, io.Discard, io.Discard); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(dir + "/thesis.tex"); err != nil {
		t.Error(err)
	}
}

func TestExportLineIsShellSafe(t *testing.T) {
	for dir, want := range map[string]string{
		"/tmp/plain-1_2.3": "export KUBECONFIG=/tmp/plain-1_2.3/kubeconfig",
		"/tmp/two words":   "export KUBECONFIG='/tmp/two words/kubeconfig'",
		"/tmp/it's":        `export KUBECONFIG='/tmp/it'\''s/kubeconfig'`,
	} {
		if got := ExportLine(dir); got != want {
			t.Errorf("%s: got %s, want %s", dir, got, want)
		}
	}
}

func TestPortsAreDistinctAndLow(t *testing.T) {
	p, err := directory(t.TempDir()).choosePorts()
	check(t, err)
	seen := map[int]bool{}
	for _, port := range p.each() {
		if *port < lowestPort || *port >= highestPort || seen[*port] {
			t.Errorf("bad port %d among %+v", *port, p)
		}
		seen[*port] = true
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := poll(ctx, func() error {
		if condition() {
			return nil
		}
		return errors.New("still not: " + what)
	})
	check(t, err)
}

type safeBuffer struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.text.String()
}
