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
	"fmt"
	"math/big"
	"time"
)

// Lifetimes of certificates.
type Lifetimes struct {
	// Authority is that of a certificate authority, Server that of a server's
	// certificate. Both are replaced when two thirds of them are over; the next
	// authority is there, and trusted, when half is.
	Authority, Server time.Duration
}

// DefaultLifetimes are a year, and a month.
var DefaultLifetimes = Lifetimes{Authority: 365 * 24 * time.Hour, Server: 30 * 24 * time.Hour}

// pair is a certificate with its key, as PEM and as it is used.
type pair struct {
	certPEM, keyPEM []byte
	cert            *x509.Certificate
	key             crypto.Signer
}

// lived reports whether that much of a certificate's life is over.
func lived(certificate *x509.Certificate, part float64, now time.Time) bool {
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	return now.After(certificate.NotBefore.Add(time.Duration(float64(life) * part)))
}

// When the next authority is made, and when it takes over.
const (
	half      = 1.0 / 2
	twoThirds = 2.0 / 3
)

// newAuthority makes a certificate authority.
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

// newServer makes a server's certificate for some host names.
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
	return &tls.Certificate{Certificate: [][]byte{p.cert.Raw}, PrivateKey: p.key, Leaf: p.cert}, nil
}

// issue signs a certificate with an authority, or with itself.
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
	// Clocks differ; a life that is short is not made much longer by that.
	template.NotBefore, template.NotAfter = now.Add(-min(time.Hour, lifetime/10)), now.Add(lifetime)
	parent, signer := template, crypto.Signer(key)
	if authority != nil {
		parent, signer = authority.cert, authority.key
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

// readPair reads a certificate and its key. Its errors say nothing of the key.
func readPair(certPEM, keyPEM []byte) (*pair, error) {
	certificate, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, errors.New("not a certificate with its key")
	}
	signer, ok := certificate.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T cannot sign", certificate.PrivateKey)
	}
	return &pair{certPEM: bytes.TrimSpace(certPEM), keyPEM: keyPEM, cert: certificate.Leaf, key: signer}, nil
}
