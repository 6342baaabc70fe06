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

// served is a server of events, and a client of it.
func served(t *testing.T, h *Handler) (address string, client *http.Client) {
	t.Helper()
	authority := httptest.NewUnstartedServer(nil)
	authority.StartTLS() // it has a certificate, and a client that knows it
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

// Whoever sends slowly keeps others waiting for a while, and loses the connection then. What
// had come of the list by then counts, and counts once when it is sent again.
func TestASlowSender(t *testing.T) {
	u, _ := users()
	assert.Empty(t, u.who(version("u-1", "7")))
	address, client := served(t, &Handler{Users: u, queue: time.Minute, request: 2 * time.Second})
	slow := make(chan error, mostAtOnce)
	for range mostAtOnce {
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
	for range mostAtOnce {
		<-slow // an answer, or a connection that has ended
	}
	assert.Equal(t, "mallory  10.0.0.7", u.who(version("u-1", "7")))
	code, err = send(t, client, address, strings.NewReader(list(written(""))))
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, code)
	_, joined, _ := u.Counts()
	assert.Equal(t, int64(2), joined)
}

// Too many at once are told to come again, which API servers do.
func TestTooManyListsAtOnce(t *testing.T) {
	u, _ := users()
	h := &Handler{Users: u, queue: time.Millisecond, slots: make(chan struct{}, 1)}
	h.slots <- struct{}{}
	assert.Equal(t, http.StatusTooManyRequests, post(h, list(written(""))))
	<-h.slots
	assert.Equal(t, http.StatusOK, post(h, list(written(""))))
}

// Of two replicas the one that does not lead takes nothing: what an API server sends there is
// sent again, and the one that leads names the user.
func TestTwoReplicas(t *testing.T) {
	standby, _ := users()
	leader, _ := users()
	leads := false
	first := &Handler{Users: standby, Leading: func() bool { return leads }}
	batch := list(written(""))
	assert.Empty(t, leader.who(version("u-1", "7")))
	assert.Equal(t, http.StatusServiceUnavailable, post(first, batch))
	received, _, _ := standby.Counts()
	assert.Zero(t, received)
	assert.Equal(t, http.StatusOK, post(&Handler{Users: leader}, batch))
	assert.Equal(t, "mallory  10.0.0.7", leader.who(version("u-1", "7")))

	leads = true // the other one has gone: the next asks for what has no name yet, and is told
	assert.Empty(t, standby.who(version("u-1", "7")))
	assert.Equal(t, http.StatusOK, post(first, batch))
	assert.Equal(t, "mallory  10.0.0.7", standby.who(version("u-1", "7")))
}

// The largest batch that an API server sends by default is taken, and one that is too large
// for all that loses nobody who came before.
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
	code, err = send(t, client, address, io.MultiReader(strings.NewReader(strings.TrimSuffix(list(written("")), "]}")+","), bytes.NewReader(make([]byte, 1)), body(1, mostEvent)))
	assert.True(t, err != nil || code == http.StatusBadRequest, "%d", code)
	assert.Equal(t, "mallory  10.0.0.7", u.who(version("u-1", "7")))
}
