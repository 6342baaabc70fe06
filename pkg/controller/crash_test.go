package controller_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

// moment is the point during a request at which a process dies.
type moment string

const (
	beforeSending  moment = "before it is sent"
	beforeResponse moment = "after it is sent"
	afterResponse  moment = "after its response"
)

// moments returns the points of a write at which a process dies. It returns one, which changes from
// write to write, or all of them in the full run.
func moments(write int) []moment {
	all := []moment{beforeSending, beforeResponse, afterResponse}
	next := write % len(all)
	return samples.Of(all[next:next+1], all)
}

// death makes a process die at one of its writes in a namespace. The process sends no request after
// that.
type death struct {
	http.RoundTripper
	namespace string
	at        int // 0: never
	when      moment
	died      chan struct{}

	mu     sync.Mutex
	writes int
	dead   bool
}

var errDead = errors.New("the process is dead")

func (d *death) wrap(next http.RoundTripper) http.RoundTripper {
	d.RoundTripper = next
	return d
}

func (d *death) RoundTrip(request *http.Request) (*http.Response, error) {
	doomed, dead := d.count(request)
	if dead || doomed && d.when == beforeSending {
		return nil, errDead
	}
	response, err := d.RoundTripper.RoundTrip(request)
	if !doomed {
		return response, err
	}
	defer d.die()
	if err == nil && d.when == beforeResponse {
		response.Body.Close()
		return nil, errDead
	}
	return response, err
}

// count reports whether the process dies at this request, or is already dead.
func (d *death) count(request *http.Request) (doomed, dead bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return false, true
	}
	if request.Method == http.MethodGet || !strings.Contains(request.URL.Path, d.namespace) || strings.HasSuffix(request.URL.Path, "/events") {
		return false, false
	}
	d.writes++
	if d.writes != d.at {
		return false, false
	}
	if d.when == beforeSending {
		d.dead = true
		close(d.died)
	}
	return true, false
}

func (d *death) die() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.dead {
		d.dead = true
		close(d.died)
	}
}

const before = `
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {same: "1", removed: "2", changed: "3"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: removed}, data: {key: held}}
- {apiVersion: v1, kind: Secret, metadata: {name: secret}, stringData: {password: secret}}
- {apiVersion: v1, kind: Service, metadata: {name: service}, spec: {selector: {app: web}, ports: [{port: 80}]}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}},
   template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1", resources: {limits: {cpu: 1000m}}}]}}}}
observerSchema:
- {apiVersion: v1, kind: Service, metadata: {name: service}, spec: {sessionAffinity: observed, selector: {app: observed}}}
`

var after = strings.NewReplacer(
	`same: "1", removed: "2", changed: "3"`, `same: "1", changed: "4"`,
	"{name: removed}", "{name: added}",
	"web:1", "web:2",
	"observerSchema:", "- {apiVersion: v1, kind: ServiceAccount, metadata: {name: added}}\nobserverSchema:",
).Replace(before)

// A process can die at any of its writes. The next process reaches the same state as a process that
// survives, with the same number of creations and deletions.
func TestADeathAtAnyWriteIsNoLoss(t *testing.T) {
	t.Parallel()
	for _, life := range []struct {
		name string
		// given runs under a process that survives. when runs under the process that dies.
		given, when func(*fixture)
		then        func(*fixture)
	}{
		{
			name: "when an Application is created",
			when: func(f *fixture) { f.Submit("app", before) },
			then: func(f *fixture) { f.AwaitHeld("app") },
		},
		{
			name:  "when a field, a value and a resource give way to others",
			given: func(f *fixture) { f.Submit("app", before); f.AwaitHeld("app") },
			when:  func(f *fixture) { f.Submit("app", after) },
			then:  func(f *fixture) { f.AwaitHeld("app") },
		},
		{
			name:  "when an Application is deleted",
			given: func(f *fixture) { f.Submit("app", before); f.AwaitHeld("app") },
			when:  func(f *fixture) { f.Delete(applications, "app") },
			then:  func(f *fixture) { f.AwaitGone(applications, "app") },
		},
	} {
		t.Run(life.name, func(t *testing.T) {
			cluster := givenAlone(t, testcluster.Options{})
			churn := cluster.recordChurn()
			run := func(name string, at int, when moment) (*fixture, *death) {
				f := cluster.Elsewhere(t)
				if life.given != nil {
					healthy := f.Run(controller.Options{})
					life.given(f)
					healthy.Stop()
				}
				f.Mark()
				d := &death{namespace: f.namespace, at: at, when: when, died: make(chan struct{})}
				mortal := f.RunThrough(d.wrap, controller.Options{})
				life.when(f)
				if at > 0 {
					select {
					case <-d.died:
					case <-time.After(patience):
						t.Fatalf("%s: no such write; requests:\n%s", name, f.Requests())
					}
					mortal.Stop()
					mortal = f.Run(controller.Options{})
				}
				life.then(f)
				if at == 0 {
					f.Quiet(time.Second)
				}
				mortal.Stop()
				return f, d
			}
			alive, d := run("life", 0, "")
			want, writes := alive.snapshot(), d.writes
			require.Positive(t, writes)

			runs := map[string]*fixture{}
			for at := 1; at <= writes; at++ {
				for _, when := range moments(at) {
					name := fmt.Sprintf("death at write %d of %d, %s", at, writes, when)
					runs[name], _ = run(name, at, when)
				}
			}
			last := cluster.Run(controller.Options{})
			cluster.Quiet(quiet)
			last.Stop()
			wantChurn := churn.in(alive.namespace)
			for name, f := range runs {
				assert.Equal(t, want, f.snapshot(), name)
				churn.assert(f, wantChurn, name)
			}
			t.Logf("%d deaths", len(runs))
		})
	}
}

// An object that a process created but did not record is found again, even if it is no longer desired
// by then.
func TestADeathBeforeADeletionLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(f *fixture){
		"of the Application": func(f *fixture) { f.Delete(applications, "app") },
		"of its resources":   func(f *fixture) { f.Submit("app", nothing) },
	} {
		t.Run(name, func(t *testing.T) {
			alone := givenAlone(t, testcluster.Options{})
			churn := alone.recordChurn()
			runs := map[int]*fixture{}
			for at := 1; ; at++ {
				f := alone.Elsewhere(t)
				d := &death{namespace: f.namespace, at: at, when: beforeResponse, died: make(chan struct{})}
				mortal := f.RunThrough(d.wrap, controller.Options{})
				f.Submit("app", before)
				held := make(chan struct{})
				go func() {
					defer close(held)
					_, _ = until(t.Context(), f.in("user", applications), "app", func(object map[string]any) bool {
						return object != nil && condition(f.decode(object), v1alpha1.ConditionHeld).Status == metav1.ConditionTrue
					})
				}()
				select {
				case <-d.died:
				case <-held:
				}
				mortal.Stop()
				leave(f)
				next := f.Run(controller.Options{})
				f.Await(applications, "app", "gone or empty", func(object map[string]any) bool {
					app := f.decode(object)
					f.confirm(app)
					return app == nil || len(app.Status.Resources) == 0 && app.Status.ObservedGeneration == app.Generation
				})
				next.Stop()
				runs[at] = f
				if d.writes < at {
					break // it survived
				}
			}
			last := alone.Run(controller.Options{})
			alone.Quiet(quiet)
			last.Stop()
			require.Greater(t, len(runs), 6)
			for at, f := range runs {
				for _, resource := range []string{"configmaps", "secrets", "services", "deployments"} {
					f.eventually(fmt.Sprintf("all %s to go, after a death at write %d", resource, at), func() bool {
						count := churn.in(f.namespace)
						return count["ADDED "+resource] == count["DELETED "+resource]
					})
				}
			}
			t.Logf("%d deaths", len(runs)-1)
		})
	}
}

// Fields that admission added stay, even if the creation of the object was not recorded. They cannot be
// told apart from the fields in the response to the create.
func TestWebhookFieldsSurviveARestart(t *testing.T) {
	t.Parallel()
	for _, when := range []moment{beforeResponse, afterResponse} {
		t.Run("of one that dies "+string(when), func(t *testing.T) {
			f := givenAlone(t, testcluster.Options{}).Elsewhere(t)
			f.Webhook("CREATE", injecting)
			d := &death{namespace: f.namespace, at: 2, when: when, died: make(chan struct{})}
			mortal := f.RunThrough(d.wrap, controller.Options{})
			f.Submit("app", "manifest:"+web("", podLists, ""))
			select {
			case <-d.died:
			case <-time.After(patience):
				t.Fatalf("no such write; requests:\n%s", f.Requests())
			}
			mortal.Stop()
			created := f.Get(deployments, "web")
			assert.Empty(t, f.Application("app").Status.Resources, "nothing is on record")

			f.Run(controller.Options{})
			f.AwaitHeld("app")
			f.Quiet(quiet)
			live := f.Get(deployments, "web")
			assert.Equal(t, created["metadata"].(map[string]any)["generation"], live["metadata"].(map[string]any)["generation"], "the object is not written")
			raw, err := json.Marshal(live["spec"])
			require.NoError(t, err)
			for _, name := range []string{`"sidecar"`, `"injected"`, `"own"`} {
				assert.Contains(t, string(raw), name)
			}
		})
	}
}

// A second controller can start while the first one still believes that it is the leader.
func TestTwoControllersAtOnceDoNoHarm(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	churn := f.recordChurn()
	f.Run(controller.Options{})
	f.Run(controller.Options{})

	f.Submit("app", before)
	f.AwaitHeld("app")
	f.Submit("app", after)
	f.AwaitHeld("app")
	f.Patch("mallory", configMaps, "kept", `{data: {changed: theirs}}`)
	f.AwaitValue(configMaps, "kept", "4", "data", "changed")
	f.AwaitHeld("app")
	f.Quiet(quiet)
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	f.Quiet(quiet)

	// One controller may not yet know that the Application is being deleted. It may then create an object
	// again that the other has just deleted. That object is deleted, too.
	for _, resource := range kept {
		f.eventually("all "+resource.Resource+" to go", func() bool {
			count := churn.in(f.namespace)
			added, deleted := count["ADDED "+resource.Resource], count["DELETED "+resource.Resource]
			if resource == serviceAccounts {
				added-- // the ServiceAccount applier
			}
			return added > 0 && added == deleted
		})
	}
	t.Logf("requests of two controllers: %v", counts(f.Requests()))
}

// requestsHere returns all requests in the namespace, from every controller.
func (f *fixture) requestsHere() testcluster.Requests {
	return f.Requests().Where(func(r testcluster.Request) bool { return r.Namespace == f.namespace })
}

// churn counts the objects that are created and deleted in each namespace. The audit log is not enough:
// the API server may have executed a request after the client gave up on it.
type churn struct {
	mu    sync.Mutex
	count map[string]map[string]int
}

// kept lists the resources that snapshots and churn cover.
var kept = []schema.GroupVersionResource{applications, configMaps, secrets, services, deployments, serviceAccounts}

func (f *fixture) recordChurn() *churn {
	f.t.Helper()
	c := &churn{count: map[string]map[string]int{}}
	for _, resource := range kept {
		stream, err := f.As("user").Resource(resource).Watch(f.t.Context(), metav1.ListOptions{})
		require.NoError(f.t, err)
		go func() {
			for event := range stream.ResultChan() {
				u, ok := event.Object.(*unstructured.Unstructured)
				if ok && (event.Type == watch.Added || event.Type == watch.Deleted) {
					c.note(u.GetNamespace(), fmt.Sprint(event.Type, " ", resource.Resource))
				}
			}
		}()
	}
	return c
}

func (c *churn) note(namespace, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count[namespace] == nil {
		c.count[namespace] = map[string]int{}
	}
	c.count[namespace][what]++
}

func (c *churn) in(namespace string) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.count[namespace])
}

// assert waits until the watches have delivered the creations and deletions in a test's namespace.
func (c *churn) assert(f *fixture, want map[string]int, what string) {
	f.t.Helper()
	_ = wait.PollUntilContextTimeout(f.t.Context(), 50*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return maps.Equal(want, c.in(f.namespace)), nil })
	assert.Equal(f.t, want, c.in(f.namespace), "%s:\n%s", what, f.requestsHere())
}

var (
	times = regexp.MustCompile(`(?m)^.*(lastTransitionTime|creationTimestamp|lastCorrection|nextCorrection|time|since|resourceVersion|generation):.*\n`)
	uids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	ips   = regexp.MustCompile(`10\.0\.\d+\.\d+`)
)

// snapshot returns everything in the namespace that outlives a process, as text. It leaves out times,
// versions and generated names.
func (f *fixture) snapshot() string {
	f.t.Helper()
	var text strings.Builder
	for _, resource := range kept {
		list, err := f.in("user", resource).List(f.t.Context(), metav1.ListOptions{})
		require.NoError(f.t, err)
		for _, item := range list.Items {
			unstructured.RemoveNestedField(item.Object, "metadata", "managedFields")
			// The generation in the status belongs to the spec, not to a process.
			if item.GetKind() == "Application" {
				observed, _, _ := unstructured.NestedInt64(item.Object, "status", "observedGeneration")
				fmt.Fprintf(&text, "# observed: %v\n", observed == item.GetGeneration())
				// The history lacks what a process did before it died without recording it.
				unstructured.RemoveNestedField(item.Object, "status", "history")
				// The annotation contains names of objects, and each run has its own namespace.
				if annotations := item.GetAnnotations(); annotations[v1alpha1.AnnotationCreating] != "" {
					annotations[v1alpha1.AnnotationCreating] = observertest.Unpacked(f.t, annotations[v1alpha1.AnnotationCreating])
					item.SetAnnotations(annotations)
				}
			}
			raw, err := yaml.Marshal(item.Object)
			require.NoError(f.t, err)
			fmt.Fprintf(&text, "---\n%s", raw)
		}
	}
	same := strings.ReplaceAll(text.String(), f.namespace, "$NS")
	same = times.ReplaceAllString(same, "")
	same = ips.ReplaceAllString(same, "$$IP")
	return uids.ReplaceAllString(same, "$$UID")
}

// Fields that a patch adds are recorded before the patch is sent.
func TestAFieldThatWasWrittenBeforeADeath(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	spec := func(data string) string {
		return `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours` + data + `}}]`
	}
	first := f.Run(controller.Options{})
	f.Submit("app", spec(""))
	f.AwaitReady("app")
	first.Stop()
	f.Submit("app", spec(", other: x"))
	end := &death{namespace: f.namespace + "/", at: 3, when: beforeSending, died: make(chan struct{})}
	second := f.RunThrough(end.wrap, controller.Options{})
	<-end.died
	second.Stop()
	assert.Equal(t, "x", value(f.Get(configMaps, "config"), "data", "other"))
	f.Submit("app", spec(""))
	f.Run(controller.Options{})
	f.AwaitReady("app")
	f.Quiet(quiet)
	assert.Nil(t, value(f.Get(configMaps, "config"), "data", "other"))
}

// tardy keeps back the create requests of one resource.
type tardy struct {
	http.RoundTripper
	resource string
	caught   chan *http.Request
}

func (d *tardy) wrap(next http.RoundTripper) http.RoundTripper {
	d.RoundTripper = next
	return d
}

func (d *tardy) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, d.resource) {
		return d.RoundTripper.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	late := request.Clone(context.WithoutCancel(request.Context()))
	late.Body = io.NopCloser(bytes.NewReader(body))
	select {
	case d.caught <- late:
	default:
	}
	<-request.Context().Done()
	return nil, request.Context().Err()
}

// A request can reach the API server after its process has ended. The object that it creates is no
// longer desired, and no other object of its kind is in use.
func TestLateCreateIsDeleted(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	const config = `{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: %s}}`
	late := &tardy{resource: "/secrets", caught: make(chan *http.Request, 1)}
	first := f.RunThrough(late.wrap, controller.Options{Drain: time.Millisecond})
	f.Submit("app", fmt.Sprintf(`{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: secret}}, `+config+`]}`, "one"))
	create := <-late.caught
	first.Stop()
	f.Submit("app", fmt.Sprintf(`{manifest: [`+config+`]}`, "two"))
	f.Run(controller.Options{})
	f.AwaitReady("app")
	f.Submit("app", fmt.Sprintf(`{manifest: [`+config+`]}`, "three"))
	f.AwaitValue(configMaps, "config", "three", "data", "key")
	f.AwaitReady("app")
	f.Quiet(time.Second)

	response, err := late.RoundTripper.RoundTrip(create)

	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusCreated, response.StatusCode)
	f.AwaitGone(secrets, "secret")
}
