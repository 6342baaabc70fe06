package controller_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var webhooks = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}

// Webhook starts a mutating webhook for Deployments in the test's namespace. It returns when the API
// server calls the webhook. mutate returns the JSON Patch for an object, or nil for no change.
func (f *fixture) Webhook(operations string, mutate func(deployment map[string]any) []map[string]any) {
	f.t.Helper()
	var called atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called.Store(true)
		w.Header().Set("Content-Type", "application/json")
		answer, err := review(r, mutate)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	f.t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	f.Create("user", fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: $NS}
webhooks:
- name: test.example.com
  clientConfig: {url: %s, caBundle: %s}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $NS}}
  rules:
  - {apiGroups: [apps], apiVersions: [v1], operations: [%s], resources: [deployments]}
  - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 10`, server.URL, base64.StdEncoding.EncodeToString(authority), operations))
	f.t.Cleanup(func() {
		_ = f.As("user").Resource(webhooks).Delete(cleanupContext(), f.namespace, metav1.DeleteOptions{})
	})
	f.eventually("the first call of the webhook", func() bool {
		probe := f.object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: probe}}`)
		_, err := f.in("user", configMaps).Create(f.t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		require.NoError(f.t, err)
		return called.Load()
	})
}

// review returns the response to an AdmissionReview.
func review(r *http.Request, mutate func(map[string]any) []map[string]any) (any, error) {
	var asked struct {
		Request struct {
			UID    string
			Object map[string]any
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return nil, err
	}
	response := map[string]any{"uid": asked.Request.UID, "allowed": true}
	if asked.Request.Object["kind"] == "Deployment" {
		if ops := mutate(asked.Request.Object); ops != nil {
			patch, err := json.Marshal(ops)
			if err != nil {
				return nil, err
			}
			response["patchType"], response["patch"] = "JSONPatch", patch
		}
	}
	return map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}, nil
}
