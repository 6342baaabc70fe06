package controller_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/callback"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/hooks"
)

// callbacks is a controller with its callback server and the server's certificates.
type callbacks struct {
	*instance
	managed *callback.ManagedCertificates
	address string

	mu      sync.Mutex
	results map[string]int
}

// count returns how often the server returned a result.
func (s *callbacks) count(result string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.results[result]
}

func (s *callbacks) add(result string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results[result]++
}

// RunWithCallbacks is like Run, with a callback server.
func (f *fixture) RunWithCallbacks(options controller.Options) *callbacks {
	f.t.Helper()
	return f.runCallbacks(options, callback.DefaultLifetimes, time.Now)
}

func (f *fixture) runCallbacks(options controller.Options, lifetimes callback.Lifetimes, now func() time.Time) *callbacks {
	f.t.Helper()
	require.True(f.t, f.alone, "another controller holds the Applications of the shared control plane")
	s, err := startWithCallbacks(f.t.Context(), f.cluster, f.agent, f.namespace, options, lifetimes, now)
	require.NoError(f.t, err)
	f.t.Cleanup(s.Stop)
	return s
}

// startWithCallbacks starts a controller with a callback server. The authority is stored in the given
// namespace, and the controller calls the targets of the tests.
func startWithCallbacks(ctx context.Context, c *testcluster.Cluster, agent, namespace string, options controller.Options, lifetimes callback.Lifetimes, now func() time.Time) (*callbacks, error) {
	config := c.Config()
	config.UserAgent = agent + "-callback"
	config.Wrap(followed)
	client, err := cluster.NewClient(config)
	if err != nil {
		return nil, err
	}
	secrets, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &callbacks{address: "https://" + listener.Addr().String(), results: map[string]int{}}
	s.managed = callback.NewManagedCertificates(secrets.Secrets(namespace), []string{"127.0.0.1"}, lifetimes, now, func() {
		if s.instance != nil {
			s.CallbackChanged()
		}
	})
	if err := s.managed.Refresh(ctx); err != nil {
		return nil, err
	}
	options.Dial = dialTarget
	options.Callback = func() hooks.Callback { return hooks.Callback{URL: s.address, CA: s.managed.Bundle()} }
	if s.instance, err = start(c, agent, nil, options); err != nil {
		return nil, err
	}
	server := callback.NewServer(callback.Options{Lookup: s.Application, Read: client.GetApplication, Ready: s.Ready, Annotate: client.Annotate, Count: s.add})
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(serving, listener, s.managed.TLS()) }()
	stopController := s.Stop
	s.Stop = sync.OnceFunc(func() {
		stop()
		<-ended
		stopController()
	})
	return s, nil
}

// targets maps namespaces to the servers that play the Service "work".
var targets sync.Map

// dialTarget connects to a target in place of the cluster's network.
func dialTarget(ctx context.Context, network, address string) (net.Conn, error) {
	target, known := targets.Load(address)
	if !known {
		return nil, errors.New("there is no such Service in the tests: " + address)
	}
	return new(net.Dialer).DialContext(ctx, network, target.(string))
}

// Target plays the Service "work" of the namespace at port 8080. It returns the number of calls.
func (f *fixture) Target(answer http.HandlerFunc) *atomic.Int32 {
	f.t.Helper()
	asked := &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answer(w, r)
	}))
	address := "work." + f.namespace + ".svc:8080"
	targets.Store(address, server.Listener.Addr().String())
	f.t.Cleanup(func() {
		targets.Delete(address)
		server.Close()
	})
	return asked
}
