package callback

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestHosts(t *testing.T) {
	for external, hosts := range map[string][]string{
		"https://holdfast-callback.holdfast-system.svc": {
			"holdfast-callback.holdfast-system.svc", "holdfast-callback.holdfast-system", "holdfast-callback.holdfast-system.svc.cluster.local",
		},
		"https://callback.example.com:8443/base": {"callback.example.com"},
		"http://127.0.0.1:80":                    {"127.0.0.1"},
	} {
		got, err := Hosts(external)
		require.NoError(t, err)
		assert.Equal(t, hosts, got)
	}
	for _, external := range []string{"", "callback", "ftp://a", "https://", ":", "https://user@a", "https://a?b", "https://a#b"} {
		_, err := Hosts(external)
		assert.Error(t, err, external)
	}
}

// The stages of a rotation, in the order in which they happen.
func TestNextAuthorityIsTrustedBeforeUse(t *testing.T) {
	now := start
	m := NewManagedCertificates(nil, []string{"a.example.com", "127.0.0.1"}, Lifetimes{Authority: 100 * time.Hour, Server: 10 * time.Hour}, func() time.Time { return now }, nil)
	advance := func(at time.Duration) authorities {
		now = start.Add(at)
		a, err := m.advance(m.state)
		require.NoError(t, err)
		m.use(a)
		return a
	}
	first := advance(0)
	assert.NotNil(t, first.current)
	assert.Nil(t, first.next)
	assert.Equal(t, first, advance(40*time.Hour), "nothing is due")

	second := advance(55 * time.Hour)
	assert.Equal(t, first.current, second.current)
	assert.NotNil(t, second.next)
	serverSignedBy(t, m, first.current)

	third := advance(70 * time.Hour)
	assert.Equal(t, second.next, third.current)
	assert.Equal(t, first.current, third.previous, "who was started long ago still verifies")
	assert.Equal(t, 2, certificatesIn(m.Bundle()))
	serverSignedBy(t, m, third.current)

	fourth := advance(101 * time.Hour)
	assert.Nil(t, fourth.previous, "it has expired")
	assert.Equal(t, third.current, fourth.current)

	t.Run("and survive being stored", func(t *testing.T) {
		again := readAuthorities(second.data())
		assert.Equal(t, second.bundle(now), again.bundle(now))
		broken := second.data()
		broken["current.key"] = []byte("hunter2")
		assert.Nil(t, readAuthorities(broken).current, "unreadable authorities are created again")
	})
	t.Run("and are used after a long downtime", func(t *testing.T) {
		now = start.Add(120 * time.Hour)
		late, err := m.advance(second)
		require.NoError(t, err)
		assert.Same(t, second.next, late.current, "workloads trust it already")
		now = start.Add(70 * time.Hour)
		late, err = m.advance(first)
		require.NoError(t, err)
		assert.Same(t, first.current, late.current, "no workload trusts the next one yet")
		assert.NotNil(t, late.next)
	})
	t.Run("and an expired authority is replaced", func(t *testing.T) {
		assert.NotEqual(t, fourth.current, advance(1000*time.Hour).current)
	})
}

func TestServerCertificate(t *testing.T) {
	now := start
	m := NewManagedCertificates(nil, []string{"a.example.com", "127.0.0.1"}, Lifetimes{Authority: 100 * time.Hour, Server: 10 * time.Hour}, func() time.Time { return now }, nil)
	_, err := m.certificate(nil)
	require.Error(t, err, "there is no authority yet")
	a, err := m.advance(authorities{})
	require.NoError(t, err)
	m.use(a)
	one, err := m.certificate(nil)
	require.NoError(t, err)
	require.NoError(t, one.Leaf.VerifyHostname("a.example.com"))
	require.NoError(t, one.Leaf.VerifyHostname("127.0.0.1"))
	same, err := m.certificate(nil)
	require.NoError(t, err)
	assert.Same(t, one, same)
	now = start.Add(8 * time.Hour)
	other, err := m.certificate(nil)
	require.NoError(t, err)
	assert.NotEqual(t, one.Leaf.SerialNumber, other.Leaf.SerialNumber)
	now = start.Add(98 * time.Hour)
	last, err := m.certificate(nil)
	require.NoError(t, err)
	assert.False(t, last.Leaf.NotAfter.After(a.current.Leaf.NotAfter), "it does not outlive its authority")
}

func serverSignedBy(t *testing.T, m *ManagedCertificates, authority *pair) {
	t.Helper()
	server, err := m.certificate(nil)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(authority.Leaf)
	_, err = server.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: m.now()})
	require.NoError(t, err)
	trusted := x509.NewCertPool()
	require.True(t, trusted.AppendCertsFromPEM(m.Bundle()))
	_, err = server.Leaf.Verify(x509.VerifyOptions{Roots: trusted, CurrentTime: m.now()})
	assert.NoError(t, err)
}

func certificatesIn(bundle []byte) (n int) {
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		n++
	}
	return n
}

// provided writes a self-signed certificate to files. The write function replaces it.
func provided(t *testing.T) (files Files, write func() *pair) {
	t.Helper()
	dir := t.TempDir()
	files = Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), Bundle: filepath.Join(dir, "ca.crt")}
	return files, func() *pair {
		p, err := newAuthority(start, time.Hour)
		require.NoError(t, err)
		for file, content := range map[string][]byte{files.Cert: p.certPEM, files.Key: p.keyPEM, files.Bundle: p.certPEM} {
			require.NoError(t, os.WriteFile(file, content, 0o600))
		}
		return p
	}
}

func TestFileCertificatesAreReloaded(t *testing.T) {
	files, write := provided(t)
	changes := 0
	changed := func() { changes++ }
	_, err := NewFileCertificates(files, changed)
	require.ErrorIs(t, err, os.ErrNotExist)
	first := write()
	p, err := NewFileCertificates(files, changed)
	require.NoError(t, err)
	serves := func(expected *pair) {
		t.Helper()
		got, err := p.TLS().GetCertificate(nil)
		require.NoError(t, err)
		assert.Equal(t, expected.Leaf.Raw, got.Certificate[0])
	}
	serves(first)
	assert.Equal(t, first.certPEM, p.Bundle())
	require.NoError(t, p.Refresh(t.Context()))
	assert.Zero(t, changes, "nothing has changed")

	second := write()
	require.NoError(t, p.Refresh(t.Context()))
	serves(second)
	assert.Equal(t, second.certPEM, p.Bundle())
	assert.Equal(t, 1, changes)

	// The certificate can be reloaded without its bundle, and vice versa.
	third := write()
	require.NoError(t, os.WriteFile(files.Bundle, []byte("soon"), 0o600))
	require.ErrorContains(t, p.Refresh(t.Context()), files.Bundle+" has no certificate")
	serves(third)
	assert.Equal(t, second.certPEM, p.Bundle(), "it is unchanged")
	fourth := write()
	require.NoError(t, os.WriteFile(files.Key, third.keyPEM, 0o600))
	err = p.Refresh(t.Context())
	require.ErrorContains(t, err, files.Key)
	assert.NotContains(t, err.Error(), "PRIVATE")
	serves(third)
	assert.Equal(t, fourth.certPEM, p.Bundle())
	require.NoError(t, os.Remove(files.Cert))
	require.ErrorIs(t, p.Refresh(t.Context()), os.ErrNotExist)
	serves(third)
	assert.Equal(t, 2, changes)
}

func TestFileCertificatesWithoutBundle(t *testing.T) {
	files, write := provided(t)
	write()
	files.Bundle = ""
	p, err := NewFileCertificates(files, nil)
	require.NoError(t, err)
	require.NoError(t, p.Refresh(t.Context()))
	assert.Empty(t, p.Bundle())
}

func TestPersistentErrorIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		ctx, log := logged(ctx)
		failing := []error{errors.New("away"), errors.New("away"), nil, errors.New("away"), errors.New("forbidden")}
		go Keep(ctx, func(context.Context) error {
			if len(failing) == 0 {
				stop()
				return ctx.Err()
			}
			err := failing[0]
			failing = failing[1:]
			return err
		}, func() time.Duration { return time.Hour })
		<-ctx.Done()
		synctest.Wait()
		assert.Equal(t, 2, strings.Count(log(), "away"))
		assert.Equal(t, 1, strings.Count(log(), "forbidden"))
	})
}

// A refresh is retried when another replica was faster, but only a limited number of times.
func TestRefreshStopsAfterConflicts(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, SecretName, errors.New("another version"))
	asked := 0
	m := NewManagedCertificates(failingSecrets{func() error { asked++; return conflict }}, []string{"a"}, DefaultLifetimes, time.Now, nil)
	require.ErrorIs(t, m.Refresh(t.Context()), conflict)
	assert.Equal(t, maxRefreshConflicts, asked)
}

// failingSecrets fails on reads.
type failingSecrets struct{ fail func() error }

func (s failingSecrets) Get(context.Context, string, metav1.GetOptions) (*corev1.Secret, error) {
	return nil, s.fail()
}

func (failingSecrets) Create(context.Context, *corev1.Secret, metav1.CreateOptions) (*corev1.Secret, error) {
	panic("nothing was read")
}

func (failingSecrets) Update(context.Context, *corev1.Secret, metav1.UpdateOptions) (*corev1.Secret, error) {
	panic("nothing was read")
}
