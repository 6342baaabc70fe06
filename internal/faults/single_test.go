package faults_test

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
)

const oneConfig = `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}]}`

// interceptor answers requests itself, with any delay.
type interceptor struct {
	next   http.RoundTripper
	answer atomic.Pointer[func(*http.Request, http.RoundTripper) (*http.Response, error)]
}

func (i *interceptor) set(answer func(*http.Request, http.RoundTripper) (*http.Response, error)) {
	i.answer.Store(&answer)
}

func (i *interceptor) RoundTrip(request *http.Request) (*http.Response, error) {
	if answer := i.answer.Load(); answer != nil && *answer != nil {
		return (*answer)(request, i.next)
	}
	return i.next.RoundTrip(request)
}

// through starts a controller behind an interceptor.
func (w *world) through() (*interceptor, *instance) {
	w.t.Helper()
	i := &interceptor{}
	return i, w.runWith(newInjector(0), func(next http.RoundTripper) http.RoundTripper {
		i.next = next
		return i
	})
}

// A create request whose response arrives after the client's timeout has been executed nevertheless.
func TestLateResponse(t *testing.T) {
	w := newWorld(t)
	namespace := w.Namespace()
	between, _ := w.through()
	var late atomic.Int64
	between.set(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/configmaps") && late.Add(1) == 1 {
			<-request.Context().Done() // half a minute
			if err == nil {
				response.Body.Close()
			}
			return nil, request.Context().Err()
		}
		return response, err
	})
	mark := w.mark()
	w.Submit(namespace, "app", oneConfig)
	w.AwaitHeld(namespace, "app")
	w.Quiet(2 * time.Second)

	requests, err := w.cluster.Requests(mark)
	require.NoError(t, err)
	created := requests.By(agent).Where(func(r testcluster.Request) bool {
		return r.Verb == "create" && r.Resource == "configmaps" && r.Code == 201
	})
	assert.Len(t, created, 1, "it recognises its own object")
}

// If discovery of a group fails, its kinds may still exist: nothing is deleted, and nothing is forgotten.
func TestPartialDiscoveryDeletesNothing(t *testing.T) {
	w := newWorld(t)
	namespace := w.Namespace()
	const both = `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}},
  {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: web, image: web}]}}}}]}`
	_, first := w.through()
	w.Submit(namespace, "app", both)
	w.AwaitHeld(namespace, "app")
	first.stop()
	uid := w.Kubectl("", "get", "deployment", "web", "-n", namespace, "--output=jsonpath={.metadata.uid}")

	between, _ := w.runBroken("/apis/apps/v1")
	mark := w.mark()
	// The Deployment leaves the manifest while the kind Deployment cannot be resolved.
	w.Submit(namespace, "app", oneConfig)
	w.Until("a word about it", func() bool {
		return strings.Contains(w.ready(namespace, "app"), "looking up")
	})
	w.Kubectl("", "patch", "configmap", "config", "-n", namespace, "--type=merge", `--patch={"data":{"key":"theirs"}}`)
	w.Until("other kinds are held nevertheless", func() bool {
		value, _, err := unstructured.NestedString(w.get(configMaps, namespace, "config").Object, "data", "key")
		return err == nil && value == "ours"
	})
	assert.Equal(t, uid, w.Kubectl("", "get", "deployment", "web", "-n", namespace, "--output=jsonpath={.metadata.uid}"))
	assert.Contains(t, w.Kubectl("", "get", "application", "app", "-n", namespace, "--output=jsonpath={.status.resources[*].kind}"), "Deployment", "it remains in the inventory")
	requests, err := w.cluster.Requests(mark)
	require.NoError(t, err)
	assert.Empty(t, requests.By(agent).Where(func(r testcluster.Request) bool { return r.Verb == "delete" }))

	between.set(nil)
	w.Until("the Deployment is deleted", func() bool {
		return w.hasNone(deployments, namespace, "")
	})
	w.AwaitHeld(namespace, "app")
	w.Quiet(2 * time.Second)
}

// runBroken starts a controller for which a path of the API server is unavailable.
func (w *world) runBroken(path string) (*interceptor, *instance) {
	w.t.Helper()
	i := &interceptor{}
	faults := newInjector(0)
	i.set(func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.URL.Path == path {
			return faults.fail(request, http.StatusServiceUnavailable, "ServiceUnavailable")
		}
		return next.RoundTrip(request)
	})
	return i, w.runWith(faults, func(next http.RoundTripper) http.RoundTripper {
		i.next = next
		return i
	})
}

// A resource whose deletion is denied by admission remains in the inventory until it is deleted.
func TestDeniedDeleteRemainsInInventory(t *testing.T) {
	w := newWorld(t)
	namespace := w.Namespace()
	w.Run(nil)
	w.Submit(namespace, "app", oneConfig)
	w.AwaitHeld(namespace, "app")
	w.Kubectl(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: keep}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [configmaps]}]}
  validations: [{expression: "false", message: it must remain}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: keep}
spec: {policyName: keep, validationActions: [Deny]}`, "apply", "--server-side", "--filename=-")
	w.Until("the policy works", func() bool {
		err := w.tryDelete(configMaps, namespace, "config")
		return err != nil && strings.Contains(err.Error(), "it must remain")
	})

	w.Kubectl("", "delete", "application", "app", "-n", namespace, "--wait=false")
	w.Until("the denial is reported", func() bool {
		return strings.Contains(w.ready(namespace, "app"), "it must remain")
	})
	w.Quiet(2 * time.Second)
	assert.Equal(t, "config", w.Kubectl("", "get", "application", "app", "-n", namespace, "--output=jsonpath={.status.resources[*].name}"))

	w.Kubectl("", "delete", "validatingadmissionpolicybinding", "keep")
	w.Until("the end of the policy", func() bool {
		return w.tryDelete(configMaps, namespace, "config") == nil
	})
	w.Kubectl("", "annotate", "application", "app", "-n", namespace, "holdfast.dev/reconcile=now")
	w.Until("everything is gone", func() bool {
		return w.hasNone(configMaps, namespace, "holdfast.dev/application-uid") && w.hasNone(applications, namespace, "")
	})
}

// Kinds that are created and deleted repeatedly leak neither goroutines nor memory.
func TestRepeatedKindChangesLeakNothing(t *testing.T) {
	kinds, rounds := samples.Of(20, 200), 5
	if os.Getenv("FAULT_DURATION") != "" {
		rounds = 50 // in long runs
	}
	w := newWorld(t)
	namespace := w.Namespace()
	var definitions, objects []string
	for i := range kinds {
		definitions = append(definitions, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kind%[1]ds.example.com}
spec: {group: example.com, scope: Namespaced, names: {kind: Kind%[1]d, plural: kind%[1]ds},
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}`, i))
		objects = append(objects, fmt.Sprintf(`{apiVersion: example.com/v1, kind: Kind%d, metadata: {name: a}, spec: {a: b}}`, i))
	}
	w.Kubectl(strings.Join(definitions, "\n---\n"), "apply", "--server-side", "--filename=-")
	w.Kubectl("", "wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")
	running := w.Run(nil)
	all := `{manifest: [` + strings.Join(objects, ", ") + `]}`
	round := func() {
		w.Submit(namespace, "app", all)
		w.AwaitHeld(namespace, "app")
		w.Until("a watch for each kind", func() bool { return running.Watching() == kinds })
		w.Kubectl("", "delete", "application", "app", "-n", namespace, "--timeout=60s")
		w.Until("no watch", func() bool { return running.Watching() == 0 })
	}
	round() // the first round creates connections and caches
	w.Quiet(time.Second)
	goroutines, heap := runtime.NumGoroutine(), heapInUse()

	for range rounds {
		round()
	}
	w.Quiet(time.Second)
	w.Until(fmt.Sprint(goroutines, " goroutines again"), func() bool { return runtime.NumGoroutine() <= goroutines+5 })
	after := heapInUse()
	t.Logf("%d kinds, created and deleted %d times: %d goroutines, then %d; %d KiB, then %d", kinds, rounds, goroutines, runtime.NumGoroutine(), heap/1024, after/1024)
	assert.Less(t, after, heap+heap/2+4<<20)
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
