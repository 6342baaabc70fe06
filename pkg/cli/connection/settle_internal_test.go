package connection

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// One dry run finds the values that differ only in form. If the API server denies it, all differences are
// listed.
func TestADryRunSettlesTheSpelling(t *testing.T) {
	tune := func(memory, timeout string) map[string]any {
		return map[string]any{
			"apiVersion": "example.com/v1", "kind": "Tune", "spec": map[string]any{"memory": memory, "timeout": timeout},
			"metadata": map[string]any{"name": "settings", "namespace": "default", "uid": "u-1", "resourceVersion": "7"},
		}
	}
	for name, row := range map[string]struct {
		answer  map[string]any
		visible []string
	}{
		"all are":      {tune("1Gi", "1m0s"), nil},
		"one is":       {tune("1Gi", "60s"), []string{"spec.timeout"}},
		"it is denied": {nil, []string{"spec.memory", "spec.timeout"}},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case r.Method == http.MethodPatch:
					body, _ := io.ReadAll(r.Body)
					sent = append(sent, r.URL.Query().Get("dryRun")+" "+string(body))
					if row.answer == nil {
						w.WriteHeader(http.StatusForbidden)
						return
					}
					_, _ = io.WriteString(w, observertest.JSON(row.answer))
				case strings.HasSuffix(r.URL.Path, "/apis/example.com/v1"):
					_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[
						{"name":"tunes","kind":"Tune","namespaced":true,"verbs":["get","list","watch","create","patch","delete"]}]}`)
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			defer server.Close()
			client, err := cluster.NewClient(&rest.Config{Host: server.URL})
			require.NoError(t, err)
			c := newCluster(client, "")

			app := &v1alpha1.Application{}
			app.Namespace, app.Name, app.UID = "default", "web", "app-1"
			app.Spec.Mode, app.Spec.Adoption = v1alpha1.ModeObserve, v1alpha1.AdoptIfUnowned
			app.Spec.Manifest = observertest.Raws(map[string]any{
				"apiVersion": "example.com/v1", "kind": "Tune", "metadata": map[string]any{"name": "settings"},
				"spec": map[string]any{"memory": "1024Mi", "timeout": "60s"},
			})
			live := map[manifest.ID]map[string]any{{Group: "example.com", Kind: "Tune", Namespace: "default", Name: "settings"}: tune("1Gi", "1m0s")}
			d := &files.Decision{Subject: files.Subject{Application: app}, Plan: plan.Decide(plan.Input{Application: app, Live: live, Kinds: intent.Offline()})}
			c.settle(t.Context(), d)
			var visible []string
			for _, field := range d.Visible(d.Changes[0]) {
				visible = append(visible, field.Path)
			}
			assert.Equal(t, row.visible, visible)
			require.Len(t, sent, 1)
			assert.True(t, strings.HasPrefix(sent[0], "All "))
			assert.NotContains(t, sent[0], "tracking-id")
		})
	}
}
