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

// Files are a certificate, its key and the bundle that verifies it, which an operator
// else keeps up to date, such as those of a mounted Secret. Without a Bundle,
// workloads trust the certificate anyway.
type Files struct{ Cert, Key, Bundle string }

// Provided serves with a certificate in files, and follows them.
type Provided struct {
	files   Files
	changed func()

	mu          sync.Mutex
	pair        []byte // as it was read
	certificate *tls.Certificate
	bundle      []byte
}

// NewProvided reads the files once, so that a mistake is found at the start.
// changed is called when the bundle is another one.
func NewProvided(files Files, changed func()) (*Provided, error) {
	p := &Provided{files: files, changed: changed}
	_, err := p.read()
	return p, err
}

// TLS is the configuration of the server.
func (p *Provided) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.certificate, nil
	}}
}

// Bundle is the PEM bundle that verifies the server; empty without a file of it.
func (p *Provided) Bundle() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bundle
}

// Refresh reads the files again. What cannot be read, or is wrong, stays as it was.
func (p *Provided) Refresh(context.Context) error {
	changed, err := p.read()
	if changed && p.changed != nil {
		p.changed()
	}
	return err
}

func (p *Provided) read() (changed bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	errPair := p.readPair()
	changed, errBundle := p.readBundle()
	return changed, errors.Join(errPair, errBundle)
}

func (p *Provided) readPair() error {
	cert, errCert := os.ReadFile(p.files.Cert)
	key, errKey := os.ReadFile(p.files.Key)
	if err := errors.Join(errCert, errKey); err != nil {
		return fmt.Errorf("reading the server's certificate: %w", err)
	}
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

func (p *Provided) readBundle() (changed bool, err error) {
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
