package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options are the flags of the command.
type Options struct {
	// Kubeconfig is the path of the kubeconfig for the API server.
	Kubeconfig string
	// RootCA is the path of the API server's certificate authority, which each namespace gets in a
	// ConfigMap.
	RootCA string
	// Healthz is the address of /healthz. It succeeds once all controllers run and their informers have
	// synced.
	Healthz string
}

// Run runs the controllers until the context ends.
func Run(ctx context.Context, options Options) error {
	config, err := clientcmd.BuildConfigFromFlags("", options.Kubeconfig)
	if err != nil {
		return err
	}
	// With the upstream limit of 20 requests per second, a test of a hundred objects would have to wait.
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated, but still written
	rootCA, err := os.ReadFile(options.RootCA)
	if err != nil {
		return err
	}
	if err := awaitServer(ctx, config); err != nil {
		return err
	}
	m, err := newManager(ctx, config, rootCA)
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var healthy atomic.Bool
	go func() { fail(serveHealth(options.Healthz, &healthy)) }()
	runs, err := m.build(ctx)
	if err != nil {
		return err
	}
	m.start(ctx, runs)
	healthy.Store(true)
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// awaitServer waits for an API server that is being restarted, as long as the upstream program.
func awaitServer(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		last = client.RESTClient().Get().AbsPath("/healthz").Do(ctx).Error()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the API server: %w: %w", err, last)
	}
	return nil
}

func serveHealth(address string, healthy *atomic.Bool) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if healthy.Load() {
			return
		}
		http.Error(w, "the controllers are being started", http.StatusServiceUnavailable)
	})
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}
