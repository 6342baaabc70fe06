package callback

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
)

const token = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// work is an Application with all hooks, and one token for all of them.
func work() *v1alpha1.Application {
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "work", UID: "one", Annotations: map[string]string{}}}
	app.Spec.Hooks = &v1alpha1.Hooks{Complete: &v1alpha1.CompleteHook{}, Shutdown: &v1alpha1.ShutdownHook{}, Reconcile: &v1alpha1.ReconcileHook{}}
	app.Status.Hooks = &v1alpha1.HooksStatus{}
	for purpose := range methods {
		app.Status.Hooks.Tokens = append(app.Status.Hooks.Tokens, hooks.TokenDigest(purpose, token))
	}
	return app
}

// server answers for one Application, and counts what it writes down.
func server(app *v1alpha1.Application, change func(*Options)) (*Server, *atomic.Int32) {
	written := &atomic.Int32{}
	options := Options{
		Lookup: func(namespace, name string) *v1alpha1.Application {
			if namespace != app.Namespace || name != app.Name {
				return nil
			}
			return app
		},
		Accept: func(context.Context, *v1alpha1.Application, hooks.Purpose) error {
			written.Add(1)
			return nil
		},
		Now: func() time.Time { return start },
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

func TestATokenIsGoodWhileItsHookIsInTheSpec(t *testing.T) {
	app := work()
	app.Spec.Hooks.Complete = nil
	s, written := server(app, nil)
	code, result := call(s, hooks.Complete, withToken())
	assert.Equal(t, []any{http.StatusUnauthorized, "wrong_token"}, []any{code, result})
	code, _ = call(s, hooks.Reconcile, withToken())
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, int32(1), written.Load())
}

// One Pod with a wrong token does not stop the others that have the same address.
func TestWrongTokensDoNotStopValidOnes(t *testing.T) {
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

// Bodies that never end keep no call from being answered.
func TestSlowBodiesHoldNothing(t *testing.T) {
	s, _ := server(work(), nil)
	reading := make(chan struct{})
	for range 2 * mostAtOnce {
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

func TestCallsAtTheSameTimeAreWrittenDownOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		var written atomic.Int32
		s, _ := server(work(), func(o *Options) {
			o.Accept = func(context.Context, *v1alpha1.Application, hooks.Purpose) error {
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

func TestWhoIsFasterThanTheWatchIsNotSentAway(t *testing.T) {
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

func TestAReconcileIsAskedForOnceASecond(t *testing.T) {
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

func TestWhatCannotBeWrittenDownIsTriedAgain(t *testing.T) {
	s, _ := server(work(), func(o *Options) {
		o.Accept = func(context.Context, *v1alpha1.Application, hooks.Purpose) error {
			return errors.New("the API server is away")
		}
	})
	code, _ := call(s, hooks.Complete, withToken())
	assert.Equal(t, http.StatusServiceUnavailable, code)
	s, written := server(work(), func(o *Options) { o.Ready = func() bool { return false } })
	code, _ = call(s, hooks.Complete, withToken())
	assert.Equal(t, http.StatusServiceUnavailable, code, "nobody is turned away for good before all Applications are known")
	assert.Zero(t, written.Load())
}

func TestWhoConnectsAndSaysNothingIsCutOff(t *testing.T) {
	s, _ := server(work(), nil)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener, nil) }()
	silent, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	defer silent.Close()
	require.NoError(t, silent.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = io.ReadAll(silent)
	require.NoError(t, err, "the server closes the connection")
	stop()
	assert.NoError(t, <-ended)
}
