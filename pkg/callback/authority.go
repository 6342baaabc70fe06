package callback

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"time"
)

// Lifetimes are the lifetimes of certificates.
type Lifetimes struct {
	// Authority is the lifetime of a certificate authority, Server that of a server certificate. Both are
	// replaced after two thirds of their lifetime. The next authority is created and trusted after half of
	// the lifetime of the current one.
	Authority, Server time.Duration
}

// DefaultLifetimes are one year and 30 days.
var DefaultLifetimes = Lifetimes{Authority: 365 * 24 * time.Hour, Server: 30 * 24 * time.Hour}

// pair is a certificate with its key, PEM-encoded and parsed.
type pair struct {
	tls.Certificate
	certPEM, keyPEM []byte
}

// hasLived reports whether the given part of a certificate's lifetime has passed.
func hasLived(certificate *x509.Certificate, part float64, now time.Time) bool {
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	return now.After(certificate.NotBefore.Add(time.Duration(float64(life) * part)))
}

// The parts of the lifetime after which the next authority is created, and after which it signs.
const (
	half      = 1.0 / 2
	twoThirds = 2.0 / 3
)

// newAuthority creates a certificate authority.
func newAuthority(now time.Time, lifetime time.Duration) (*pair, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "holdfast-callback-ca"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	return issue(template, nil, now, lifetime)
}

// newServer creates a server certificate for the given hosts, of which there must be at least one. Its key exists
// only in this process.
func newServer(authority *pair, hosts []string, now time.Time, lifetime time.Duration) (*tls.Certificate, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: hosts[0]},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	addHosts(template, hosts)
	p, err := issue(template, authority, now, lifetime)
	if err != nil {
		return nil, err
	}
	return &p.Certificate, nil
}

// issue signs a certificate with the authority, or creates a self-signed one if authority is nil. It creates a key,
// and sets the serial number and the validity in the template.
func issue(template *x509.Certificate, authority *pair, now time.Time, lifetime time.Duration) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	// Backdating allows for clock skew. It is limited to a tenth of the lifetime.
	template.NotBefore, template.NotAfter = now.Add(-min(time.Hour, lifetime/10)), now.Add(lifetime)
	// A certificate without an authority signs itself.
	parent, signer := template, crypto.PrivateKey(key)
	if authority != nil {
		parent, signer = authority.Leaf, authority.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return readPair(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

// readPair parses a certificate and its key, and checks that they belong together. Its errors contain nothing of the
// key.
func readPair(certPEM, keyPEM []byte) (*pair, error) {
	certificate, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, errors.New("not a certificate with its key")
	}
	return &pair{certificate, bytes.TrimSpace(certPEM), keyPEM}, nil
}
