package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/compress"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/program"
	"holdfast.dev/holdfast/pkg/slice"
)

// asProgram is an environment variable that makes the test binary run as the controller.
const asProgram = "HOLDFAST_FAULTS_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(program.Main(program.Options{}))
	}
	testcluster.Main(m, testcluster.Options{})
}

// listOf returns a JSON list with the given length and equal elements.
func listOf(element string, length int) string {
	return "[" + strings.Repeat(element+",", length/(len(element)+1)-1) + element + "]"
}

// A tenant can write Applications that are short, and would take more memory to decode than the Pod of the controller
// has. The controller refuses them, and holds the others.
func TestNoTenantExhaustsTheMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of a process is read from /proc")
	}
	w := newWorld(t)
	namespace, tenant := w.Namespace(), w.Namespace()
	c := startProgram(w)
	w.Submit(namespace, "app", oneConfig)
	w.AwaitHeld(namespace, "app")
	before := c.residentMiB()

	const length = 64 << 20
	inSlice := func(name, text string) string { return w.inSlice(tenant, name, text) }
	for _, row := range []struct{ name, spec, message string }{
		{"zeros", inSlice("zeros", listOf("0", length)), "more than the limit of 40 MiB"},
		{"maps", inSlice("maps", listOf(`{"":0}`, length)), "more than the limit of 40 MiB"},
		{"elements", inSlice("elements", listOf("0", length/2)), "elements, more than the limit of 20000"},
		{"one-object", inSlice("one-object", withMore("x", listOf(`{"":0}`, length/2))), "MiB of memory, more than the limit of 115"},
		{"text", inSlice("text", withMore("x", listOf(`"`+strings.Repeat("a", 1<<20)+`"`, length))), "more than the limit of 40 MiB"},
		{"manifests", `{"manifest":` + listOf("{}", 1350<<10) + `}`, "spec.manifest has 460800 elements, more than the limit of 20000"},
		{"schemas", `{"manifest":[],"observerSchema":` + listOf("{}", 1350<<10) + `}`, "spec.observerSchema has 460800 elements, more than the limit of 20000"},
	} {
		w.create(tenant, row.name, row.spec)
		w.Until("the refusal of "+row.name, func() bool { return strings.Contains(w.ready(tenant, row.name), row.message) })
		w.Kubectl("", "patch", "configmap", "config", "-n", namespace, "--type=merge", `--patch={"data":{"key":"`+row.name+`"}}`)
		w.Until("the correction of another tenant's object", func() bool {
			value, _, err := unstructured.NestedString(w.get(configMaps, namespace, "config").Object, "data", "key")
			return err == nil && value == "ours"
		})
	}
	t.Logf("%d MiB before", before)
	c.assertFits()
}

// Several tenants together can write Applications that are each just below the limit. The controller finds all of them
// when it starts.
func TestLargeApplicationsAtOnceFit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of a process is read from /proc")
	}
	w := newWorld(t)
	const each = 3
	namespaces := []string{w.Namespace(), w.Namespace(), w.Namespace(), w.Namespace()}
	name := func(i int) string { return fmt.Sprintf("large-%d", i) }
	for _, namespace := range namespaces {
		for i := range each {
			w.create(namespace, name(i), w.inSlice(namespace, name(i), withMore(name(i), listOf(`{"":0}`, 1800<<10))))
		}
	}
	c := startProgram(w)
	for _, namespace := range namespaces {
		for i := range each {
			w.Until("the status of "+name(i), func() bool { return w.ready(namespace, name(i)) != "" })
		}
	}
	c.assertFits()
}

// inSlice creates a slice, and returns a spec whose manifests are in it.
func (w *world) inSlice(namespace, application, text string) string {
	w.t.Helper()
	data := compress.Encode([]byte(text))
	part := v1alpha1.ApplicationSlice{Application: application, Data: data}
	part.APIVersion, part.Kind, part.Name, part.Namespace = v1alpha1.GroupVersion.String(), v1alpha1.SliceKind, slice.Name(application, data), namespace
	raw, err := json.Marshal(part)
	require.NoError(w.t, err)
	w.Kubectl(string(raw), "create", "-n", namespace, "--filename=-")
	return fmt.Sprintf(`{"manifest":[{"slices":[%q]}]}`, part.Name)
}

// create creates an Application with a spec in JSON.
func (w *world) create(namespace, name, spec string) {
	w.t.Helper()
	w.Kubectl(fmt.Sprintf(`{"apiVersion":"holdfast.dev/v1alpha1","kind":"Application","metadata":{"name":%q},"spec":%s}`, name, spec), "create", "-n", namespace, "--filename=-")
}

// withMore returns a list with one manifest that contains a value.
func withMore(name, value string) string {
	return `[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"},"data":{"a":"b"},"more":` + value + `}]`
}

// process is the controller as a process of its own, with the memory limit of deploy/manager.
type process struct {
	t     *testing.T
	pid   int
	ended chan error
}

func startProgram(w *world) *process {
	w.t.Helper()
	var log bytes.Buffer
	command := exec.Command(os.Args[0], "--kubeconfig="+w.cluster.Kubeconfig(), "--metrics-bind-address=127.0.0.1:0", "--callback-bind-address=0", "--leader-elect=false")
	command.Env = append(os.Environ(), asProgram+"=1", "GOMEMLIMIT=460MiB")
	command.Stdout, command.Stderr = &log, &log
	require.NoError(w.t, command.Start())
	p := &process{w.t, command.Process.Pid, make(chan error, 1)}
	go func() { p.ended <- command.Wait() }()
	w.t.Cleanup(func() {
		_ = command.Process.Kill()
		<-p.ended
		if w.t.Failed() {
			w.t.Log(log.String())
		}
	})
	return p
}

// assertFits checks that the process still runs, and never needed more memory than its Pod has.
func (p *process) assertFits() {
	p.t.Helper()
	peak := p.residentMiB()
	p.t.Logf("%d MiB at most", peak)
	assert.Less(p.t, peak, 400, "the Pod has 512 MiB")
	select {
	case err := <-p.ended:
		p.ended <- err
		p.t.Errorf("the controller has ended: %v", err)
	default:
	}
}

// residentMiB returns the largest resident memory of the process so far.
func (p *process) residentMiB() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	require.NoError(p.t, err)
	match := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(p.t, match)
	kib, err := strconv.Atoi(string(match[1]))
	require.NoError(p.t, err)
	return kib >> 10
}
