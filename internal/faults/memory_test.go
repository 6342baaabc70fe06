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
	var log bytes.Buffer
	process := exec.Command(os.Args[0], "--kubeconfig="+w.cluster.Kubeconfig(), "--metrics-bind-address=127.0.0.1:0", "--callback-bind-address=0", "--leader-elect=false")
	process.Env = append(os.Environ(), asProgram+"=1", "GOMEMLIMIT=460MiB")
	process.Stdout, process.Stderr = &log, &log
	require.NoError(t, process.Start())
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	t.Cleanup(func() {
		_ = process.Process.Kill()
		<-ended
		if t.Failed() {
			t.Log(log.String())
		}
	})
	w.Submit(namespace, "app", oneConfig)
	w.AwaitHeld(namespace, "app")
	before := residentMiB(t, process.Process.Pid)

	const length = 64 << 20
	inSlice := func(name, text string) string {
		data := compress.Encode([]byte(text))
		part := v1alpha1.ApplicationSlice{Application: name, Data: data}
		part.APIVersion, part.Kind, part.Name, part.Namespace = v1alpha1.GroupVersion.String(), v1alpha1.SliceKind, slice.Name(name, data), tenant
		raw, err := json.Marshal(part)
		require.NoError(t, err)
		w.Kubectl(string(raw), "create", "-n", tenant, "--filename=-")
		return fmt.Sprintf(`{"manifest":[{"slices":[%q]}]}`, part.Name)
	}
	object := func(list string) string {
		return `[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"b"},"more":` + list + `}]`
	}
	for _, row := range []struct{ name, spec, message string }{
		{"zeros", inSlice("zeros", listOf("0", length)), "more than the limit of 40 MiB"},
		{"maps", inSlice("maps", listOf(`{"":0}`, length)), "more than the limit of 40 MiB"},
		{"elements", inSlice("elements", listOf("0", length/2)), "elements, more than the limit of 20000"},
		{"one-object", inSlice("one-object", object(listOf(`{"":0}`, length/2))), "MiB of memory, more than the limit of 115"},
		{"text", inSlice("text", object(listOf(`"`+strings.Repeat("a", 1<<20)+`"`, length))), "more than the limit of 40 MiB"},
		{"manifests", `{"manifest":` + listOf("{}", 1350<<10) + `}`, "spec.manifest has 460800 elements, more than the limit of 20000"},
		{"schemas", `{"manifest":[],"observerSchema":` + listOf("{}", 1350<<10) + `}`, "spec.observerSchema has 460800 elements, more than the limit of 20000"},
	} {
		w.Kubectl(fmt.Sprintf(`{"apiVersion":"holdfast.dev/v1alpha1","kind":"Application","metadata":{"name":%q},"spec":%s}`, row.name, row.spec), "create", "-n", tenant, "--filename=-")
		w.Until("the refusal of "+row.name, func() bool { return strings.Contains(w.ready(tenant, row.name), row.message) })
		w.Kubectl("", "patch", "configmap", "config", "-n", namespace, "--type=merge", `--patch={"data":{"key":"`+row.name+`"}}`)
		w.Until("the correction of another tenant's object", func() bool {
			value, _, err := unstructured.NestedString(w.get(configMaps, namespace, "config").Object, "data", "key")
			return err == nil && value == "ours"
		})
	}
	peak := residentMiB(t, process.Process.Pid)
	t.Logf("%d MiB before, and %d MiB at most", before, peak)
	assert.Less(t, peak, 400, "the Pod has 512 MiB")
	select {
	case err := <-ended:
		ended <- err
		t.Errorf("the controller has ended: %v", err)
	default:
	}
}

// residentMiB returns the largest resident memory of a process so far.
func residentMiB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	match := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, match)
	kib, err := strconv.Atoi(string(match[1]))
	require.NoError(t, err)
	return kib >> 10
}
