package callback

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestHostsOf(t *testing.T) {
	for external, hosts := range map[string][]string{
		"https://holdfast-callback.holdfast-system.svc": {
			"holdfast-callback.holdfast-system.svc", "holdfast-callback.holdfast-system", "holdfast-callback.holdfast-system.svc.cluster.local",
		},
		"https://callback.example.com:8443/base": {"callback.example.com"},
		"http://127.0.0.1:80":                    {"127.0.0.1"},
	} {
		got, err := HostsOf(external)
		require.NoError(t, err)
		assert.Equal(t, hosts, got)
	}
	for _, external := range []string{"", "callback", "ftp://a", "https://", ":"} {
		_, err := HostsOf(external)
		assert.Error(t, err, external)
	}
}

// The life of the authorities, in the order in which an operator would see it.
func TestTheNextAuthorityIsTrustedBeforeItSigns(t *testing.T) {
	now := start
	m := NewManaged(nil, []string{"a.example.com", "127.0.0.1"}, Lifetimes{Authority: 100 * time.Hour, Server: 10 * time.Hour}, func() time.Time { return now }, nil)
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
		assert.Nil(t, readAuthorities(broken).current, "what cannot be read is made anew")
	})
	t.Run("and an authority that nobody has kept up is replaced", func(t *testing.T) {
		assert.NotEqual(t, fourth.current, advance(1000*time.Hour).current)
	})
}

func TestTheServersCertificate(t *testing.T) {
	now := start
	m := NewManaged(nil, []string{"a.example.com", "127.0.0.1"}, Lifetimes{Authority: 100 * time.Hour, Server: 10 * time.Hour}, func() time.Time { return now }, nil)
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
	assert.False(t, last.Leaf.NotAfter.After(a.current.cert.NotAfter), "it does not outlive its authority")
}

func serverSignedBy(t *testing.T, m *Managed, authority *pair) {
	t.Helper()
	server, err := m.certificate(nil)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(authority.cert)
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

func TestProvidedCertificatesAreReadAgain(t *testing.T) {
	dir, now := t.TempDir(), start
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	_, err := NewProvided(cert, key, func() time.Time { return now })
	require.Error(t, err)
	write := func() *pair {
		p, err := newAuthority(now, time.Hour)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(cert, p.certPEM, 0o600))
		require.NoError(t, os.WriteFile(key, p.keyPEM, 0o600))
		return p
	}
	first := write()
	p, err := NewProvided(cert, key, func() time.Time { return now })
	require.NoError(t, err)
	second := write()
	got, err := p.certificate(nil)
	require.NoError(t, err)
	assert.Equal(t, first.cert.Raw, got.Certificate[0], "not each time")
	now = now.Add(time.Minute)
	got, err = p.certificate(nil)
	require.NoError(t, err)
	assert.Equal(t, second.cert.Raw, got.Certificate[0])
	require.NoError(t, os.Remove(key))
	now = now.Add(time.Minute)
	got, err = p.certificate(nil)
	require.NoError(t, err)
	assert.Equal(t, second.cert.Raw, got.Certificate[0], "while they cannot be read, the last ones serve")
}
