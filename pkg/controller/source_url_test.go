package controller_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/fetch"
	"holdfast.dev/holdfast/pkg/source"
)

// site is an HTTPS server for templates, on a loopback address.
type site struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	pages  map[string]string
	down   bool
	sent   map[string]int // responses with a body
	asked  map[string]int
	closed chan struct{} // closed at the end, to release hanging requests
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, pages: map[string]string{}, sent: map[string]int{}, asked: map[string]int{}, closed: make(chan struct{})}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(func() {
		close(s.closed)
		s.Close()
	})
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/t/hanging":
		select {
		case <-s.closed:
		case <-r.Context().Done():
		}
		return
	case "/t/endless":
		for block := make([]byte, 1<<16); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	case "/t/elsewhere":
		http.Redirect(w, r, "http://127.0.0.2/latest/meta-data", http.StatusFound)
		return
	case "/t/outside":
		http.Redirect(w, r, "/secret?token=hunter2", http.StatusFound)
		return
	}
	s.mu.Lock()
	text, has := s.pages[r.URL.Path]
	down := s.down
	s.asked[r.URL.Path]++
	s.mu.Unlock()
	if down {
		http.Error(w, "hunter2", http.StatusServiceUnavailable)
		return
	}
	if !has {
		http.NotFound(w, r)
		return
	}
	sum := sha256.Sum256([]byte(text))
	tag := `"` + hex.EncodeToString(sum[:4]) + `"`
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.mu.Lock()
	s.sent[r.URL.Path]++
	s.mu.Unlock()
	fmt.Fprint(w, text)
}

// Put adds a page to the server and returns its URL.
func (s *site) Put(path, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = text
	return s.URL + path
}

// Down makes the server respond only with errors, or ends that.
func (s *site) Down(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// counted returns how often a page was requested, and how often it was sent.
func (s *site) counted(path string) (asked, sent int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path], s.sent[path]
}

// AwaitAsked waits until a page was requested the given number of times more.
func (s *site) AwaitAsked(f *fixture, path string, more int) {
	f.t.Helper()
	begin, _ := s.counted(path)
	f.eventually("requests for "+path, func() bool {
		asked, _ := s.counted(path)
		return asked >= begin+more
	})
}

// fetcher may fetch pages below /t/ of the server. It may also fetch http://127.0.0.2, but not connect
// to that address.
func (s *site) fetcher(timeout time.Duration) *fetch.Fetcher {
	s.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	f, err := fetch.New(fetch.Options{
		Prefixes: []string{s.URL + "/t/", "http://127.0.0.2/"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, Timeout: timeout,
	})
	require.NoError(s.t, err)
	return f
}

// gate is a Fetcher that blocks requests for /t/stuck until it is opened.
type gate struct {
	source.Fetcher

	open    chan struct{}
	waiting atomic.Int64
}

func (g *gate) Get(ctx context.Context, url string, before fetch.Page) (fetch.Page, error) {
	if strings.HasSuffix(url, "/t/stuck") {
		g.waiting.Add(1)
		select {
		case <-g.open:
		case <-ctx.Done():
		}
	}
	return g.Fetcher.Get(ctx, url, before)
}

func TestATemplateBehindAURL(t *testing.T) {
	cluster := givenAlone(t, testcluster.Options{})
	s := newSite(t)
	const limit = 10 * time.Second // only hanging requests take this long, even on a busy machine
	gate := &gate{Fetcher: s.fetcher(limit), open: make(chan struct{})}
	options := controller.Options{Fetcher: gate, SourceInterval: time.Second}
	running := cluster.Run(options)
	s.Put("/t/page.yaml", page("page", "one"))

	t.Run("is asked for changes, which costs nothing while there are none", func(t *testing.T) {
		f := cluster.Elsewhere(t)
		url := s.Put("/t/quiet.yaml", page("page", "one"))
		f.Submit("app", fmt.Sprintf(`tosca: {url: "%s?token=hunter2"}`, url))
		before := f.AwaitReady("app")
		assert.Equal(t, "one", value(f.Get(configMaps, "page"), "data", "text"))
		f.awaitEvents(1)
		s.AwaitAsked(f, "/t/quiet.yaml", 1)
		f.Mark()
		s.AwaitAsked(f, "/t/quiet.yaml", 3)
		assert.Empty(t, f.Requests().Where(func(r testcluster.Request) bool { return r.Namespace == f.namespace }))
		_, sent := s.counted("/t/quiet.yaml")
		assert.Equal(t, 1, sent)

		s.Put("/t/quiet.yaml", page("page", "two"))
		f.AwaitValue(configMaps, "page", "two", "data", "text")
		after := f.AwaitApplication("app", "to have another digest", func(app *v1alpha1.Application) bool {
			return app.Status.SourceDigest != before.Status.SourceDigest
		})
		assert.NotEqual(t, before.Status.ManifestDigest, after.Status.ManifestDigest)
		assert.Equal(t, before.Generation, after.Generation)
		s.Put("/t/quiet.yaml", page("other", "three"))
		f.Await(configMaps, "other", "there", func(object map[string]any) bool { return object != nil })
		f.AwaitGone(configMaps, "page")
	})

	t.Run("has imports, which are asked for, too", func(t *testing.T) {
		f := cluster.Elsewhere(t)
		types := func(text string) string {
			return `node_types: {acme.Page: {derived_from: tosca.nodes.indigo.KubernetesObject, properties: {spec: {type: string,
  default: {apiVersion: v1, kind: ConfigMap, metadata: {name: page}, data: {text: ` + text + `}}}}}}`
		}
		url := s.Put("/t/types.yaml", types("one"))
		f.Submit("app", inline("tosca_definitions_version: tosca_simple_yaml_1_3\nimports: ['"+url+"']\ntopology_template: {node_templates: {a: {type: acme.Page}}}", "", ""))
		f.AwaitReady("app")
		assert.Equal(t, "one", value(f.Get(configMaps, "page"), "data", "text"))
		s.AwaitAsked(f, "/t/types.yaml", 2)
		_, sent := s.counted("/t/types.yaml")
		assert.Equal(t, 1, sent)
		s.Put("/t/types.yaml", types("two"))
		f.AwaitValue(configMaps, "page", "two", "data", "text")
	})

	t.Run("with a digest is fetched once", func(t *testing.T) {
		f := cluster.Elsewhere(t)
		url := s.Put("/t/pinned.yaml", page("page", "pinned"))
		f.Submit("app", fmt.Sprintf(`tosca: {url: %q, sha256: "%064d"}`, url, 0))
		_, message := f.AwaitNotRendered("app", v1alpha1.ReasonFetchFailed)
		assert.Contains(t, message, url+" cannot be fetched: its SHA-256 digest is ")
		sum := sha256.Sum256([]byte(page("page", "pinned")))
		f.Submit("app", fmt.Sprintf(`tosca: {url: %q, sha256: "%x"}`, url, sum))
		f.AwaitReady("app")
		f.Quiet(time.Second)
		asked, _ := s.counted("/t/pinned.yaml")
		f.Quiet(quiet)
		again, _ := s.counted("/t/pinned.yaml")
		assert.Equal(t, asked, again)
	})

	for _, row := range []struct{ name, path, reason, message string }{
		{"that is not allowed", "/other.yaml", v1alpha1.ReasonSourceNotAllowed, "/other.yaml is not fetched: no --allow-url-prefix of the controller allows it"},
		{"that leads to an address that is not public", "/t/elsewhere", v1alpha1.ReasonSourceNotAllowed, "the host has an address that is neither public nor in an --allow-url-network"},
		{"that redirects outside of the allowed prefixes", "/t/outside", v1alpha1.ReasonSourceNotAllowed, "it redirects to " + s.URL + ": no --allow-url-prefix"},
		{"without end", "/t/endless", v1alpha1.ReasonFetchFailed, "/t/endless cannot be fetched: it is larger than 8 MiB"},
		{"that takes its time", "/t/hanging", v1alpha1.ReasonFetchFailed, "/t/hanging cannot be fetched: it takes longer than 10s"},
		{"that is not there", "/t/nowhere", v1alpha1.ReasonFetchFailed, "/t/nowhere cannot be fetched: the server responded with status 404"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := cluster.Elsewhere(t)
			f.Submit("app", fmt.Sprintf(`tosca: {url: "%s%s?token=hunter2"}`, s.URL, row.path))
			_, message := f.AwaitNotRendered("app", row.reason)
			assert.Contains(t, message, row.message)
			assert.NotContains(t, message, "hunter2")
			assert.Empty(t, f.touched().Where(func(r testcluster.Request) bool { return r.Namespace == f.namespace }))
			f.Delete(applications, "app") // otherwise the page would be requested again and again
			f.AwaitGone(applications, "app")
		})
	}

	t.Run("that hangs keeps no other Application from being held", func(t *testing.T) {
		f := cluster.Elsewhere(t)
		f.Submit("held", "manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: held}, data: {key: value}}]")
		f.AwaitReady("held")
		const stuck = 40 // many more than there are workers
		for i := range stuck {
			f.Submit(fmt.Sprint("stuck-", i), fmt.Sprintf(`tosca: {url: "%s/t/stuck"}`, s.URL))
		}
		f.eventually("requests that hang", func() bool { return gate.waiting.Load() >= 4 })
		other := cluster.Elsewhere(t) // templates of other namespaces are still fetched
		other.Submit("app", fmt.Sprintf(`tosca: {url: "%s/t/page.yaml"}`, s.URL))
		other.AwaitReady("app")
		assert.EqualValues(t, 4, gate.waiting.Load(), "a namespace takes a part of the slots only")
		f.Patch("mallory", configMaps, "held", `{data: {key: hacked}}`)
		f.AwaitValue(configMaps, "held", "value", "data", "key")
		f.Delete(applications, "stuck-0") // the deletion does not have to wait for the fetch
		f.AwaitGone(applications, "stuck-0")
		close(gate.open)
		for i := 1; i < stuck; i++ {
			f.AwaitNotRendered(fmt.Sprint("stuck-", i), v1alpha1.ReasonFetchFailed)
			f.Delete(applications, fmt.Sprint("stuck-", i))
		}
	})

	t.Run("that is gone", func(t *testing.T) {
		f := cluster.Elsewhere(t)
		f.Submit("app", fmt.Sprintf(`tosca: {url: "%s/t/page.yaml"}`, s.URL))
		f.Submit("other", fmt.Sprintf(`tosca: {url: %q}`, s.Put("/t/second.yaml", page("second", "one"))))
		f.AwaitReady("app")
		f.AwaitReady("other")
		s.Down(true)

		app, message := f.AwaitNotRendered("app", v1alpha1.ReasonFetchFailed)
		assert.Equal(t, s.URL+"/t/page.yaml cannot be fetched: the server responded with status 503; the manifests of the last translation remain in use", message)
		assert.Equal(t, metav1.ConditionTrue, condition(app, v1alpha1.ConditionHeld).Status)
		assert.Empty(t, condition(app, v1alpha1.ConditionStalled).Reason)
		f.Patch("mallory", configMaps, "page", `{data: {text: hacked}}`)
		f.AwaitValue(configMaps, "page", "one", "data", "text")

		// A change to another field leaves the last translation in use.
		f.Patch("user", applications, "app", `{spec: {adoption: Never}}`)
		f.AwaitNotRendered("app", v1alpha1.ReasonFetchFailed)
		f.Patch("mallory", configMaps, "page", `{data: {text: hacked}}`)
		f.AwaitValue(configMaps, "page", "one", "data", "text")

		// After a restart, the record in the status is used: see TestASourceThatIsGoneAfterARestart.
		running.Stop()
		f.Patch("mallory", configMaps, "page", `{data: {text: hacked}}`)
		running = cluster.Run(options)
		f.AwaitValue(configMaps, "page", "one", "data", "text")

		// An Application without its source can still be deleted.
		f.Delete(applications, "other")
		f.AwaitGone(applications, "other")
		assert.Nil(t, f.Get(configMaps, "second"))

		s.Down(false)
		f.AwaitReady("app")
	})
	running.Stop()
}
