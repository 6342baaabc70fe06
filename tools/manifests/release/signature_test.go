package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"holdfast.dev/holdfast/internal/samples"
)

// cosign runs bin/cosign without a network: all requests but those to this machine go to a closed port.
type cosign struct {
	*testing.T

	program, key, public string
}

func (c cosign) run(args ...string) error {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), c.program, args...)
	cmd.Env = append(os.Environ(), "COSIGN_PASSWORD=", "HTTPS_PROXY=http://127.0.0.1:1", "TUF_ROOT="+c.TempDir())
	output, err := cmd.CombinedOutput()
	c.Logf("cosign %s\n%s", strings.Join(args, " "), output)
	return err
}

// signing returns the flags of SIGNING in the Makefile.
func (c cosign) signing() []string {
	c.Helper()
	text, err := os.ReadFile(filepath.Join(checkout, "Makefile"))
	require.NoError(c, err)
	_, rest, found := strings.Cut(string(text), "\nSIGNING = ")
	require.True(c, found)
	line, _, _ := strings.Cut(rest, "\n")
	line = strings.NewReplacer("'$(SIGNING_KEY)'", c.key, "tools/cosign/", checkout+"/tools/cosign/").Replace(line)
	return append([]string{"--yes"}, strings.Fields(line)...)
}

func newCosign(t *testing.T) cosign {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(checkout, "bin", "cosign"))
	require.NoError(t, err)
	if _, err := os.Stat(program); err != nil {
		require.True(t, samples.Of(true, false), "there is no bin/cosign: run `make bin/cosign`")
		t.Skip("there is no bin/cosign, which takes minutes to build: `make test-long` builds it")
	}
	prefix := filepath.Join(t.TempDir(), "cosign")
	c := cosign{t, program, prefix + ".key", prefix + ".pub"}
	require.NoError(t, c.run("generate-key-pair", "--output-key-prefix", prefix))
	return c
}

// As described in docs/install.md.
func TestSignatureOfAFileIsVerifiedOffline(t *testing.T) {
	c := newCosign(t)
	sums := filepath.Join(t.TempDir(), sumsFile)
	require.NoError(t, os.WriteFile(sums, []byte("abc  holdfast.tar.gz\n"), 0o600))
	require.NoError(t, c.run(append(append([]string{"sign-blob"}, c.signing()...), "--bundle", sums+".sigstore.json", sums)...))
	verify := []string{"verify-blob", "--key", c.public, "--insecure-ignore-tlog", "--bundle", sums + ".sigstore.json", sums}
	require.NoError(t, c.run(verify...))
	require.NoError(t, os.WriteFile(sums, []byte("abd  holdfast.tar.gz\n"), 0o600))
	assert.Error(t, c.run(verify...))
}

func TestSignatureOfAnImageIsVerified(t *testing.T) {
	c := newCosign(t)
	server := httptest.NewServer(registry.New())
	t.Cleanup(server.Close)
	push := func(repository string) string {
		image, err := random.Index(64, 1, 2)
		require.NoError(t, err)
		to, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/" + repository + ":v1")
		require.NoError(t, err)
		require.NoError(t, remote.WriteIndex(to, image))
		digest, err := image.Digest()
		require.NoError(t, err)
		return to.Context().Digest(digest.String()).String()
	}
	signed := push("signed")
	require.NoError(t, c.run(append(append([]string{"sign"}, c.signing()...), signed)...))
	verify := []string{"verify", "--key", c.public, "--insecure-ignore-tlog"}
	require.NoError(t, c.run(append(verify, signed)...))
	assert.Error(t, c.run(append(verify, push("unsigned"))...))
}
