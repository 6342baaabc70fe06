package controller

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// An author can choose the Service to call. Error messages must not reveal the response of that port.
func TestAnErrorOfACallTellsNothingOfTheAnswer(t *testing.T) {
	hook := v1alpha1.ShutdownHook{Service: "work", Port: 80, Path: "/stop?key=hunter2"}
	for _, row := range []struct{ name, answer, says string }{
		{"no HTTP", "hunter2\r\n", "no valid HTTP response"},
		{"a bad status", "HTTP/1.1 hunter2 hunter2\r\n\r\n", "no valid HTTP response"},
		{"a bad header", "HTTP/1.1 200 OK\r\nhunter2\r\n\r\n", "no valid HTTP response"},
		{"nothing", "", "no valid HTTP response"},
		{"an error", "HTTP/1.1 500 hunter2\r\nContent-Length: 7\r\n\r\nhunter2", "it responded with status 500"},
		{"a redirect", "HTTP/1.1 307 hunter2\r\nLocation: http://hunter2/\r\nContent-Length: 0\r\n\r\n", "it responded with status 307"},
		{"a header without end", "HTTP/1.1 200 OK\r\nA: " + string(make([]byte, 2*mostAnswer)), "no valid HTTP response"},
	} {
		t.Run(row.name, func(t *testing.T) {
			calls := newCalls(func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go func() {
					defer theirs.Close()
					_, _ = theirs.Read(make([]byte, 4096))
					_, _ = io.WriteString(theirs, row.answer)
				}()
				return ours, nil
			})
			err := calls.send(t.Context(), &v1alpha1.Application{}, hook, map[string]any{})
			require.ErrorContains(t, err, row.says)
			assert.NotContains(t, err.Error(), "hunter2")
		})
	}
	t.Run("an unresolved name is reported", func(t *testing.T) {
		calls := newCalls(func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "work.shop.svc"}}
		})
		err := calls.send(t.Context(), &v1alpha1.Application{}, hook, map[string]any{})
		assert.EqualError(t, err, "dial tcp: lookup work.shop.svc: no such host")
	})
	t.Run("no ExternalName is called, and nothing that is not there", func(t *testing.T) {
		calls := newCalls(func(context.Context, string, string) (net.Conn, error) { panic("called") })
		err := calls.send(t.Context(), &v1alpha1.Application{}, hook, map[string]any{"spec": map[string]any{"type": "ExternalName"}})
		require.ErrorContains(t, err, "ExternalName")
		require.ErrorContains(t, calls.send(t.Context(), &v1alpha1.Application{}, hook, nil), "not among the resources")
	})
}

// The address behind a name can change after the Service was read.
func TestOnlyAddressesOfTheServiceAreCalled(t *testing.T) {
	headless := map[string]any{"clusterIP": "None", "clusterIPs": []any{"None"}}
	for _, row := range []struct {
		name    string
		spec    map[string]any
		address string
		called  bool
	}{
		{"its address", map[string]any{"clusterIP": "10.0.0.7"}, "10.0.0.7:80", true},
		{"its address in IPv6 clothes", map[string]any{"clusterIP": "10.0.0.7"}, "[::ffff:10.0.0.7]:80", true},
		{"its second address", map[string]any{"clusterIP": "10.0.0.7", "clusterIPs": []any{"10.0.0.7", "fd00::7"}}, "[fd00:0::7]:80", true},
		{"that of another one", map[string]any{"clusterIP": "10.0.0.7", "clusterIPs": []any{"10.0.0.7"}}, "10.0.0.8:80", false},
		{"an instance's metadata", map[string]any{"clusterIP": "10.0.0.7"}, "169.254.169.254:80", false},
		{"an address of one that has none yet", map[string]any{}, "10.0.0.7:80", false},
		{"a Pod of a headless one", headless, "10.1.2.3:80", true},
		{"the controller's host, by a headless one", headless, "127.0.0.1:80", false},
		{"the controller's host, by a headless one, in IPv6", headless, "[::1]:80", false},
		{"an instance's metadata, by a headless one", headless, "169.254.169.254:80", false},
		{"no host, by a headless one", headless, "0.0.0.0:80", false},
		{"a link, by a headless one", headless, "[fe80::1%eth0]:80", false},
		{"what is no address", headless, "work.shop.svc:80", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := leadsTo(map[string]any{"spec": row.spec}, row.address)
			assert.Equal(t, row.called, err == nil, "%v", err)
		})
	}
	t.Run("by the dialer", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("called") }))
		defer server.Close()
		client := newCalls(nil).client(map[string]any{"spec": map[string]any{"clusterIP": "10.0.0.7"}})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
		require.NoError(t, err)
		response, err := client.Do(request)
		if err == nil {
			require.NoError(t, response.Body.Close())
		}
		assert.ErrorContains(t, whyNoAnswer(err), "an address of another host")
	})
}

// An Application can be deleted before its workload responds.
func TestACallIsForgottenWithItsApplication(t *testing.T) {
	calls := newCalls(nil)
	calls.begin("one")
	calls.note("one", errors.New("refused"))
	assert.Equal(t, "refused", calls.messageOf("one", nil))
	calls.forget("one")
	calls.note("one", errors.New("late"))
	assert.Empty(t, calls.last)
	assert.Equal(t, "as it was", calls.messageOf("one", &v1alpha1.ShutdownStatus{LastError: "as it was"}))
}
