package callback

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
)

const token = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// work returns an Application with all hooks, and one token for all of them.
func work() *v1alpha1.Application {
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "work", UID: "one", Annotations: map[string]string{}}}
	app.Spec.Hooks = &v1alpha1.Hooks{Complete: &v1alpha1.CompleteHook{}, Shutdown: &v1alpha1.ShutdownHook{}, Reconcile: &v1alpha1.ReconcileHook{}}
	app.Status.Hooks = &v1alpha1.HooksStatus{}
	for purpose := range methods {
		app.Status.Hooks.Tokens = append(app.Status.Hooks.Tokens, hooks.TokenDigest(purpose, token))
	}
	return app
}

// server returns a server for one Application, and a counter of recorded calls.
func server(app *v1alpha1.Application, change func(*Options)) (*Server, *atomic.Int32) {
	written := &atomic.Int32{}
	options := Options{
		Lookup: func(namespace, name string) *v1alpha1.Application {
			if namespace != app.Namespace || name != app.Name {
				return nil
			}
			return app
		},
		Read:  func(context.Context, types.NamespacedName) (*v1alpha1.Application, error) { return app, nil },
		Ready: func() bool { return true },
		Annotate: func(context.Context, *v1alpha1.Application, string, string) error {
			written.Add(1)
			return nil
		},
		Count: func(string) {},
		Now:   func() time.Time { return start },
	}
	if change != nil {
		change(&options)
	}
	return NewServer(options), written
}

func call(s http.Handler, purpose hooks.Purpose, body io.Reader) (code int, result string) {
	request := httptest.NewRequest(methods[purpose], hooks.CallbackPath("shop", "work", purpose), body)
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, request)
	var said struct{ Status string }
	_ = json.Unmarshal(recorder.Body.Bytes(), &said)
	return recorder.Code, said.Status
}

func withToken() io.Reader { return strings.NewReader(`{"token": "` + token + `"}`) }

func TestTokenIsValidWhileHookIsConfigured(t *testing.T) {
	app := work()
	app.Spec.Hooks.Complete = nil
	s, written := server(app, nil)
	code, result := call(s, hooks.Complete, withToken())
	assert.Equal(t, []any{http.StatusUnauthorized, "wrong_token"}, []any{code, result})
	code, _ = call(s, hooks.Reconcile, withToken())
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, int32(1), written.Load())
}

// The size of a body is limited even without a Content-Length header.
func TestBodySizeIsLimited(t *testing.T) {
	s, written := server(work(), nil)
	code, result := call(s, hooks.Complete, io.MultiReader(strings.NewReader(strings.Repeat(" ", maxBodyBytes)), withToken()))
	assert.Equal(t, []any{http.StatusRequestEntityTooLarge, "too_large"}, []any{code, result})
	assert.Zero(t, written.Load())
}

// A Pod with an invalid token does not block other Pods behind the same address.
func TestInvalidTokensDoNotBlockValidOnes(t *testing.T) {
	s, written := server(work(), nil)
	for i := range 3 * failBurst {
		code, _ := call(s, hooks.Complete, strings.NewReader([]string{`{"token": "wrong"}`, `{`, ``}[i%3]))
		if i >= failBurst {
			assert.Equal(t, http.StatusTooManyRequests, code)
		}
	}
	code, _ := call(s, hooks.Complete, withToken())
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, int32(1), written.Load())
}

// Endless bodies do not block other calls.
func TestSlowBodiesDoNotBlockCalls(t *testing.T) {
	s, _ := server(work(), nil)
	reading := make(chan struct{})
	for range 2 * maxConcurrentWrites {
		body, end := io.Pipe()
		t.Cleanup(func() { end.Close() })
		go call(s, hooks.Complete, readerFunc(func(p []byte) (int, error) {
			reading <- struct{}{}
			return body.Read(p)
		}))
		<-reading
	}
	code, _ := call(s, hooks.Complete, withToken())
	assert.Equal(t, http.StatusOK, code)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestConcurrentCallsAreRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		var written atomic.Int32
		s, _ := server(work(), func(o *Options) {
			o.Annotate = func(context.Context, *v1alpha1.Application, string, string) error {
				written.Add(1)
				<-end
				return nil
			}
		})
		codes := make(chan int, 100)
		for range cap(codes) {
			go func() {
				code, _ := call(s, hooks.Complete, withToken())
				codes <- code
			}()
		}
		synctest.Wait()
		close(end)
		for range cap(codes) {
			assert.Equal(t, http.StatusOK, <-codes)
		}
		assert.Equal(t, int32(1), written.Load())
	})
}

func TestCallAheadOfWatchIsAccepted(t *testing.T) {
	deleting := work()
	at := metav1.NewTime(start)
	deleting.DeletionTimestamp = &at
	var live *v1alpha1.Application
	s, written := server(work(), func(o *Options) {
		o.Read = func(_ context.Context, at types.NamespacedName) (*v1alpha1.Application, error) {
			assert.Equal(t, "shop/work", at.String())
			if live == nil {
				return nil, errors.New("gone")
			}
			return live, nil
		}
	})
	other := deleting.DeepCopy()
	other.UID = "two"
	for _, row := range []struct {
		name string
		live *v1alpha1.Application
		code int
	}{
		{"it is not being deleted", work(), http.StatusConflict},
		{"another one of that name is", other, http.StatusConflict},
		{"it cannot be read", nil, http.StatusConflict},
		{"it is", deleting, http.StatusOK},
	} {
		live = row.live
		code, _ := call(s, hooks.Shutdown, withToken())
		assert.Equal(t, row.code, code, row.name)
	}
	assert.Equal(t, int32(1), written.Load())
}

func TestReconcileCallsAreRateLimited(t *testing.T) {
	app := work()
	s, written := server(app, nil)
	for at, code := range map[string]int{
		"": http.StatusOK, "by hand": http.StatusOK,
		start.Add(-time.Minute).Format(time.RFC3339Nano):         http.StatusOK,
		start.Add(-time.Second / 2).Format(time.RFC3339Nano):     http.StatusTooManyRequests,
		start.Add(365 * 24 * time.Hour).Format(time.RFC3339Nano): http.StatusOK,
	} {
		app.Annotations[v1alpha1.AnnotationReconcile] = at
		got, _ := call(s, hooks.Reconcile, withToken())
		assert.Equal(t, code, got, at)
	}
	assert.Equal(t, int32(4), written.Load())
}

func TestFailedWriteReturnsRetryableError(t *testing.T) {
	s, _ := server(work(), func(o *Options) {
		o.Annotate = func(context.Context, *v1alpha1.Application, string, string) error {
			return errors.New("the API server is away")
		}
	})
	code, _ := call(s, hooks.Complete, withToken())
	assert.Equal(t, http.StatusServiceUnavailable, code)
	s, written := server(work(), func(o *Options) { o.Ready = func() bool { return false } })
	code, _ = call(s, hooks.Complete, withToken())
	assert.Equal(t, http.StatusServiceUnavailable, code, "no call is rejected for good before all Applications are known")
	assert.Zero(t, written.Load())
}

// serving starts a server on its own address. stop ends it, and ended returns its result.
func serving(t *testing.T, s *Server, config *tls.Config) (address string, log func() string, stop func(), ended <-chan error) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ctx, log = logged(ctx)
	end := make(chan error, 1)
	go func() { end <- s.Serve(ctx, listener, config) }()
	t.Cleanup(stop)
	return listener.Addr().String(), log, stop, end
}

// logged returns a context with a logger, and a function that returns the log.
func logged(ctx context.Context) (with context.Context, text func() string) {
	var all lockedBuffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&all)))
	return klog.NewContext(ctx, logger), all.String
}

type lockedBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { connection.Close() })
	require.NoError(t, connection.SetReadDeadline(time.Now().Add(time.Minute)))
	return connection
}

func TestIdleConnectionIsClosed(t *testing.T) {
	s, _ := server(work(), nil)
	address, _, stop, ended := serving(t, s, nil)
	_, err := io.ReadAll(connect(t, address))
	require.NoError(t, err, "the server closes the connection")
	stop()
	assert.NoError(t, <-ended)
}

// If a request has a bearer token, its body is ignored.
func TestBodyIsIgnoredWithBearerToken(t *testing.T) {
	s, written := server(work(), nil)
	address, _, _, _ := serving(t, s, nil)
	connection := connect(t, address)
	_, err := io.WriteString(connection, "PUT "+hooks.CallbackPath("shop", "work", hooks.Complete)+" HTTP/1.1\r\nHost: a\r\n"+
		"Authorization: Bearer "+token+"\r\nTransfer-Encoding: chunked\r\n\r\n")
	require.NoError(t, err)
	require.NoError(t, connection.SetReadDeadline(time.Now().Add(requestTimeout/2)))
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.True(t, response.Close)
	assert.Equal(t, int32(1), written.Load())
}

// If a caller opens more connections than allowed, its idle ones are closed, and memory use does not grow.
func TestConnectionsAreLimited(t *testing.T) {
	s, _ := server(work(), nil)
	assert.Equal(t, maxConnections, s.connections)
	s.connections = 3
	address, _, _, _ := serving(t, s, nil)
	var silent []net.Conn
	for range 3 {
		silent = append(silent, connect(t, address))
	}
	late := connect(t, address)
	_, err := io.WriteString(late, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	response, err := io.ReadAll(late)
	require.NoError(t, err)
	assert.Contains(t, string(response), "HTTP/1.1 404")
	_, err = io.ReadAll(silent[0])
	if err != nil {
		assert.ErrorIs(t, err, syscall.ECONNRESET)
	}
}

// Two addresses that open all connections do not lock out a third one.
func TestConnectionsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := server(work(), nil)
		s.connections, s.share = 8, 4
		listener := &pipes{offered: make(chan net.Conn), closed: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		ctx, _ = logged(ctx)
		ended := make(chan error)
		go func() { ended <- s.Serve(ctx, listener, nil) }()
		begun := time.Now()
		for i := range 100 { // keep opening connections while the server closes them
			listener.from(fmt.Sprintf("10.0.0.%d:1", 1+i%2))
		}
		for i := range 20 {
			caller := listener.from(fmt.Sprintf("10.0.1.%d:1", i))
			go func() { _, _ = io.WriteString(caller, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") }()
			said, err := io.ReadAll(caller)
			require.NoError(t, err)
			assert.Contains(t, string(said), "HTTP/1.1 404")
		}
		assert.Zero(t, time.Since(begun), "no caller has waited")
		stop()
		assert.NoError(t, <-ended)
	})
}

func TestSharesEviction(t *testing.T) {
	connections := map[string]net.Conn{}
	s := &shares{most: 4, mostOfOne: 4, open: map[string][]*share{}}
	for _, row := range []struct{ name, closed string }{
		{"a1", ""}, {"a2", ""}, {"b1", ""}, {"a3", ""}, // a1 has sent a request
		{"c1", "a2"}, {"c2", "c1"}, {"a4", "a3"}, {"c3", "c2"},
	} {
		_, connections[row.name] = net.Pipe()
		closed, _ := s.take(row.name[:1], connections[row.name])
		if row.closed == "" {
			require.Nil(t, closed)
		} else {
			assert.Equal(t, fmt.Sprintf("%p", connections[row.closed]), fmt.Sprintf("%p", closed), "%s, for %s", row.closed, row.name)
		}
		s.activate("a", connections["a1"])
	}
	for name, connection := range connections {
		s.drop(name[:1], connection)
	}
	assert.Empty(t, s.open)
	assert.Zero(t, s.total)
}

// A caller with a valid token is served even if another caller behind its address exceeds the rate limit.
func TestValidTokenHasItsOwnRateLimit(t *testing.T) {
	app := work()
	s, _ := server(app, nil)
	for range callBurst*callRate + 1 {
		call(s, hooks.Complete, strings.NewReader(`{"token": "wrong"}`))
	}
	code, _ := call(s, hooks.Complete, strings.NewReader(`{"token": "wrong"}`))
	assert.Equal(t, http.StatusTooManyRequests, code)
	for range callBurst * callRate {
		code, _ = call(s, hooks.Complete, withToken())
		require.Equal(t, http.StatusOK, code)
	}
	code, _ = call(s, hooks.Complete, withToken())
	assert.Equal(t, http.StatusTooManyRequests, code, "but not without end, either")
}

// Calls that seem too early trigger one shared read of the Application.
func TestReadsOfOneApplicationAreMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := &atomic.Int32{}
		goOn := make(chan struct{})
		s, _ := server(work(), func(o *Options) {
			o.Read = func(context.Context, types.NamespacedName) (*v1alpha1.Application, error) {
				reads.Add(1)
				<-goOn
				return work(), nil
			}
		})
		var calls sync.WaitGroup
		for range 2 * maxConcurrentWrites {
			calls.Go(func() { call(s, hooks.Shutdown, withToken()) })
		}
		synctest.Wait()
		assert.Len(t, s.limits.slots, 1)
		close(goOn)
		calls.Wait()
		assert.Equal(t, int32(1), reads.Load())
	})
}

// An address can use only its share of the connections, and can use it again after closing them.
func TestConnectionsPerAddressAreLimited(t *testing.T) {
	assert.Greater(t, maxPerAddress, callRate*callBurst, "or else calls that may come at once are turned away")
	synctest.Test(t, func(t *testing.T) {
		s, _ := server(work(), nil)
		assert.Equal(t, maxPerAddress, s.share)
		s.share = 3
		listener := &pipes{offered: make(chan net.Conn), closed: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		ctx, log := logged(ctx)
		ended := make(chan error)
		go func() { ended <- s.Serve(ctx, listener, nil) }()
		answer := func(connection net.Conn) string {
			go func() { _, _ = io.WriteString(connection, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") }()
			said, _ := io.ReadAll(connection)
			return string(said)
		}
		for range 10 * s.share {
			assert.Contains(t, answer(listener.from("10.0.0.1:1")), "HTTP/1.1 404", "a call that is over counts no more")
			synctest.Wait() // The server reads the end of the connection before it is counted.
		}

		begun := time.Now()
		var silent net.Conn
		for range s.share {
			silent = listener.from("10.0.0.1:1")
		}
		for range s.share {
			assert.Empty(t, answer(listener.from("10.0.0.1:2")))
		}
		assert.Contains(t, answer(listener.from("10.0.0.2:1")), "HTTP/1.1 404")
		assert.Zero(t, time.Since(begun))
		assert.Contains(t, log(), "10.0.0.1 has 3 connections")

		_, err := io.ReadAll(silent)
		require.NoError(t, err, "idle connections are closed")
		synctest.Wait()
		assert.Contains(t, answer(listener.from("10.0.0.1:1")), "HTTP/1.1 404")
		stop()
		assert.NoError(t, <-ended)
	})
}

// pipes is a listener for connections with arbitrary remote addresses.
type pipes struct {
	offered chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// from connects from the given address.
func (p *pipes) from(address string) net.Conn {
	client, server := net.Pipe()
	p.offered <- addressed{server, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))}
	return client
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case connection := <-p.offered:
		return connection, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

type addressed struct {
	net.Conn
	address net.Addr
}

func (a addressed) RemoteAddr() net.Addr { return a.address }

// Connection errors are logged, but a port scanner must not fill the log.
func TestConnectionErrorLogIsRateLimited(t *testing.T) {
	files, write := provided(t)
	write()
	p, err := NewFileCertificates(files, nil)
	require.NoError(t, err)
	s, _ := server(work(), nil)
	address, log, stop, ended := serving(t, s, p.TLS())
	begun := time.Now()
	const perSecond, burst = 1, 10 // of worker.ErrorLog
	for range 10 * burst {
		connection := connect(t, address)
		_, err := io.WriteString(connection, "this is no TLS")
		require.NoError(t, err)
		_, _ = io.ReadAll(connection)
		connection.Close()
	}
	stop()
	require.NoError(t, <-ended)
	lines := strings.Count(log(), "A connection to the callback server has failed")
	assert.Positive(t, lines)
	assert.LessOrEqual(t, lines, burst+1+perSecond*int(time.Since(begun)/time.Second))
}

// A call that is being recorded during a shutdown still gets its response.
func TestShutdownFinishesRunningCalls(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	s, _ := server(work(), func(o *Options) {
		o.Annotate = func(context.Context, *v1alpha1.Application, string, string) error {
			close(begun)
			<-goOn
			return nil
		}
	})
	address, _, stop, ended := serving(t, s, nil)
	codes := make(chan int, 1)
	go func() {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+address+hooks.CallbackPath("shop", "work", hooks.Complete), withToken())
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			codes <- 0
			return
		}
		response.Body.Close()
		codes <- response.StatusCode
	}()
	<-begun
	stop()
	require.Eventually(t, func() bool { // new connections are rejected
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err == nil {
			connection.Close()
		}
		return err != nil
	}, time.Minute, 10*time.Millisecond)
	select {
	case err := <-ended:
		t.Fatalf("it has ended before its work was done: %v", err)
	default:
	}
	close(goOn)
	assert.Equal(t, http.StatusOK, <-codes)
	assert.NoError(t, <-ended)
}

// An unresponsive API server delays calls only until they time out, and then their slots are free.
func TestCallEndsWithoutAPIServer(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"when it is read": func(o *Options) {
			o.Read = func(ctx context.Context, _ types.NamespacedName) (*v1alpha1.Application, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		},
		"when it is written": func(o *Options) {
			o.Annotate = func(ctx context.Context, _ *v1alpha1.Application, _, _ string) error {
				<-ctx.Done()
				return ctx.Err()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := server(work(), change)
				begun := time.Now()
				for purpose, expected := range map[hooks.Purpose]int{hooks.Shutdown: http.StatusConflict, hooks.Complete: http.StatusOK} {
					code, _ := call(s, purpose, withToken())
					if expected == http.StatusOK && name == "when it is written" {
						expected = http.StatusServiceUnavailable
					}
					assert.Equal(t, expected, code, purpose)
				}
				assert.Equal(t, apiTimeout, time.Since(begun))
				assert.Empty(t, s.limits.slots)
			})
		})
	}
}

// Requests for unknown paths are counted, too.
func TestAllCallsAreCounted(t *testing.T) {
	s, _ := server(work(), nil)
	last := 0
	for range callBurst*callRate + 1 {
		recorder := httptest.NewRecorder()
		s.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/favicon.ico", http.NoBody))
		last = recorder.Code
	}
	assert.Equal(t, http.StatusTooManyRequests, last)
}
