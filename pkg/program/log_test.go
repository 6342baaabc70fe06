package program

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReconcileLogHasContext(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	p := start(t, c, "--leader-elect=false", "--watch-namespaces="+namespace, "-v=10", "--logging-format=json")
	p.Says(leads)
	submit(t, c, namespace, "app", "")
	awaitReady(t, c, namespace, "app")
	uid := get(t, c, namespace, applications, "app", "{.metadata.uid}")
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
