package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/callback"
	"holdfast.dev/holdfast/pkg/hooks"
)

// callbacks measures the callback server in this process: calls, compared with requests to a trivial
// handler over the same connections, and the cost of a body of 1 GiB.
func (b *bench) callbacks(ctx context.Context) error {
	address, client, stop, err := b.serveCallbacks(ctx)
	if err != nil {
		return err
	}
	defer stop()
	token, err := json.Marshal(map[string]string{"token": benchToken})
	if err != nil {
		return err
	}
	floor := perSecond(ctx, client, address+"/floor", string(token))
	rate := perSecond(ctx, client, address+hooks.CallbackPath("default", "bench", hooks.Complete), string(token))
	b.table.row("", "callbacks answered, TLS, 16 connections", fmt.Sprintf("%.0f/s", rate), fmt.Sprintf("%.0f/s", floor), "")

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	request, err := http.NewRequestWithContext(ctx, http.MethodPut,
		address+hooks.CallbackPath("default", "bench", hooks.Complete), io.LimitReader(endless{}, 1<<30))
	if err != nil {
		return err
	}
	if response, err := client.Do(request); err == nil { // or the server has closed the connection before all was sent
		response.Body.Close()
	}
	runtime.ReadMemStats(&after)
	b.table.row("", "memory allocated for a body of 1 GiB, client included", fmt.Sprintf("%d KiB", (after.TotalAlloc-before.TotalAlloc)/1024), "", "negligible")
	return nil
}

const benchToken = "bench"

func (b *bench) serveCallbacks(ctx context.Context) (address string, client *http.Client, stop func(), err error) {
	core, err := corev1client.NewForConfig(b.cluster.Config())
	if err != nil {
		return "", nil, nil, err
	}
	managed := callback.NewManagedCertificates(core.Secrets("default"), []string{"127.0.0.1"}, callback.DefaultLifetimes, time.Now, nil)
	if err := managed.Refresh(ctx); err != nil {
		return "", nil, nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(managed.Bundle())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, nil, err
	}
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationCompleted: "now"}}}
	app.Spec.Hooks = &v1alpha1.Hooks{Complete: &v1alpha1.CompleteHook{}}
	app.Status.Hooks = &v1alpha1.HooksStatus{Tokens: []string{hooks.TokenDigest(hooks.Complete, benchToken)}}
	server := callback.NewServer(callback.Options{
		Lookup:         func(string, string) *v1alpha1.Application { return app },
		Ready:          func() bool { return true },
		Annotate:       func(context.Context, *v1alpha1.Application, string, string) error { return nil },
		Count:          func(string) {},
		CallsPerSecond: 1_000_000,
	})
	mux := http.NewServeMux()
	mux.Handle("/v1/", server)
	mux.HandleFunc("/floor", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintln(w, "{}")
	})
	plain := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, TLSConfig: managed.TLS()}
	go func() { _ = plain.Serve(tls.NewListener(listener, managed.TLS())) }()
	client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: connections,
	}}
	return "https://" + listener.Addr().String(), client, func() { _ = plain.Close() }, nil
}

const connections = 16

// perSecond returns the number of responses per second, measured for two seconds.
func perSecond(ctx context.Context, client *http.Client, address, body string) float64 {
	const span = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	var answered atomic.Int64
	var workers sync.WaitGroup
	for range connections {
		workers.Go(func() {
			for ctx.Err() == nil {
				request, err := http.NewRequestWithContext(ctx, http.MethodPut, address, strings.NewReader(body))
				if err != nil {
					return
				}
				response, err := client.Do(request)
				if err != nil {
					continue
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				if response.StatusCode == http.StatusOK {
					answered.Add(1)
				}
			}
		})
	}
	workers.Wait()
	return float64(answered.Load()) / span.Seconds()
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
