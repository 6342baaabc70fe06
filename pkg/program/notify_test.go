package program

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A receiver that recovers during the shutdown gets the queued notifications.
func TestNotificationsAreSentOnShutdown(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	var well atomic.Bool
	var asked atomic.Int64
	told := &safely{}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if !well.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.Copy(told, r.Body)
	}))
	t.Cleanup(receiver.Close)
	p := start(t, c, "--leader-elect=false", "--watch-namespaces="+namespace, "--notify-url="+receiver.URL)
	p.Says(leads)
	submit(t, c, namespace, "web", "")
	awaitReady(t, c, namespace, "web")
	for _, value := range []string{"first", "second"} {
		patch(t, c, namespace, configMaps, "web", "mallory", `{"data": {"key": "`+value+`"}}`)
		eventually(t, "the correction", func() bool {
			return get(t, c, namespace, configMaps, "web", "{.data.key}") != value
		})
	}
	eventually(t, "the history of both", func() bool {
		return get(t, c, namespace, applications, "web", "{.status.history[?(@.manager=='mallory')].to}") == "second first"
	})
	eventually(t, "a try", func() bool { return asked.Load() > 0 })
	well.Store(true)
	p.Signal(syscall.SIGTERM)
	assert.Equal(t, 0, p.Ends())
	assert.Contains(t, told.String(), `"first"`)
	assert.Contains(t, told.String(), `"second"`)
}
