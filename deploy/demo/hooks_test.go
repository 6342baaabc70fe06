package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/facts"
)

// A workload has a Deployment, and the Service that its shutdown hook calls.
const workload = `apiVersion: holdfast.dev/v1alpha1
kind: Application
metadata: {name: NAME}
HOOKS  manifest:
  - {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 8080}]}}
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: NAME}
    spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}}
`

// callHooks submits an Application with each hook of docs/hooks.md, and makes the call of the page.
func callHooks(t *testing.T, c *cluster) {
	t.Helper()
	page, err := os.ReadFile("../../docs/hooks.md")
	require.NoError(t, err)
	specs, calls := facts.Blocks(string(page), "yaml"), facts.Blocks(string(page), "sh")
	require.Len(t, calls, 2)
	run := func(command string) string {
		output, err := c.shell(t.Context(), command)
		require.NoError(t, err, "%s\n%s", command, output)
		return output
	}
	for i, name := range []string{"complete", "shutdown"} {
		require.Contains(t, specs[i], "    "+name+":\n")
		run(fmt.Sprintf("kubectl apply -f - <<'EOF'\n%sEOF", strings.NewReplacer("NAME", name, "HOOKS", specs[i]).Replace(workload)))
		run("kubectl wait hfapp/" + name + " --for=condition=Ready --timeout=60s")
		run("kubectl wait hfapp/" + name + " --for=jsonpath={.status.hooks.tokens} --timeout=60s")
		if name == "shutdown" {
			run("kubectl delete hfapp/" + name + " --wait=false")
		}
		assert.Equal(t, http.StatusOK, send(t, run, name, calls[i]))
		run("kubectl wait hfapp/" + name + " deployment/" + name + " --for=delete --timeout=60s")
	}
}

// send makes the HTTP request of a curl command in a container of a Deployment. The Pods of the playground do not run,
// and curl may not be installed, so the shell only expands the variables.
func send(t *testing.T, run func(string) string, deployment, command string) int {
	t.Helper()
	var pod corev1.PodSpec
	require.NoError(t, json.Unmarshal([]byte(run("kubectl get deployment "+deployment+" -o jsonpath={.spec.template.spec}")), &pod))
	value := func(secret, key string) string {
		return run(fmt.Sprintf(`kubectl get secret %s -o go-template='{{index .data %q | base64decode}}'`, secret, key))
	}
	script := "curl() { printf '%s\\n' \"$@\"; }\n"
	for _, variable := range pod.Containers[0].Env {
		from := variable.ValueFrom.SecretKeyRef
		script += fmt.Sprintf("%s='%s'\n", variable.Name, value(from.Name, from.Key))
	}
	var file, method, body string
	flags := flag.NewFlagSet("curl", flag.ContinueOnError)
	flags.Bool("fail", false, "")
	flags.Int("retry", 0, "")
	flags.Bool("retry-connrefused", false, "")
	flags.StringVar(&file, "cacert", "", "")
	flags.StringVar(&method, "X", "", "")
	flags.StringVar(&body, "d", "", "")
	require.NoError(t, flags.Parse(strings.Split(run(script+command), "\n")))
	require.Equal(t, 1, flags.NArg())

	require.Equal(t, pod.Containers[0].VolumeMounts[0].MountPath+"/ca.crt", file)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(value(pod.Volumes[0].Secret.SecretName, "ca.crt"))))
	request, err := http.NewRequestWithContext(t.Context(), method, flags.Arg(0), strings.NewReader(body))
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	return response.StatusCode
}
