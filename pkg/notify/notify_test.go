package notify_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/notify"
)

// receiver is an HTTP server. answer returns its response.
type receiver struct {
	*httptest.Server
	answer func(w http.ResponseWriter, n int)

	mu     sync.Mutex
	asked  int
	events []event.Event
	signed []string
	bodies [][]byte
}

func newReceiver(t *testing.T, answer func(w http.ResponseWriter, n int)) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(r.receive))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) receive(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	var e event.Event
	err := json.Unmarshal(body, &e)
	r.mu.Lock()
	r.asked++
	n := r.asked
	if err == nil && request.Header.Get("Content-Type") == "application/cloudevents+json" {
		r.events, r.bodies = append(r.events, e), append(r.bodies, body)
		r.signed = append(r.signed, request.Header.Get(notify.SignatureHeader))
	}
	r.mu.Unlock()
	r.answer(w, n)
}

func (r *receiver) subjects() (subjects []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		subjects = append(subjects, e.Subject())
	}
	return subjects
}

func run(t *testing.T, options notify.Options) *notify.Sender {
	t.Helper()
	s, _ := runUntil(t, options)
	return s
}

// runUntil runs a sender until end is called. end returns when Run has returned.
func runUntil(t *testing.T, options notify.Options) (s *notify.Sender, end func()) {
	t.Helper()
	if options.First == 0 {
		options.First = time.Millisecond
	}
	options.Longest = max(20*time.Millisecond, options.First)
	s, err := notify.New(options)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	end = func() { stop(); <-ended }
	t.Cleanup(end)
	return s, end
}

func send(s *notify.Sender, subject string) {
	s.Send("dev.holdfast.corrected", "/applications/shop/web", subject, map[string]any{"path": "spec.replicas"})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, 30*time.Second, 2*time.Millisecond, what)
}

func fine(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusNoContent) }

func TestEventIsSigned(t *testing.T) {
	r := newReceiver(t, fine)
	s := run(t, notify.Options{URL: r.URL, Key: []byte("key")})
	send(s, "one")
	eventually(t, "the event", func() bool { sent, _, _ := s.Stats(); return sent == 1 })
	e := r.events[0]
	require.NoError(t, e.Validate())
	assert.Equal(t, []string{"1.0", "dev.holdfast.corrected", "/applications/shop/web", `{"path":"spec.replicas"}`},
		[]string{e.SpecVersion(), e.Type(), e.Source(), string(e.Data())})
	seconds, _, _ := strings.Cut(strings.TrimPrefix(r.signed[0], "t="), ",")
	at, err := strconv.ParseInt(seconds, 10, 64)
	require.NoError(t, err)
	assert.Equal(t, notify.Sign([]byte("key"), time.Unix(at, 0), r.bodies[0]), r.signed[0])
	assert.NotEqual(t, notify.Sign([]byte("other"), time.Unix(at, 0), r.bodies[0]), r.signed[0])
}

// After an error response, the same event is sent again with the same ID, and the order is kept.
func TestFailedDeliveryIsRetried(t *testing.T) {
	r := newReceiver(t, func(w http.ResponseWriter, n int) {
		if n%3 != 0 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	s := run(t, notify.Options{URL: r.URL})
	send(s, "one")
	send(s, "two")
	eventually(t, "both events", func() bool { sent, _, _ := s.Stats(); return sent == 2 })
	assert.Equal(t, []string{"one", "one", "one", "two", "two", "two"}, r.subjects())
	assert.Equal(t, r.events[0].ID(), r.events[2].ID())
	assert.NotEqual(t, r.events[0].ID(), r.events[3].ID())
	_, dropped, failed := s.Stats()
	assert.Equal(t, []int64{0, 4}, []int64{dropped, failed})
}

// An event that the receiver rejects is dropped after some attempts, so that it does not block the others.
func TestRejectedEventIsDropped(t *testing.T) {
	r := newReceiver(t, func(w http.ResponseWriter, n int) {
		if n <= 5 {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	})
	s := run(t, notify.Options{URL: r.URL})
	send(s, "large")
	send(s, "small")
	eventually(t, "the small event", func() bool { sent, _, _ := s.Stats(); return sent == 1 })
	assert.Equal(t, []string{"large", "large", "large", "large", "large", "small"}, r.subjects())
	_, dropped, failed := s.Stats()
	assert.Equal(t, []int64{1, 5}, []int64{dropped, failed})
}

// Send does not wait for a slow receiver: events that do not fit into the queue are dropped and counted.
func TestSlowReceiverDropsEvents(t *testing.T) {
	let := make(chan struct{})
	r := newReceiver(t, func(http.ResponseWriter, int) { <-let })
	s := run(t, notify.Options{URL: r.URL, Queue: 10})
	send(s, "0")
	eventually(t, "the request", func() bool { return len(r.subjects()) == 1 })
	for i := 1; i <= 100; i++ {
		send(s, strconv.Itoa(i))
	}
	_, dropped, _ := s.Stats()
	assert.Equal(t, []int64{90, 10}, []int64{dropped, int64(s.QueueLength())})
	close(let)
	eventually(t, "the rest", func() bool { sent, _, _ := s.Stats(); return sent == 11 })
}

// Queued events are sent before Run returns, even if the backoff is long.
func TestQueueIsSentOnShutdown(t *testing.T) {
	var well atomic.Bool
	r := newReceiver(t, func(w http.ResponseWriter, _ int) {
		if !well.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s, end := runUntil(t, notify.Options{URL: r.URL, First: time.Hour, Last: time.Hour})
	for _, subject := range []string{"one", "two", "three"} {
		send(s, subject)
	}
	eventually(t, "the first try", func() bool { _, _, failed := s.Stats(); return failed == 1 })
	well.Store(true)
	end()
	assert.Equal(t, []string{"one", "one", "two", "three"}, r.subjects())
	sent, dropped, failed := s.Stats()
	assert.Equal(t, []int64{3, 0, 1}, []int64{sent, dropped, failed})
}

// An unresponsive receiver does not delay the shutdown beyond Last. Lost events are counted.
func TestShutdownIsBounded(t *testing.T) {
	let := make(chan struct{})
	r := newReceiver(t, func(http.ResponseWriter, int) { <-let })
	s, end := runUntil(t, notify.Options{URL: r.URL, Last: time.Millisecond})
	for _, subject := range []string{"one", "two", "three"} {
		send(s, subject)
	}
	eventually(t, "the request", func() bool { return len(r.subjects()) == 1 })
	end()
	close(let)
	sent, dropped, _ := s.Stats()
	assert.Equal(t, []int64{0, 3, 0}, []int64{sent, dropped, int64(s.QueueLength())})
}

func TestUnreachableReceiver(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	s := run(t, notify.Options{URL: "http://" + address + "/hook?token=canary"})
	send(s, "one")
	eventually(t, "failures", func() bool { _, _, failed := s.Stats(); return failed > 2 })
	listener, err = net.Listen("tcp", address) // the receiver starts
	require.NoError(t, err)
	r := &receiver{answer: fine}
	server := &http.Server{Handler: http.HandlerFunc(r.receive), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	eventually(t, "the event", func() bool { sent, _, _ := s.Stats(); return sent == 1 })
}

// A redirect is an error like any other. No request is sent to a URL that is not configured.
func TestRedirectIsNotFollowed(t *testing.T) {
	elsewhere := newReceiver(t, fine)
	r := newReceiver(t, func(w http.ResponseWriter, n int) {
		if n < 3 {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	})
	s := run(t, notify.Options{URL: r.URL})
	send(s, "one")
	eventually(t, "the event", func() bool { sent, _, _ := s.Stats(); return sent == 1 })
	assert.Empty(t, elsewhere.subjects())
}

func TestInvalidURLs(t *testing.T) {
	for _, text := range []string{"", "example.com/hook", "ftp://example.com/canary", "https://canary:canary@example.com", "https://", "://canary"} {
		_, err := notify.New(notify.Options{URL: text})
		require.Error(t, err, text)
		assert.NotContains(t, err.Error(), "canary")
	}
}
