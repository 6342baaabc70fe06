package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/cli"
)

// BenchmarkFromFiles runs commands on files of an Application with 1,000 resources: before the objects
// exist, and in sync.
func BenchmarkFromFiles(b *testing.B) {
	rows := map[string]map[string]any{
		"ConfigMaps": {"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"mode": "live", "level": "info"}},
		"Deployments": {"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{
			"replicas": 2, "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": map[string]any{"containers": []any{
				map[string]any{"name": "web", "image": "web:1", "args": []any{"serve", "--fast"}, "env": []any{map[string]any{"name": "A", "value": "1"}}},
			}}},
		}},
	}
	for name, object := range rows {
		fresh, rest, live := manyInFiles(b, object, 1000)
		for _, args := range [][]string{
			{"diff", "-o", "json", "-f", fresh}, {"diff", "-o", "yaml", "-f", rest, "--live", live}, {"diff", "-f", rest, "--live", live},
			{"status", "-f", rest, "--live", live}, {"status", "-o", "html", "-f", rest, "--live", live},
		} {
			b.Run(name+"/"+strings.Join(args[:2], ""), func(b *testing.B) {
				for b.Loop() {
					require.Less(b, inProcess(b, io.Discard, args...), 2)
				}
			})
		}
	}
}

func inProcess(b *testing.B, out io.Writer, args ...string) (status int) {
	b.Helper()
	return cli.Main(b.Context(), append([]string{"holdfast"}, args...), cli.Streams{
		In: strings.NewReader(""), Out: out, Err: io.Discard, Getenv: os.Getenv, Now: time.Now,
	})
}

// manyInFiles writes n copies of an object to files: as submitted, with a status, and as live objects.
func manyInFiles(b *testing.B, object map[string]any, n int) (fresh, rest, live string) {
	b.Helper()
	dir := b.TempDir()
	write := func(name string, value any) string {
		raw, err := json.Marshal(value)
		require.NoError(b, err)
		require.NoError(b, os.WriteFile(filepath.Join(dir, name), raw, 0o600))
		return filepath.Join(dir, name)
	}
	manifests := make([]any, n)
	for i := range manifests {
		one := map[string]any{"metadata": map[string]any{"name": fmt.Sprint("web-", i)}}
		for key, value := range object {
			one[key] = value
		}
		manifests[i] = one
	}
	app := map[string]any{
		"apiVersion": "holdfast.dev/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": "shop", "namespace": "shop", "uid": "app-1", "generation": 1}, "spec": map[string]any{"manifest": manifests},
	}
	fresh = write("fresh.json", app)
	var planned bytes.Buffer
	require.Equal(b, 1, inProcess(b, &planned, "diff", "-o", "json", "-f", fresh))
	var p struct {
		Changes []struct{ Manifest map[string]any }
		Status  map[string]any
	}
	require.NoError(b, json.Unmarshal(planned.Bytes(), &p))
	objects := make([]any, n)
	for i, change := range p.Changes {
		require.NoError(b, unstructured.SetNestedField(change.Manifest, fmt.Sprint("u-", i), "metadata", "uid"))
		objects[i] = change.Manifest
	}
	app["status"] = p.Status
	return fresh, write("rest.json", app), write("live.json", map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
}
