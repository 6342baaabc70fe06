package controller_test

import (
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
)

// meddler lets another client act immediately before a request is sent. At that point the request is
// decided, and it is wrong from then on. It can also delay watch events.
type meddler struct {
	http.RoundTripper

	mu             sync.Mutex
	method, suffix string
	act            func()
	lagging        map[string]chan struct{} // by resource; closed to let the events through
}

func (m *meddler) wrap(next http.RoundTripper) http.RoundTripper {
	m.RoundTripper = next
	return m
}

// before runs act once, before the next request with this method and path. The test fails if there is
// no such request.
func (m *meddler) before(t *testing.T, method, suffix string, act func()) {
	t.Helper()
	var done atomic.Bool
	m.mu.Lock()
	defer m.mu.Unlock()
	m.method, m.suffix, m.act = method, suffix, func() {
		done.Store(true)
		act()
	}
	t.Cleanup(func() {
		m.due(&http.Request{Method: method, URL: &url.URL{Path: suffix}}) // do not act in the next test
		assert.True(t, done.Load(), "nothing was done before a %s of %s", method, suffix)
	})
}

// lag holds back all watch events of a resource until the returned function is called.
func (m *meddler) lag(resource string) (goOn func()) {
	gate := make(chan struct{})
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lagging == nil {
		m.lagging = map[string]chan struct{}{}
	}
	m.lagging[resource] = gate
	return sync.OnceFunc(func() { close(gate) })
}

func (m *meddler) gate(resource string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lagging[resource]
}

func (m *meddler) RoundTrip(request *http.Request) (*http.Response, error) {
	if act := m.due(request); act != nil {
		act()
	}
	response, err := m.RoundTripper.RoundTrip(request)
	if err == nil && request.URL.Query().Get("watch") != "" {
		response.Body = &gated{response.Body, func() <-chan struct{} { return m.gate(path.Base(request.URL.Path)) }}
	}
	return response, err
}

// gated is the body of a watch whose data can be held back.
type gated struct {
	io.ReadCloser
	gate func() <-chan struct{}
}

func (g *gated) Read(p []byte) (int, error) {
	n, err := g.ReadCloser.Read(p)
	if gate := g.gate(); gate != nil {
		<-gate
	}
	return n, err
}

func (m *meddler) due(request *http.Request) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.act == nil || request.Method != m.method || !strings.HasSuffix(request.URL.Path, m.suffix) {
		return nil
	}
	act := m.act
	m.act = nil
	return act
}

func TestFasterClientIsNotOverwritten(t *testing.T) {
	alone := givenAlone(t, testcluster.Options{})
	m := &meddler{}
	var gone sync.Map // the objects whose post-delete hook has run
	h := hooks.New()
	h.ResourcePostDelete.Listen("note", func(c *hooks.ChangeEvent) error {
		gone.Store(c.ID, nil)
		return nil
	})
	alone.RunThrough(m.wrap, controller.Options{Hooks: h})
	held := func(t *testing.T) *fixture {
		t.Helper()
		f := alone.Elsewhere(t)
		f.Submit("app", oneConfig)
		f.AwaitReady("app")
		f.Quiet(time.Second)
		f.Mark()
		return f
	}

	t.Run("a spec that changes while the status of the last one is written is handled", func(t *testing.T) {
		f := held(t)
		// Given a watch that delivers the new spec late,
		goOn := func() {}
		m.before(t, http.MethodPatch, "/applications/app/status", func() {
			goOn = m.lag("applications")
			f.Submit("app", strings.Replace(oneConfig, "key: ours", "key: newer", 1))
		})
		f.Submit("app", "suspend: true"+oneConfig)
		f.Await(applications, "app", "written thrice", func(object map[string]any) bool {
			return f.decode(object).Generation == 3 && f.decode(object).Status.ObservedGeneration > 1
		})
		goOn()
		f.AwaitValue(configMaps, "config", "newer", "data", "key")
		f.AwaitReady("app")
		f.Quiet(quiet)
	})

	t.Run("a watch that lags behind our own writes makes us write nothing twice", func(t *testing.T) {
		f := alone.Elsewhere(t)
		f.Submit("app", configs(3))
		f.AwaitReady("app")
		f.Quiet(time.Second)
		f.Mark()
		goOn := m.lag("configmaps")
		defer goOn()
		for _, key := range []string{"a", "b", "c"} {
			f.Submit("app", strings.ReplaceAll(configs(4), "key: held", "key: "+key))
			f.AwaitReady("app")
		}
		f.Submit("app", strings.ReplaceAll(configs(2), "key: held", "key: c"))
		f.AwaitReady("app")
		goOn()
		f.Quiet(quiet)
		asked := counts(f.Requests().Where(func(r testcluster.Request) bool { return r.Resource == "configmaps" }))
		assert.Equal(t, map[string]int{"patch configmaps": 3*3 + 2, "create configmaps": 1, "delete configmaps": 2}, asked, "%s", f.Requests())
	})

	t.Run("an Application that is deleted while it is created leaves nothing", func(t *testing.T) {
		f := alone.Elsewhere(t)
		m.before(t, http.MethodPost, "/configmaps", func() { f.Delete(applications, "app") })
		f.Submit("app", oneConfig)
		f.AwaitGone(applications, "app")
		assert.Nil(t, f.Get(configMaps, "config"))
		f.Quiet(quiet)
	})

	t.Run("an Application that is deleted before it is known to us leaves nothing", func(t *testing.T) {
		f := alone.Elsewhere(t)
		m.before(t, http.MethodPatch, "/applications/app", func() { f.Delete(applications, "app") })
		f.Submit("app", oneConfig)
		f.AwaitGone(applications, "app")
		f.Quiet(quiet)
		assert.Nil(t, f.Get(configMaps, "config"))
	})

	t.Run("a held field that changes again while it is corrected is corrected", func(t *testing.T) {
		f := held(t)
		m.before(t, http.MethodPatch, "/configmaps/config", func() {
			f.Patch("mallory", configMaps, "config", `{data: {key: again, free: theirs}}`)
		})
		f.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)
		object := f.Await(configMaps, "config", "corrected", func(object map[string]any) bool {
			return value(object, "data", "key") == "ours" && value(object, "data", "free") != nil
		})
		assert.Equal(t, "theirs", value(object, "data", "free"))
		f.Quiet(quiet)
		f.AwaitReady("app")
	})

	t.Run("an object that is deleted during a correction is created again", func(t *testing.T) {
		f := held(t)
		before := value(f.Get(configMaps, "config"), "metadata", "uid")
		m.before(t, http.MethodPatch, "/configmaps/config", func() { f.Delete(configMaps, "config") })
		f.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)
		f.Await(configMaps, "config", "a new object with the desired value", func(object map[string]any) bool {
			return object != nil && value(object, "metadata", "uid") != before && value(object, "data", "key") == "ours"
		})
		f.Quiet(quiet)
		f.AwaitReady("app")
	})

	t.Run("an object that is replaced during a correction is not changed", func(t *testing.T) {
		f := held(t)
		m.before(t, http.MethodPatch, "/configmaps/config", func() { f.replace(configMaps, "config") })
		f.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)
		f.AwaitReason("app", v1alpha1.ReasonResourceConflict)
		f.Quiet(quiet)
		assert.Equal(t, "replaced", value(f.Get(configMaps, "config"), "data", "key"))
	})

	t.Run("an object that is replaced during its deletion is not changed", func(t *testing.T) {
		f := held(t)
		m.before(t, http.MethodDelete, "/configmaps/config", func() { f.replace(configMaps, "config") })
		f.Delete(applications, "app")
		f.AwaitGone(applications, "app")
		f.Quiet(quiet)
		assert.Equal(t, "replaced", value(f.Get(configMaps, "config"), "data", "key"))
	})

	t.Run("an object that is replaced while it is pruned is not changed", func(t *testing.T) {
		f := alone.Elsewhere(t)
		f.Submit("app", configs(2))
		f.AwaitReady("app")
		f.Quiet(time.Second)
		m.before(t, http.MethodDelete, "/configmaps/config-1", func() { f.replace(configMaps, "config-1") })
		f.Submit("app", configs(1))
		app := f.AwaitReady("app")
		f.Quiet(quiet)
		assert.Len(t, app.Status.Resources, 1)
		assert.Equal(t, "replaced", value(f.Get(configMaps, "config-1"), "data", "key"))
	})

	t.Run("an object that is deleted while it is pruned", func(t *testing.T) {
		f := alone.Elsewhere(t)
		f.Submit("app", configs(2))
		f.AwaitReady("app")
		f.Quiet(time.Second)
		m.before(t, http.MethodDelete, "/configmaps/config-1", func() {
			f.replace(configMaps, "config-1")
			m.before(t, http.MethodGet, "/configmaps/config-1", func() { f.Delete(configMaps, "config-1") })
		})
		goOn := m.lag("configmaps") // the watch does not report it, either
		defer goOn()
		f.Submit("app", configs(1))
		assert.Len(t, f.AwaitReady("app").Status.Resources, 1)
		f.Quiet(time.Second)
		_, told := gone.Load(manifest.ID{Kind: "ConfigMap", Namespace: f.namespace, Name: "config-1"})
		assert.True(t, told)
	})

	t.Run("a label that is set during a status write starts a retry", func(t *testing.T) {
		f := alone.Elsewhere(t)
		f.Create("somebody", `{apiVersion: v1, kind: ConfigMap, metadata: {name: config-1}}`)
		f.Submit("app", "retry: {maxAttempts: 1}\n"+configs(2))
		f.AwaitReason("app", v1alpha1.ReasonResourceConflict)
		f.Quiet(time.Second)
		// Given a watch that delivers the label late,
		goOn := func() {}
		m.before(t, http.MethodPatch, "/applications/app/status", func() {
			goOn = m.lag("applications")
			f.Delete(configMaps, "config-1")
			f.Patch("user", applications, "app", `{metadata: {labels: {team: web}}}`)
		})
		f.Patch("mallory", configMaps, "config-0", `{data: {key: theirs}}`)
		f.AwaitApplication("app", "the label, and the correction in the status", func(app *v1alpha1.Application) bool {
			return app.Labels["team"] != "" && app.Status.Resources[0].LastCorrection != nil
		})
		goOn()
		f.AwaitReady("app")
		f.Quiet(time.Second)
	})

	t.Run("an object that loses its label while the Application is deleted is deleted", func(t *testing.T) {
		f := held(t)
		m.before(t, http.MethodDelete, "/configmaps/config", func() {
			f.Patch("mallory", configMaps, "config", `{metadata: {labels: null, annotations: null}}`)
		})
		f.Delete(applications, "app")
		f.AwaitGone(applications, "app")
		assert.Nil(t, f.Get(configMaps, "config"))
	})
}

// replace deletes an object and creates a ConfigMap of the same name as another client.
func (f *fixture) replace(resource schema.GroupVersionResource, name string) {
	f.t.Helper()
	f.Delete(resource, name)
	f.AwaitGone(resource, name)
	f.Create("somebody", `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`}, data: {key: replaced}}`)
}
