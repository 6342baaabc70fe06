package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"time"
)

// Certificates and keys are created here, although kube-apiserver would create its own: elliptic curve keys
// are fast, the kubeconfig can be written before any component runs, and it can contain a certificate
// authority.

// ensureCredentials creates the missing files in pki/ and returns the token.
func (d directory) ensureCredentials() (token string, err error) {
	if err := os.MkdirAll(d.path("pki"), 0o700); err != nil {
		return "", err
	}
	stored, err := os.ReadFile(d.path("pki", "token"))
	if err == nil {
		return string(stored), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := d.writeCertificates(); err != nil {
		return "", fmt.Errorf("writing certificates: %w", err)
	}
	token = rand.Text()
	users := token + `,admin,admin,"system:masters"` + "\n"
	if err := d.write("pki/users.csv", users); err != nil {
		return "", err
	}
	// The token is written last, because its presence means that the other files exist.
	return token, d.write("pki/token", token)
}

func (d directory) writeCertificates() error {
	authority := certificate("holdfast local control plane")
	authority.IsCA = true
	authority.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	authorityKey, err := d.writePair("ca", authority, authority, nil)
	if err != nil {
		return err
	}
	server := certificate("127.0.0.1")
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	server.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if _, err := d.writePair("server", server, authority, authorityKey); err != nil {
		return err
	}
	_, err = d.writeKey("service-account")
	return err
}

func certificate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(10, 0, 0),
		BasicConstraintsValid: true,
	}
}

// writePair writes pki/<name>.crt and pki/<name>.key. Without a signer, the certificate is self-signed.
func (d directory) writePair(name string, template, issuer *x509.Certificate, signer *ecdsa.PrivateKey) (*ecdsa.PrivateKey, error) {
	key, err := d.writeKey(name)
	if err != nil {
		return nil, err
	}
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	return key, d.write("pki/"+name+".crt", encode("CERTIFICATE", der))
}

func (d directory) writeKey(name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, d.write("pki/"+name+".key", encode("EC PRIVATE KEY", der))
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// writeKubeconfig writes a kubeconfig for the administrator. It embeds the certificate authority, so that
// the file can be copied.
func (d directory) writeKubeconfig(port int, token string) error {
	authority, err := os.ReadFile(d.path("pki", "ca.crt"))
	if err != nil {
		return err
	}
	return d.write("kubeconfig", strings.NewReplacer(
		"SERVER", "https://"+address(port),
		"AUTHORITY", base64.StdEncoding.EncodeToString(authority),
		"TOKEN", token,
	).Replace(kubeconfigText))
}

const kubeconfigText = `apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: SERVER
    certificate-authority-data: AUTHORITY
users:
- name: admin
  user:
    token: TOKEN
contexts:
- name: local
  context: {cluster: local, user: admin}
current-context: local
`
