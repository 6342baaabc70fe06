package callback

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// Provided are certificates in files that somebody else keeps up to date, such as
// those of a mounted Secret. They are read again at most every minute.
type Provided struct {
	certFile, keyFile string
	now               func() time.Time

	mu    sync.Mutex
	read  time.Time
	ready *tls.Certificate
}

// NewProvided reads the files once, so that a mistake is found at the start.
func NewProvided(certFile, keyFile string, now func() time.Time) (*Provided, error) {
	p := &Provided{certFile: certFile, keyFile: keyFile, now: now}
	_, err := p.certificate(nil)
	return p, err
}

// TLS is the configuration of the server.
func (p *Provided) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: p.certificate}
}

// certificate reads the files. While they cannot be read, the last ones serve.
func (p *Provided) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ready != nil && p.now().Sub(p.read) < time.Minute {
		return p.ready, nil
	}
	certificate, err := tls.LoadX509KeyPair(p.certFile, p.keyFile)
	switch {
	case err == nil:
		p.ready, p.read = &certificate, p.now()
	case p.ready == nil:
		return nil, fmt.Errorf("reading the certificate of the callback server from %s and %s: %w", p.certFile, p.keyFile, err)
	}
	return p.ready, nil
}

// ReadBundle reads the PEM bundle that verifies a provided certificate.
func ReadBundle(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the bundle of the callback server: %w", err)
	}
	return raw, nil
}
