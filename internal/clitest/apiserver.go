package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// APIServer is an API server with fixed responses, by the path of the request. It responds 404 to other paths, and
// records the requests that write.
type APIServer struct {
	Responses map[string][]string // the last response is repeated
	Writes    []string
	Rejection string // the body of a 422 for each write, if it is set
}

// ServeHTTP implements http.Handler.
func (s *APIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodGet {
		s.Writes = append(s.Writes, r.Method+" "+r.URL.Path)
		if s.Rejection != "" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(s.Rejection))
			return
		}
	}
	all := s.Responses[r.URL.Path]
	if len(all) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if len(all) > 1 {
		s.Responses[r.URL.Path] = all[1:]
	}
	_, _ = w.Write([]byte(all[0]))
}

// Run runs a command against the API server, and returns its exit status and its messages. main is cli.Main: the tests of
// the packages that package cli imports use this package, too.
func (s *APIServer) Run(t *testing.T, main func(context.Context, []string, terminal.Streams) int, args ...string) (status int, messages string) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	config, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": []any{map[string]any{"name": "test", "cluster": map[string]any{"server": server.URL}}},
		"contexts": []any{map[string]any{"name": "test", "context": map[string]any{"cluster": "test", "namespace": "shop"}}},
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, config, 0o600))
	var out, told bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // ends a command that watches
	defer cancel()
	status = main(ctx, slices.Concat([]string{"holdfast"}, args, []string{"--kubeconfig", file}), terminal.Streams{
		In: strings.NewReader(""), Out: &out, Err: &told, Getenv: func(string) string { return "" }, Now: time.Now,
	})
	return status, told.String()
}
