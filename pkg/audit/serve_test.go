package audit

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// served starts a server for the handler and returns its address and a client.
func served(t *testing.T, h *Handler) (address string, client *http.Client) {
	t.Helper()
	authority := httptest.NewUnstartedServer(nil)
	authority.StartTLS() // provides a certificate, and a client that trusts it
	t.Cleanup(authority.Close)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(t.Context(), listener, &tls.Config{Certificates: authority.TLS.Certificates, MinVersion: tls.VersionTLS12}, h)
	}()
	t.Cleanup(func() { assert.NoError(t, <-ended) })
	return "https://" + listener.Addr().String(), authority.Client()
}

func send(t *testing.T, client *http.Client, address string, body io.Reader) (code int, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, body)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// A slow sender delays other senders only until its connection times out. Events received before the
// timeout are counted, and counted only once when the list is sent again.
func TestSlowSenderTimesOut(t *testing.T) {
	u, _ := users()
	assert.Empty(t, u.who(version("u-1", "7")))
	address, client := served(t, &Handler{Users: u, queue: time.Minute, request: 2 * time.Second})
	slow := make(chan error, maxConcurrentLists)
	for range maxConcurrentLists {
		reader, writer := io.Pipe()
		go func() {
			_, err := send(t, client, address, reader)
			_ = reader.Close()
			slow <- err
		}()
		go func() { _, _ = io.WriteString(writer, strings.TrimSuffix(list(written("")), "]}")+",") }()
	}
	code, err := send(t, client, address, strings.NewReader(list(written(`, "responseObject": {"metadata": {"uid": "u-2", "resourceVersion": "1"}}`))))
	require.NoError(t, err, "it waited until they were given up")
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, "mallory  10.0.0.7", u.who(version("u-2", "1")))
	for range maxConcurrentLists {
		<-slow // a response, or the end of the connection
	}
	assert.Equal(t, "mallory  10.0.0.7", u.who(version("u-1", "7")))
	code, err = send(t, client, address, strings.NewReader(list(written(""))))
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, code)
	_, joined, _ := u.Stats()
	assert.Equal(t, int64(2), joined)
}

// If too many lists arrive at once, the server returns 429, and API servers retry.
func TestConcurrentListsAreLimited(t *testing.T) {
	u, _ := users()
	h := &Handler{Users: u, queue: time.Millisecond, slots: make(chan struct{}, 1)}
	h.slots <- struct{}{}
	assert.Equal(t, http.StatusTooManyRequests, post(h, list(written(""))))
	<-h.slots
	assert.Equal(t, http.StatusOK, post(h, list(written(""))))
}

// A replica that does not lead accepts no events. The API server retries, and the leader receives them.
func TestOnlyLeaderReceivesEvents(t *testing.T) {
	standby, _ := users()
	leader, _ := users()
	leads := false
	first := &Handler{Users: standby, Leading: func() bool { return leads }}
	batch := list(written(""))
	assert.Empty(t, leader.who(version("u-1", "7")))
	assert.Equal(t, http.StatusServiceUnavailable, post(first, batch))
	received, _, _ := standby.Stats()
	assert.Zero(t, received)
	assert.Equal(t, http.StatusOK, post(&Handler{Users: leader}, batch))
	assert.Equal(t, "mallory  10.0.0.7", leader.who(version("u-1", "7")))

	leads = true // leadership moves: this replica looks up the missing user and is notified
	assert.Empty(t, standby.who(version("u-1", "7")))
	assert.Equal(t, http.StatusOK, post(first, batch))
	assert.Equal(t, "mallory  10.0.0.7", standby.who(version("u-1", "7")))
}

// The largest batch that an API server sends by default is accepted. If a batch is too large, the events
// before the limit still count.
func TestLargeBatches(t *testing.T) {
	u, _ := users()
	address, client := served(t, &Handler{Users: u})
	body := func(events, bytes int) io.Reader {
		var all []string
		for i := range events {
			all = append(all, written(fmt.Sprintf(`, "responseObject": {"metadata": {"uid": "u-%d", "resourceVersion": "1"}}, "userAgent": %q`, i, strings.Repeat("x", bytes))))
		}
		return strings.NewReader(list(all...))
	}
	code, err := send(t, client, address, body(400, 100<<10))
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, "mallory  10.0.0.7", u.who(version("u-399", "1")))
	code, err = send(t, client, address, io.MultiReader(strings.NewReader(strings.TrimSuffix(list(written("")), "]}")+","), bytes.NewReader(make([]byte, 1)), body(1, maxEventBytes)))
	assert.True(t, err != nil || code == http.StatusBadRequest, "%d", code)
	assert.Equal(t, "mallory  10.0.0.7", u.who(version("u-1", "7")))
}
