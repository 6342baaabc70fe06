package callback

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretName is the name of the Secret with the certificate authorities.
const SecretName = "holdfast-callback-ca"

// The keys of that Secret.
const (
	currentKey, nextKey, previousKey = "current", "next", "previous"
)

// ManagedCertificates issues server certificates from its own certificate authority. All replicas share the
// authorities through a Secret: the current one, the next one long before it signs, and the previous one as long as
// it is valid. All of them are trusted. Each replica issues its own server certificate, whose key is never stored.
type ManagedCertificates struct {
	secrets Secrets
	// hosts are the names and IP addresses in the server certificate.
	hosts     []string
	lifetimes Lifetimes
	now       func() time.Time
	// changed is called without the lock; nil if no caller needs it.
	changed func()

	// mu guards the fields below. It is held while a server certificate is issued, but not during a request.
	mu sync.Mutex
	// state is the content of the Secret when it was last read or written; empty at first.
	state authorities
	// server is the current server certificate; nil until the first connection, and after a change of the authority.
	server *tls.Certificate
}

// Secrets is a client for the Secrets of the controller's namespace.
type Secrets interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error)
	Create(ctx context.Context, secret *corev1.Secret, options metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, secret *corev1.Secret, options metav1.UpdateOptions) (*corev1.Secret, error)
}

// authorities is the content of the Secret. next and previous can be nil.
type authorities struct{ current, next, previous *pair }

// NewManagedCertificates returns the certificates for a server with these host names. changed is called
// whenever the bundle changes.
func NewManagedCertificates(secrets Secrets, hosts []string, lifetimes Lifetimes, now func() time.Time, changed func()) *ManagedCertificates {
	return &ManagedCertificates{secrets: secrets, hosts: hosts, lifetimes: lifetimes, now: now, changed: changed}
}

// Bundle returns the PEM bundle that verifies the server now and after the next rotation.
func (m *ManagedCertificates) Bundle() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.bundle(m.now())
}

// bundle returns the certificates of all authorities that are valid, in PEM, or nil if there are none.
func (a authorities) bundle(now time.Time) []byte {
	var certificates [][]byte
	for _, p := range []*pair{a.current, a.next, a.previous} {
		if p != nil && now.Before(p.Leaf.NotAfter) {
			certificates = append(certificates, p.certPEM)
		}
	}
	if len(certificates) == 0 {
		return nil
	}
	return append(bytes.Join(certificates, []byte("\n")), '\n')
}

// TLS returns the TLS configuration of the server.
func (m *ManagedCertificates) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: m.certificate}
}

// certificate returns the server certificate. It issues a new one when the current one is due. crypto/tls calls it
// during handshakes, also concurrently. A server certificate never outlives its authority.
func (m *ManagedCertificates) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if m.state.current == nil {
		return nil, errors.New("there is no certificate authority yet")
	}
	if m.server != nil && !hasLived(m.server.Leaf, twoThirds, now) {
		return m.server, nil
	}
	lifetime := min(m.lifetimes.Server, m.state.current.Leaf.NotAfter.Sub(now))
	server, err := newServer(m.state.current, m.hosts, now, lifetime)
	if err != nil {
		return nil, err
	}
	m.server = server
	return server, nil
}

// maxRefreshConflicts is the maximum number of consecutive conflicts with other replicas.
const maxRefreshConflicts = 5

// Refresh reads the authorities and creates those that are missing or due. If another replica writes the Secret at
// the same time, one write fails, and this replica reads the result of the other. So all replicas use the same
// authorities.
func (m *ManagedCertificates) Refresh(ctx context.Context) (err error) {
	for range maxRefreshConflicts {
		err = m.refresh(ctx)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return err
}

// refresh makes one attempt of Refresh. It uses authorities only after they are stored. It returns a conflict if
// another replica was faster.
func (m *ManagedCertificates) refresh(ctx context.Context) error {
	secret, err := m.secrets.Get(ctx, SecretName, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return fmt.Errorf("reading the certificate authority of callbacks: %w", err)
	}
	if missing {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: SecretName}}
	}
	// Each replica decides from the Secret only, so all of them advance alike.
	state, err := m.advance(readAuthorities(secret.Data))
	if err != nil {
		return err
	}
	data := state.data()
	switch {
	case missing:
		secret.Data = data
		_, err = m.secrets.Create(ctx, secret, metav1.CreateOptions{FieldManager: "holdfast"})
	// The Secret that was read has a resourceVersion, so a concurrent write causes a conflict.
	case !maps.EqualFunc(secret.Data, data, bytes.Equal):
		secret.Data = data
		_, err = m.secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: "holdfast"})
	}
	if err != nil {
		return fmt.Errorf("writing the certificate authority of callbacks: %w", err)
	}
	m.use(state)
	return nil
}

// use makes the server sign with these authorities.
func (m *ManagedCertificates) use(state authorities) {
	m.mu.Lock()
	now := m.now()
	before := m.state.bundle(now)
	if m.state.current == nil || !bytes.Equal(m.state.current.certPEM, state.current.certPEM) {
		m.server = nil
	}
	m.state = state
	changed := !bytes.Equal(before, state.bundle(now))
	m.mu.Unlock()
	if changed && m.changed != nil {
		m.changed()
	}
}

// advance creates missing authorities: the first one, and the next one after half of the lifetime of the current one.
// After two thirds, or when the current one has expired, the next one becomes the current one. Between these times,
// workloads learn to trust it. The argument is not changed.
func (m *ManagedCertificates) advance(a authorities) (authorities, error) {
	now := m.now()
	for _, p := range []**pair{&a.current, &a.next, &a.previous} {
		if *p != nil && !now.Before((*p).Leaf.NotAfter) {
			*p = nil
		}
	}
	// After a long downtime, workloads trust the next one already.
	if a.current == nil {
		a.current, a.next = a.next, nil
	}
	var err error
	if a.current == nil {
		if a.current, err = newAuthority(now, m.lifetimes.Authority); err != nil {
			return a, err
		}
	}
	if a.next != nil && hasLived(a.current.Leaf, twoThirds, now) {
		a = authorities{current: a.next, previous: a.current}
	}
	// It signs in a later call at the earliest, also if this one is late.
	if a.next == nil && hasLived(a.current.Leaf, half, now) {
		if a.next, err = newAuthority(now, m.lifetimes.Authority); err != nil {
			return a, err
		}
	}
	return a, nil
}

// readAuthorities parses the Secret. It omits authorities that cannot be parsed; they are created again.
func readAuthorities(data map[string][]byte) (a authorities) {
	for key, into := range map[string]**pair{currentKey: &a.current, nextKey: &a.next, previousKey: &a.previous} {
		if p, err := readPair(data[key+".crt"], data[key+".key"]); err == nil && p.Leaf.IsCA {
			*into = p
		}
	}
	return a
}

// data returns the content of the Secret for these authorities.
func (a authorities) data() map[string][]byte {
	data := map[string][]byte{}
	for key, p := range map[string]*pair{currentKey: a.current, nextKey: a.next, previousKey: a.previous} {
		if p != nil {
			data[key+".crt"], data[key+".key"] = p.certPEM, p.keyPEM
		}
	}
	return data
}
