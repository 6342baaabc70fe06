package callback

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
)

// Files names a certificate, its key, and the bundle that verifies it. The operator keeps them up to date,
// for example in a mounted Secret. Without a bundle, workloads already trust the certificate.
type Files struct{ Cert, Key, Bundle string }

// FileCertificates serves a certificate from files, and reloads it when they change. All methods can be called from
// any goroutine.
type FileCertificates struct {
	files Files
	// changed is called without the lock; nil if no caller needs it.
	changed func()

	// mu guards the fields below.
	mu   sync.Mutex
	pair []byte // as read from the files
	// certificate is the last valid one, and bundle the last valid bundle.
	certificate *tls.Certificate
	bundle      []byte
}

// NewFileCertificates reads the files once, so that errors are reported at startup. changed is called
// whenever the bundle changes.
func NewFileCertificates(files Files, changed func()) (*FileCertificates, error) {
	p := &FileCertificates{files: files, changed: changed}
	_, err := p.read()
	return p, err
}

// TLS returns the TLS configuration of the server. It uses the current certificate for each connection, so a reload
// needs no restart. The caller owns the configuration.
func (p *FileCertificates) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.certificate, nil
	}}
}

// Bundle returns the PEM bundle that verifies the server, or an empty one if there is no such file.
func (p *FileCertificates) Bundle() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bundle
}

// Refresh reads the files again. Files that are unreadable or invalid leave the previous content in use.
func (p *FileCertificates) Refresh(context.Context) error {
	changed, err := p.read()
	if changed && p.changed != nil {
		p.changed()
	}
	return err
}

// read reads all files, and reports whether the bundle has changed. An error of one file does not prevent the others.
func (p *FileCertificates) read() (changed bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	errPair := p.readPair()
	changed, errBundle := p.readBundle()
	return changed, errors.Join(errPair, errBundle)
}

// readPair reads the certificate and its key together: during an update, only one of them may have changed, and the
// pair is then invalid. The caller holds the lock.
func (p *FileCertificates) readPair() error {
	cert, errCert := os.ReadFile(p.files.Cert)
	key, errKey := os.ReadFile(p.files.Key)
	if err := errors.Join(errCert, errKey); err != nil {
		return fmt.Errorf("reading the server's certificate: %w", err)
	}
	// Unchanged files are not parsed again.
	pair := bytes.Join([][]byte{cert, key}, []byte{0})
	if bytes.Equal(pair, p.pair) {
		return nil
	}
	certificate, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("reading the server's certificate from %s and %s: %w", p.files.Cert, p.files.Key, err)
	}
	p.pair, p.certificate = pair, &certificate
	return nil
}

// readBundle reads the bundle, if there is a file for it. The caller holds the lock.
func (p *FileCertificates) readBundle() (changed bool, err error) {
	if p.files.Bundle == "" {
		return false, nil
	}
	bundle, err := os.ReadFile(p.files.Bundle)
	if err != nil {
		return false, fmt.Errorf("reading the server's bundle: %w", err)
	}
	if bytes.Equal(bundle, p.bundle) {
		return false, nil
	}
	if !x509.NewCertPool().AppendCertsFromPEM(bundle) {
		return false, fmt.Errorf("reading the server's bundle: %s has no certificate in PEM", p.files.Bundle)
	}
	p.bundle = bundle
	return true, nil
}
