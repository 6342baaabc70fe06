package program

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

// callbackFlags configure the callback server.
type callbackFlags struct {
	// address is the address to listen on, external the base URL for workloads.
	address, external string
	// The files contain the server's own certificate. Without them, the controller issues one.
	certFile, keyFile string
	// bundleFile verifies certFile. Without it, workloads must already trust the certificate.
	bundleFile string
	// namespace is the namespace of the Secret with the controller's certificate authorities.
	namespace string
	// insecure serves plain HTTP.
	insecure bool
}

// add adds the flags to a set, in the order of the help text.
func (f *callbackFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.address, "callback-bind-address", ":8443", "address of the callback server for workloads, over TLS; empty or 0 disables it. Applications with hooks remain held, and new hooks are rejected")
	set.StringVar(&f.external, "callback-external-url", "https://holdfast-callback.holdfast-system.svc", "base URL under which workloads reach the callback server")
	set.StringVar(&f.certFile, "callback-tls-cert-file", "", "file with the certificate of the callback server; if empty, the controller issues one, with its authority in the Secret "+callback.SecretName)
	set.StringVar(&f.keyFile, "callback-tls-key-file", "", "file with the key of this certificate")
	set.StringVar(&f.bundleFile, "callback-ca-file", "", "file with the bundle that verifies this certificate, mounted into workloads; empty if they already trust it")
	set.StringVar(&f.namespace, "callback-namespace", podNamespace(), "namespace of the Secret "+callback.SecretName)
	set.BoolVar(&f.insecure, "callback-insecure-http", false, "serve callbacks over plain HTTP, which exposes the tokens; for development only")
}

// validate returns the first invalid combination of flags. It accepts any if the server is disabled.
func (f *callbackFlags) validate() error {
	if off(f.address) {
		return nil
	}
	if _, err := callback.Hosts(f.external); err != nil {
		return fmt.Errorf("--callback-external-url: %w", err)
	}
	if f.insecure != strings.HasPrefix(f.external, "http://") {
		return fmt.Errorf("--callback-external-url is %q, must begin with http:// if --callback-insecure-http is set, and with https:// otherwise", f.external)
	}
	if f.insecure && f.certFile != "" {
		return errors.New("--callback-insecure-http and --callback-tls-cert-file exclude each other")
	}
	if (f.certFile == "") != (f.keyFile == "") {
		return errors.New("--callback-tls-cert-file and --callback-tls-key-file must be set together")
	}
	if f.bundleFile != "" && f.certFile == "" {
		return errors.New("--callback-ca-file needs --callback-tls-cert-file")
	}
	return nil
}

// certificates provides the certificates of the callback server. Its methods can be called from any goroutine.
type certificates interface {
	TLS() *tls.Config
	// Bundle returns the bundle that verifies the server, now and after the next rotation.
	Bundle() []byte
	Refresh(ctx context.Context) error
}

// callbacks is the callback server and its address for workloads. A nil pointer is a disabled server: callback and
// serve accept it.
type callbacks struct {
	flags        callbackFlags
	certificates certificates // nil for plain HTTP
	// controller is notified when the bundle changes. It is set by serve, before the first refresh.
	controller *controller.Controller
}

// newCallbacks prepares the server. It returns nil if the server is disabled. It reads certificate files, so that a
// missing one is an error at startup, but sends no request.
func newCallbacks(f callbackFlags, config *rest.Config) (s *callbacks, err error) {
	if off(f.address) {
		return nil, nil
	}
	s = &callbacks{flags: f}
	switch {
	case f.insecure:
	case f.certFile != "":
		s.certificates, err = callback.NewFileCertificates(callback.Files{Cert: f.certFile, Key: f.keyFile, Bundle: f.bundleFile}, s.changed)
	default:
		s.certificates, err = s.manage(config)
	}
	return s, err
}

// manage returns certificates that the controller issues.
func (s *callbacks) manage(config *rest.Config) (certificates, error) {
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	hosts, err := callback.Hosts(s.flags.external)
	if err != nil {
		return nil, err
	}
	return callback.NewManagedCertificates(client.Secrets(s.flags.namespace), hosts, callback.DefaultLifetimes, time.Now, s.changed), nil
}

func (s *callbacks) changed() { s.controller.CallbackChanged() }

// managed reports whether the controller issues the certificates. Then workloads need their bundle.
func (s *callbacks) managed() bool { return !s.flags.insecure && s.flags.certFile == "" }

// callback returns the callback for workloads. It is empty if the required bundle does not exist yet. Workers call it
// for each reconcile.
func (s *callbacks) callback() hooks.Callback {
	if s == nil || s.managed() && len(s.certificates.Bundle()) == 0 {
		return hooks.Callback{}
	}
	// The paths begin with a slash.
	told := hooks.Callback{URL: strings.TrimSuffix(s.flags.external, "/")}
	if s.certificates != nil {
		told.CA = s.certificates.Bundle()
	}
	return told
}

// serve handles callbacks until the context ends. wait returns when running calls have finished. The error concerns
// only the address. Every replica serves, also while another one leads.
func (s *callbacks) serve(ctx context.Context, client *cluster.Client, c *controller.Controller, metrics *controller.Metrics) (wait func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	listener, err := bind(ctx, "--callback-bind-address", s.flags.address)
	if err != nil {
		return nil, err
	}
	s.controller = c
	// The certificates need the controller, because a refresh notifies it.
	config := s.certify(ctx)
	logger := klog.FromContext(ctx)
	server := callback.NewServer(callback.Options{
		Lookup: c.Application, Read: client.GetApplication, Ready: c.Ready,
		Annotate: client.Annotate, Count: metrics.Callback,
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

// certify keeps the certificates up to date on another goroutine, and returns the TLS configuration of the server, or
// nil for plain HTTP. If the authority cannot be read, the server starts without a certificate, and rejects
// connections until a refresh succeeds.
func (s *callbacks) certify(ctx context.Context) *tls.Config {
	logger := klog.FromContext(ctx)
	if s.certificates == nil {
		logger.Info("CALLBACKS ARE SERVED OVER PLAIN HTTP: anyone on the network can read tokens and complete Applications. Never do this in production")
		return nil
	}
	// The first refresh is synchronous, so the first reconciles know the bundle.
	if s.managed() {
		if err := s.certificates.Refresh(ctx); err != nil {
			logger.Error(err, "No callbacks until this is resolved; new hooks wait", "namespace", s.flags.namespace)
		}
	}
	go callback.Keep(ctx, s.certificates.Refresh, s.patience)
	return s.certificates.TLS()
}

// patience returns the time until the next refresh of the certificates: short for files, which another program
// replaces, and as long as there is no authority.
func (s *callbacks) patience() time.Duration {
	switch {
	case !s.managed():
		return pollInterval
	case len(s.certificates.Bundle()) == 0:
		return 10 * time.Second
	}
	return time.Hour
}
