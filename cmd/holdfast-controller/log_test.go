package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryLineOfAReconcileTellsWhatItIsAbout(t *testing.T) {
	c, namespace := ours(t)
	p := start(t, c, "--leader-elect=false", "--watch-namespaces="+namespace, "-v=10", "--logging-format=json")
	p.Says(leads)
	submit(t, c, namespace, "app", "")
	awaitReady(t, c, namespace, "app")
	uid := kubectl(t, c, "", "get", "application", "app", "-n", namespace, "--output=jsonpath={.metadata.uid}")
	p.Signal(syscall.SIGTERM)
	assert.Equal(t, 0, p.Ends())

	seen := 0
	for line := range strings.Lines(p.Log()) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields), "every line is JSON: %s", line)
		if fields["reconcileID"] == nil {
			assert.NotContains(t, line, "Impersonate-User", "what is done for an Application is done in a reconcile")
			assert.NotContains(t, line, "/applications/app/status")
			continue
		}
		seen++
		assert.NotEmpty(t, fields["reconcileID"], line)
		assert.Equal(t, "holdfast.dev/v1alpha1", fields["resource.apiVersion"], line)
		assert.Equal(t, "Application", fields["resource.kind"], line)
		assert.Equal(t, "app", fields["resource.name"], line)
		assert.Equal(t, namespace, fields["resource.namespace"], line)
		assert.Equal(t, uid, fields["resource.uid"], line)
		assert.NotEmpty(t, fields["resource.resourceVersion"], line)
		assert.InDelta(t, 1, fields["resource.generation"], 0, line)
	}
	assert.Greater(t, seen, 3, "the requests of a reconcile are lines of it:\n%s", p.Log())
}

// canary is a value that is in Secrets only.
const canary = "canary-7f3a9c51e2"

// Everything that may become of a Secret, with a canary in each place where a value can
// be. None is found in what the controller tells.
func TestValuesOfSecretsAreToldNobody(t *testing.T) {
	c, namespace := ours(t)
	p := start(t, c, "--leader-elect=false", "--watch-namespaces="+namespace, "-v=10")
	p.Says(leads)
	encoded := base64.StdEncoding.EncodeToString([]byte(canary))
	kubectl(t, c, fmt.Sprintf(`{apiVersion: v1, kind: Secret, metadata: {name: foreign}, stringData: {key: %s}}`, canary), "create", "-n", namespace, "--filename=-")
	for name, secret := range map[string]string{
		"held":          `data: {key: ENCODED}, stringData: {other: CANARY}`,
		"fixed":         `immutable: true, data: {key: ENCODED}`,
		"foreign":       `data: {key: ENCODED}`,                              // somebody else's
		"incomplete":    `type: kubernetes.io/tls, data: {tls.crt: ENCODED}`, // refused by validation
		"undecodable":   `data: {key: "CANARY!"}`,                            // refused when it is read
		"wrong-type":    `data: [CANARY]`,
		"wrong-value":   `stringData: {key: {deep: CANARY}}`,
		"wrong-key":     `stringData: {"not a key!": CANARY}`,
		"unknown-field": `datum: CANARY, data: {key: ENCODED}`,
	} {
		secret = strings.NewReplacer("ENCODED", encoded, "CANARY", canary).Replace(secret)
		kubectl(t, c, fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: %[1]s},
  spec: {manifest: [{apiVersion: v1, kind: Secret, metadata: {name: %[1]s}, %[2]s}]}}`, name, secret),
			"apply", "--server-side", "-n", namespace, "--filename=-")
		eventually(t, "what becomes of "+name, func() bool {
			return kubectl(t, c, "", "get", "application", name, "-n", namespace, "--output=jsonpath={.status.conditions[?(@.type=='Ready')].reason}") != ""
		})
	}
	awaitReady(t, c, namespace, "held")
	for i := range 8 { // a fight, until it is contested
		kubectl(t, c, "", "patch", "secret", "held", "-n", namespace, "--type=merge", fmt.Sprintf(`--patch={"stringData":{"key":"%s-%d"}}`, canary, i))
		eventually(t, "an answer", func() bool {
			return kubectl(t, c, "", "get", "secret", "held", "-n", namespace, "--output=jsonpath={.data.key}") == encoded ||
				strings.Contains(kubectl(t, c, "", "get", "application", "held", "-n", namespace, "--output=jsonpath={.status.contested}"), "key")
		})
	}
	// What is immutable is to be changed.
	kubectl(t, c, "", "patch", "application", "fixed", "-n", namespace, "--type=json",
		fmt.Sprintf(`--patch=[{"op":"replace","path":"/spec/manifest/0/data/key","value":%q}]`, base64.StdEncoding.EncodeToString([]byte("new-"+canary))))
	eventually(t, "the refusal", func() bool {
		return strings.Contains(kubectl(t, c, "", "get", "application", "fixed", "-n", namespace, "--output=jsonpath={.status.conditions[*].reason}"), "Rejected")
	})
	kubectl(t, c, "", "delete", "rolebinding", "applier", "-n", namespace)
	kubectl(t, c, "", "delete", "secret", "fixed", "-n", namespace)
	eventually(t, "missing rights", func() bool {
		return strings.Contains(kubectl(t, c, "", "get", "application", "fixed", "-n", namespace, "--output=jsonpath={.status.conditions[*].reason}"), "Forbidden")
	})
	_, metrics := p.Get("/metrics")
	p.Signal(syscall.SIGTERM)
	assert.Equal(t, 0, p.Ends())

	told := map[string]string{
		"the log":    p.Log(),
		"metrics":    metrics,
		"the events": kubectl(t, c, "", "get", "events.events.k8s.io", "-n", namespace, "--output=yaml"),
		"statuses":   kubectl(t, c, "", "get", "applications", "-n", namespace, `--output=jsonpath={range .items[*]}{.metadata.annotations}{.status}{"\n"}{end}`),
	}
	assert.Contains(t, told["the log"], "/secrets", "it is detailed")
	assert.Contains(t, told["the events"], "contested")
	assert.Contains(t, told["statuses"], "lastAppliedManifest")
	for where, text := range told {
		for _, form := range forms(canary) {
			for line := range strings.Lines(text) {
				if strings.Contains(line, form) {
					t.Errorf("a value is in %s: %s", where, line)
				}
			}
		}
	}
}

// forms are a text, and what it looks like inside longer texts in base64, whatever
// stands before it.
func forms(text string) []string {
	all := []string{text}
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + text))
		all = append(all, encoded[4:len(encoded)-4])
	}
	return all
}
