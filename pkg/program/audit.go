package program

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/audit"
	"holdfast.dev/holdfast/pkg/callback"
	"holdfast.dev/holdfast/pkg/controller"
)

// auditFlags configure the server for audit events, and the authentication of API servers.
type auditFlags struct {
	address           string
	certFile, keyFile string
	// At least one of them authenticates API servers.
	clientCA, tokenFile string

	files *callback.FileCertificates // nil if the server is disabled
	// token is the content of tokenFile, which refresh replaces while requests read it.
	token atomic.Pointer[[]byte]
}

// add adds the flags to a set, in the order of the help text.
func (f *auditFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.address, "audit-webhook-bind-address", "", "address of the receiver of audit events, over TLS, which adds users and their addresses to the history; empty or 0 disables it")
	set.StringVar(&f.certFile, "audit-webhook-tls-cert-file", "", "file with the certificate of this server")
	set.StringVar(&f.keyFile, "audit-webhook-tls-private-key-file", "", "file with the key of this certificate")
	set.StringVar(&f.clientCA, "audit-webhook-client-ca-file", "", "file with the bundle that verifies client certificates of API servers; empty requires no client certificate")
	set.StringVar(&f.tokenFile, "audit-webhook-token-file", "", "file with the bearer token of API servers (at least 16 bytes); empty requires no token. A client CA or a token is required")
}

// apply validates the flags, reads the files, and creates the table of users. It does nothing if the server is
// disabled.
func (f *auditFlags) apply(options *controller.Options) (err error) {
	set := f.certFile != "" || f.keyFile != "" || f.clientCA != "" || f.tokenFile != ""
	switch {
	case off(f.address) && set:
		return errors.New("the other --audit-webhook flags need --audit-webhook-bind-address")
	case off(f.address):
		return nil
	case f.certFile == "" || f.keyFile == "":
		return errors.New("--audit-webhook-bind-address needs --audit-webhook-tls-cert-file and --audit-webhook-tls-private-key-file")
	case f.clientCA == "" && f.tokenFile == "":
		return errors.New("--audit-webhook-bind-address needs --audit-webhook-client-ca-file, --audit-webhook-token-file, or both: otherwise any client could add names to the history")
	}
	// Here, the bundle verifies the clients.
	if f.files, err = callback.NewFileCertificates(callback.Files{Cert: f.certFile, Key: f.keyFile, Bundle: f.clientCA}, nil); err != nil {
		return fmt.Errorf("the --audit-webhook flags: %w", err)
	}
	if err := f.readToken(); err != nil {
		return err
	}
	// The controller looks up users only if this is set.
	options.Users = audit.NewUsers(time.Now)
	return nil
}

// readToken reads the token, if there is a file for it. After an error, the previous token remains in use.
func (f *auditFlags) readToken() error {
	if f.tokenFile == "" {
		return nil
	}
	token, err := readKey("--audit-webhook-token-file", f.tokenFile, "token")
	if err == nil {
		f.token.Store(&token)
	}
	return err
}

// refresh reads the files again. If they are unreadable or invalid, the previous content is kept.
func (f *auditFlags) refresh(ctx context.Context) error {
	return errors.Join(f.files.Refresh(ctx), f.readToken())
}

// tls returns a TLS configuration that uses the current files for each connection.
func (f *auditFlags) tls() *tls.Config {
	config := f.files.TLS()
	if f.clientCA == "" {
		return config
	}
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		verified := f.files.TLS()
		verified.ClientAuth, verified.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		verified.ClientCAs.AppendCertsFromPEM(f.files.Bundle())
		return verified, nil
	}
	return config
}

// serve starts to receive audit events, until the context ends. A process that does not lead rejects them, because
// only the leader looks up users. The error concerns only the address.
func (f *auditFlags) serve(ctx context.Context, options controller.Options) error {
	if options.Users == nil {
		return nil
	}
	listener, err := bind(ctx, "--audit-webhook-bind-address", f.address)
	if err != nil {
		return err
	}
	// Each replica listens, but only the leader accepts.
	handler := &audit.Handler{Users: options.Users, Leading: func() bool { return isLeading(options.Leading) }}
	if f.tokenFile != "" {
		handler.Token = func() []byte { return *f.token.Load() }
	}
	options.Metrics.Audit(options.Users.Stats)
	klog.FromContext(ctx).Info("Receiving audit events", "address", listener.Addr().String())
	go callback.Keep(ctx, f.refresh, func() time.Duration { return pollInterval })
	go func() {
		if err := audit.Serve(ctx, listener, f.tls(), handler); err != nil {
			klog.FromContext(ctx).Error(err, "Receiving audit events has ended")
		}
	}()
	return nil
}

// isLeading reports whether the channel is closed, that is, whether this process leads. It returns true for
// a nil channel.
func isLeading(leading <-chan struct{}) bool {
	select {
	case <-leading:
		return true
	default:
		return leading == nil
	}
}
