package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster/binaries"
	"holdfast.dev/holdfast/internal/testcluster/installed"
)

// elsewhere returns a checkout with its own playground, separate from that of the developer.
func elsewhere(t *testing.T) checkout {
	t.Helper()
	controlplane, err := binaries.Ensure(t.Context(), os.Stderr)
	require.NoError(t, err)
	own, err := findCheckout()
	require.NoError(t, err)
	c := checkout{t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(c.root, "bin"), 0o700))
	for name, target := range map[string]string{
		filepath.Join("bin", controlplaneProgram): controlplane,
		filepath.Join("bin", controllerProgram):   installed.Program(t, controllerProgram),
		filepath.Join("bin", holdfastProgram):     installed.Program(t, holdfastProgram),
		"deploy":                                  filepath.Join(own.root, "deploy"), "examples": filepath.Join(own.root, "examples"),
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(c.root, name)))
	}
	return c
}

func TestPlaygroundTextWorks(t *testing.T) {
	c := elsewhere(t)
	var out bytes.Buffer
	terminal := &terminal{out: &out}
	t.Cleanup(func() { assert.NoError(t, down(context.WithoutCancel(t.Context()), c, terminal)) })
	require.NoError(t, up(t.Context(), c, terminal))
	cluster, err := c.connect(c.playground())
	require.NoError(t, err)
	run := func(command string) string {
		t.Helper()
		output, err := cluster.shell(t.Context(), command)
		require.NoError(t, err, "%s", output)
		return output
	}
	commands := regexp.MustCompile(`(?m)^ {2}((?:kubectl|holdfast) .*)$`).FindAllStringSubmatch(out.String(), -1)
	require.Len(t, commands, 7)
	for _, command := range commands[:3] {
		run(command[1])
	}
	run("kubectl wait lease/holdfast-controller --for=jsonpath={.spec.holderIdentity} --timeout=120s -n holdfast-system")
	run("holdfast check")
	run("kubectl wait hfapp/echo-demo --for=condition=Ready=false --timeout=120s")
	run(commands[3][1])
	for _, command := range commands[4:] {
		output, _ := cluster.shell(t.Context(), command[1]) // diff and status exit with an error if there are differences
		assert.Contains(t, output, "registry.k8s.io/echoserver:1.10", command[1])
	}
	run("holdfast resume echo-demo --wait")

	run(`kubectl patch hfapp echo-demo --type=merge -p '{"spec": {"hooks": {"complete": {"action": "Keep"}}}}'`)
	run("kubectl wait secret/echo-demo-hooks --for=create --timeout=120s")
	run("kubectl wait secret/echo-demo-hooks --for=jsonpath={.data.complete-token} --timeout=120s")
	run("kubectl wait hfapp/echo-demo --for=jsonpath={.status.hooks.tokens} --timeout=120s")
	function := regexp.MustCompile(`(?ms)^ {2}secret\(\).*?; \}$`).FindString(out.String())
	require.Contains(t, function, "NAME-hooks")
	function = strings.ReplaceAll(function, "NAME", "echo-demo")
	secret := func(key string) string { return run(function + "\nsecret " + key) }
	// curl may not be installed.
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(secret("ca.crt"))))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, secret("complete-url"), http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+secret("complete-token"))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	response, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode)
	run("kubectl wait hfapp/echo-demo --for=condition=Completed --timeout=120s")

	require.NoError(t, up(t.Context(), c, terminal), "what runs is left alone")
	run("kubectl get hfapp/echo-demo")
	require.NoError(t, down(t.Context(), c, terminal))
	assert.NoDirExists(t, c.playground())
	assert.True(t, strings.HasSuffix(strings.TrimSpace(out.String()), ".holdfast is removed."))
}
