package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/callback"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/hooks"
)

// callbackFlags say how workloads call the controller.
type callbackFlags struct {
	address, external string
	certFile, keyFile string
	bundleFile        string
	namespace         string
	insecure          bool
}

func (f *callbackFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.address, "callback-bind-address", ":8443", "where workloads call back, over TLS; empty or 0: nowhere, and no Application may have hooks")
	set.StringVar(&f.external, "callback-external-url", "https://holdfast-callback.holdfast-system.svc", "how workloads reach --callback-bind-address")
	set.StringVar(&f.certFile, "callback-tls-cert-file", "", "certificate of the callback server; empty: the controller issues one, and its authority is in the Secret "+callback.SecretName)
	set.StringVar(&f.keyFile, "callback-tls-key-file", "", "key of that certificate")
	set.StringVar(&f.bundleFile, "callback-ca-file", "", "bundle that verifies that certificate, mounted into workloads; empty: they trust it anyway")
	set.StringVar(&f.namespace, "callback-namespace", podNamespace(), "namespace of the Secret "+callback.SecretName)
	set.BoolVar(&f.insecure, "callback-insecure-http", false, "serve callbacks over plain HTTP: tokens can be read on their way; for development only")
}

func (f *callbackFlags) validate() error {
	if off(f.address) {
		return nil
	}
	if _, err := callback.HostsOf(f.external); err != nil {
		return fmt.Errorf("--callback-external-url: %w", err)
	}
	if f.insecure != strings.HasPrefix(f.external, "http://") {
		return fmt.Errorf("--callback-external-url is %q: it begins with http:// if --callback-insecure-http is set, and with https:// if not", f.external)
	}
	if (f.certFile == "") != (f.keyFile == "") {
		return errors.New("--callback-tls-cert-file and --callback-tls-key-file go together")
	}
	if f.bundleFile != "" && f.certFile == "" {
		return errors.New("--callback-ca-file is for --callback-tls-cert-file")
	}
	return nil
}

// callbacks are the server and how workloads reach it.
type callbacks struct {
	flags   callbackFlags
	config  *tls.Config // nil: plain HTTP
	bundle  func() []byte
	managed *callback.Managed
	// controller is told when the bundle is another one.
	controller *controller.Controller
}

// newCallbacks prepares the server; nil if there is to be none.
func newCallbacks(f callbackFlags, config *rest.Config) (*callbacks, error) {
	if off(f.address) {
		return nil, nil
	}
	s := &callbacks{flags: f, bundle: func() []byte { return nil }}
	switch {
	case f.insecure:
		return s, nil
	case f.certFile != "":
		provided, err := callback.NewProvided(f.certFile, f.keyFile, time.Now)
		if err != nil {
			return nil, err
		}
		bundle, err := callback.ReadBundle(f.bundleFile)
		if err != nil {
			return nil, err
		}
		s.config, s.bundle = provided.TLS(), func() []byte { return bundle }
		return s, nil
	}
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	hosts, err := callback.HostsOf(f.external)
	if err != nil {
		return nil, err
	}
	s.managed = callback.NewManaged(client.Secrets(f.namespace), hosts, callback.DefaultLifetimes, time.Now, s.changed)
	s.config, s.bundle = s.managed.TLS(), s.managed.Bundle
	return s, nil
}

func (s *callbacks) changed() {
	if s.controller != nil {
		s.controller.CallbackChanged()
	}
}

// callback is what Applications are told. Without a bundle that is needed, there
// is nothing to tell yet.
func (s *callbacks) callback() hooks.Callback {
	if s == nil || s.managed != nil && len(s.bundle()) == 0 {
		return hooks.Callback{}
	}
	return hooks.Callback{URL: strings.TrimSuffix(s.flags.external, "/"), CA: s.bundle()}
}

// serve answers workloads until the context ends.
func (s *callbacks) serve(ctx context.Context, client *cluster.Client, c *controller.Controller, metrics *controller.Metrics) error {
	if s == nil {
		return nil
	}
	s.controller = c
	logger := klog.FromContext(ctx)
	if s.managed != nil {
		if err := s.managed.Refresh(ctx); err != nil {
			logger.Error(err, "No callbacks until this is solved; Applications with hooks wait", "namespace", s.flags.namespace)
		}
		go s.managed.Keep(ctx, s.patience)
	}
	if s.flags.insecure {
		logger.Info("CALLBACKS ARE SERVED OVER PLAIN HTTP: whoever listens can read tokens and complete Applications. Never do this in production")
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", s.flags.address)
	if err != nil {
		return fmt.Errorf("--callback-bind-address: %w", err)
	}
	server := callback.NewServer(callback.Options{
		Lookup: c.Application, Read: client.GetApplication, Ready: c.Ready,
		Accept: callback.Writer(client, time.Now), Count: metrics.Callback,
	})
	logger.Info("Serving callbacks", "address", listener.Addr().String(), "url", s.flags.external)
	go func() {
		if err := server.Serve(ctx, listener, s.config); err != nil {
			logger.Error(err, "Serving callbacks has ended")
		}
	}()
	return nil
}

// patience is how long to wait before the certificates are looked at again.
func (s *callbacks) patience() time.Duration {
	if len(s.bundle()) == 0 {
		return 10 * time.Second
	}
	return time.Hour
}
