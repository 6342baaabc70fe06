package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// held contains the watches of one Application that needs ConfigMaps.
type held struct {
	*Watches
	t       *testing.T
	cluster *testcluster.Cluster
	seconds []string

	mu    sync.Mutex
	conns []net.Conn   // to the API server
	asked []url.Values // parameters of watch requests
	told  int          // number of notifications of the Application
	cut   context.CancelFunc
	cutAt context.Context //nolint:containedctx // its end ends the streams
}

func (h *held) ObjectChanged(types.UID)              {}
func (h *held) KindGone(schema.GroupVersionResource) {}
func (h *held) WatchChanged(applications []types.UID) {
	h.mu.Lock()
	h.told += len(applications)
	h.mu.Unlock()
}

func (h *held) changes() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.told
}

// startHolding starts watches as a user. failing overrides StallTimeouts.Failing. Streams end after the
// given number of seconds, if any.
func startHolding(t *testing.T, c *testcluster.Cluster, user string, failing time.Duration, seconds ...string) *held {
	t.Helper()
	h := &held{t: t, cluster: c, seconds: seconds}
	h.cutAt, h.cut = context.WithCancel(t.Context())
	config := c.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	if user == "" {
		config.Impersonate = rest.ImpersonationConfig{}
	}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.conns = append(h.conns, conn)
		return conn, err
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &scissors{next, h} })
	client, err := NewClient(config)
	require.NoError(t, err)
	patience := defaultStallTimeouts
	patience.Failing, patience.Check = failing, 20*time.Millisecond
	h.Watches = client.NewWatches(h, patience)
	ctx, stop := context.WithCancel(t.Context())
	h.Run(ctx)
	t.Cleanup(func() { stop(); h.Wait() })
	h.SetInterest("app", map[schema.GroupVersionResource]bool{configMaps: true}, nil, nil, nil)
	return h
}

// scissors can end the streams of watches.
type scissors struct {
	http.RoundTripper
	held *held
}

func (s *scissors) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Get("watch") == "" {
		return s.RoundTripper.RoundTrip(request)
	}
	s.held.mu.Lock()
	end := s.held.cutAt
	s.held.asked = append(s.held.asked, request.URL.Query())
	s.held.mu.Unlock()
	ctx, cancel := context.WithCancel(request.Context())
	context.AfterFunc(end, cancel)
	request = request.Clone(ctx)
	if query := request.URL.Query(); len(s.held.seconds) > 0 {
		query.Set("timeoutSeconds", s.held.seconds[0])
		request.URL.RawQuery = query.Encode()
	}
	return s.RoundTripper.RoundTrip(request)
}

// Cut ends all open streams.
func (h *held) Cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cut()
	h.cutAt, h.cut = context.WithCancel(h.t.Context())
}

// CutConnections closes the connections to the API server, which keeps running.
func (h *held) CutConnections() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, conn := range h.conns {
		_ = conn.Close()
	}
	h.conns = nil
}

// lists returns the number of watches that started with a list, and of all watches.
func (h *held) lists() (begun, all int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, query := range h.asked {
		if query.Get("sendInitialEvents") == "true" {
			begun++
		}
	}
	return begun, len(h.asked)
}

func (h *held) view() *View {
	view, _ := h.Store("app", configMaps)
	return view
}

func (h *held) silent() error {
	_, err := h.view().StalledSince(time.Now())
	return err
}

// shows returns the data of the object of that name, or "none".
func (h *held) shows(name string) string {
	for key, content := range h.view().Contents() {
		if key.Name == name {
			return fmt.Sprint(content["data"].(map[string]any)["key"])
		}
	}
	return "none"
}

func (h *held) eventually(what string, holds func() bool) {
	h.t.Helper()
	err := wait.PollUntilContextTimeout(h.t.Context(), 20*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) { return holds(), nil })
	require.NoError(h.t, err, "waiting for %s", what)
}

// apply creates or changes an object given as YAML.
func (h *held) apply(yaml string) {
	h.t.Helper()
	h.eventually("an API server that takes "+yaml, func() bool {
		_, err := h.cluster.Kubectl(h.t.Context(), yaml, "apply", "--server-side", "--force-conflicts", "--filename=-")
		return err == nil
	})
}

func configOf(name, value string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: default, labels: {%s: app}}, data: {key: %s}}`,
		name, v1alpha1.LabelApplicationUID, value)
}

func TestWatchBecomesForbidden(t *testing.T) {
	c := testcluster.Shared()
	_, err := c.Kubectl(t.Context(), "", "create", "clusterrole", "watcher", "--verb=list,watch", "--resource=configmaps")
	require.NoError(t, err)
	grant := func() {
		_, err := c.Kubectl(t.Context(), "", "create", "clusterrolebinding", "watcher", "--clusterrole=watcher", "--user=watcher")
		require.NoError(t, err)
	}
	grant()
	h := startHolding(t, c, "watcher", time.Second)
	h.eventually("the first list", h.view().Ready)
	require.NoError(t, h.silent())

	// When the permission is revoked, the open stream is not affected.
	_, err = c.Kubectl(t.Context(), "", "delete", "clusterrolebinding", "watcher")
	require.NoError(t, err)
	told := h.changes()
	h.apply(configOf("forbidden", "a"))
	h.eventually("an event", func() bool { return h.shows("forbidden") == "a" })
	require.NoError(t, h.silent())
	assert.Equal(t, told, h.changes())

	// When the stream ends, the Application is notified once, with the error.
	h.Cut()
	h.eventually("silence", func() bool { return h.silent() != nil })
	assert.True(t, apierrors.IsForbidden(h.silent()), "%v", h.silent())
	h.eventually("a word to the Application", func() bool { return h.changes() == told+1 })
	assert.Equal(t, 1, h.Stalled(time.Now()))

	// When the permission is granted again, the Application is notified again.
	grant()
	h.eventually("a sign of life", func() bool { return h.silent() == nil })
	h.eventually("a word to the Application", func() bool { return h.changes() == told+2 })
	h.apply(configOf("forbidden", "b"))
	h.eventually("an event", func() bool { return h.shows("forbidden") == "b" })
	assert.Zero(t, h.Stalled(time.Now()))
}

// An API server can be restored from a backup without any failed request: the HTTP client retries when a
// connection breaks, and waits for a server that is starting. A watch from a version that does not exist
// yet would deliver no events for a minute.
func TestReconnectedWatchLists(t *testing.T) {
	c := testcluster.Shared()
	h := startHolding(t, c, "", time.Minute, "2")
	h.apply(configOf("connected", "a"))
	h.eventually("an event", func() bool { return h.shows("connected") == "a" })
	begun, _ := h.lists()
	require.Equal(t, 1, begun)

	// A watch continues at the version where its stream ended if the connection is the same,
	h.eventually("another watch", func() bool { _, all := h.lists(); return all > 2 })
	h.apply(configOf("connected", "b"))
	h.eventually("an event", func() bool { return h.shows("connected") == "b" })
	begun, _ = h.lists()
	assert.Equal(t, 1, begun)

	// and lists if it is another one.
	h.CutConnections()
	h.eventually("a list", func() bool { begun, _ := h.lists(); return begun > 1 })
	h.apply(configOf("connected", "c"))
	h.eventually("an event", func() bool { return h.shows("connected") == "c" })
	assert.NoError(t, h.silent())
}

// Resource versions decrease when etcd is restored from a backup.
func TestServerRestoredFromBackup(t *testing.T) {
	c, err := testcluster.Start(t.Context(), testcluster.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	h := startHolding(t, c, "", time.Minute)
	data, backup := filepath.Join(c.Dir(), "etcd"), filepath.Join(t.TempDir(), "backup")
	h.apply(configOf("changed", "old"))
	h.apply(configOf("deleted", "old"))
	h.eventually("both", func() bool { return h.shows("changed") == "old" && h.shows("deleted") == "old" })

	// Take a backup, and change an object afterwards.
	require.NoError(t, c.Kill(testcluster.APIServer))
	require.NoError(t, c.Kill(testcluster.Etcd))
	require.NoError(t, exec.Command("cp", "-r", data, backup).Run())
	require.NoError(t, c.Restart(testcluster.Etcd))
	require.NoError(t, c.Restart(testcluster.APIServer))
	for i := range 20 {
		h.apply(configOf("changed", fmt.Sprint("new-", i)))
	}
	h.apply(configOf("created", "new"))
	_, err = c.Kubectl(t.Context(), "", "delete", "configmap", "deleted")
	require.NoError(t, err)
	h.eventually("all that", func() bool {
		return h.shows("changed") == "new-19" && h.shows("created") == "new" && h.shows("deleted") == "none"
	})

	// Restore the backup.
	require.NoError(t, c.Kill(testcluster.APIServer))
	require.NoError(t, c.Kill(testcluster.Etcd))
	require.NoError(t, os.RemoveAll(data))
	require.NoError(t, os.Rename(backup, data))
	require.NoError(t, c.Restart(testcluster.Etcd))
	require.NoError(t, c.Restart(testcluster.APIServer))

	// The store shows the restored state, and later changes arrive.
	h.eventually("what was backed up", func() bool {
		return h.shows("changed") == "old" && h.shows("created") == "none" && h.shows("deleted") == "old"
	})
	h.apply(configOf("changed", "newest"))
	h.eventually("an event", func() bool { return h.shows("changed") == "newest" })
	assert.NoError(t, h.silent())
	assert.Equal(t, 1, h.changes(), "of the first list, and of no outage")
}

func TestMain(m *testing.M) { testcluster.Main(m, testcluster.Options{}) }
