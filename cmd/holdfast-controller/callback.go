package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
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
	set.StringVar(&f.address, "callback-bind-address", ":8443", "where workloads call back, over TLS; empty or 0: nowhere. What is held with hooks stays held, and new hooks are refused")
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
	if f.insecure && f.certFile != "" {
		return errors.New("--callback-insecure-http and --callback-tls-cert-file exclude each other")
	}
	if (f.certFile == "") != (f.keyFile == "") {
		return errors.New("--callback-tls-cert-file and --callback-tls-key-file go together")
	}
	if f.bundleFile != "" && f.certFile == "" {
		return errors.New("--callback-ca-file is for --callback-tls-cert-file")
	}
	return nil
}

// certificates are those of the callback server, from wherever they come.
type certificates interface {
	TLS() *tls.Config
	// Bundle verifies the server, now and after the next change.
	Bundle() []byte
	Refresh(ctx context.Context) error
}

// callbacks are the server and how workloads reach it.
type callbacks struct {
	flags        callbackFlags
	certificates certificates // nil: plain HTTP
	// controller is told when the bundle is another one.
	controller *controller.Controller
}

// newCallbacks prepares the server; nil if there is to be none.
func newCallbacks(f callbackFlags, config *rest.Config) (s *callbacks, err error) {
	if off(f.address) {
		return nil, nil
	}
	s = &callbacks{flags: f}
	switch {
	case f.insecure:
	case f.certFile != "":
		s.certificates, err = callback.NewProvided(callback.Files{Cert: f.certFile, Key: f.keyFile, Bundle: f.bundleFile}, s.changed)
	default:
		s.certificates, err = s.manage(config)
	}
	return s, err
}

// manage has the controller issue the certificates.
func (s *callbacks) manage(config *rest.Config) (certificates, error) {
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	hosts, err := callback.HostsOf(s.flags.external)
	if err != nil {
		return nil, err
	}
	return callback.NewManaged(client.Secrets(s.flags.namespace), hosts, callback.DefaultLifetimes, time.Now, s.changed), nil
}

func (s *callbacks) changed() { s.controller.CallbackChanged() }

// managed reports whether the certificates are the controller's own: nobody can call
// without their bundle.
func (s *callbacks) managed() bool { return !s.flags.insecure && s.flags.certFile == "" }

// callback is what Applications are told. Without a bundle that is needed, there
// is nothing to tell yet.
func (s *callbacks) callback() hooks.Callback {
	if s == nil || s.managed() && len(s.certificates.Bundle()) == 0 {
		return hooks.Callback{}
	}
	told := hooks.Callback{URL: strings.TrimSuffix(s.flags.external, "/")}
	if s.certificates != nil {
		told.CA = s.certificates.Bundle()
	}
	return told
}

// serve answers workloads until the context ends; wait returns when what it has
// begun is finished.
func (s *callbacks) serve(ctx context.Context, client *cluster.Client, c *controller.Controller, metrics *controller.Metrics) (wait func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", s.flags.address)
	if err != nil {
		return nil, fmt.Errorf("--callback-bind-address: %w", err)
	}
	s.controller = c
	config := s.certify(ctx)
	logger := klog.FromContext(ctx)
	server := callback.NewServer(callback.Options{
		Lookup: c.Application, Read: client.GetApplication, Ready: c.Ready,
		Accept: callback.Writer(client, time.Now), Count: metrics.Callback,
	})
	logger.Info("Serving callbacks", "address", listener.Addr().String(), "url", s.flags.external)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(ctx, listener, config); err != nil {
			logger.Error(err, "Serving callbacks has ended")
		}
	})
	return serving.Wait, nil
}

// certify has the certificates kept up to date, and returns how the server uses
// them; nil for plain HTTP.
func (s *callbacks) certify(ctx context.Context) *tls.Config {
	logger := klog.FromContext(ctx)
	if s.certificates == nil {
		logger.Info("CALLBACKS ARE SERVED OVER PLAIN HTTP: whoever listens can read tokens and complete Applications. Never do this in production")
		return nil
	}
	if s.managed() {
		if err := s.certificates.Refresh(ctx); err != nil {
			logger.Error(err, "No callbacks until this is solved; new hooks wait for it", "namespace", s.flags.namespace)
		}
	}
	go callback.Keep(ctx, s.certificates.Refresh, s.patience)
	return s.certificates.TLS()
}

// patience is how long to wait before the certificates are looked at again.
func (s *callbacks) patience() time.Duration {
	switch {
	case !s.managed():
		return pollInterval
	case len(s.certificates.Bundle()) == 0:
		return 10 * time.Second
	}
	return time.Hour
}
