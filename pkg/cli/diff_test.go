package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// run runs the program with the given arguments.
func run(t testing.TB, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, messages bytes.Buffer
	status = cli.Main(t.Context(), append([]string{"holdfast"}, args...), cli.Streams{
		In: strings.NewReader(""), Out: &out, Err: &messages,
		Getenv: func(string) string { return "" },
		Now:    func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) },
	})
	return status, out.String(), messages.String()
}

// The command line reads the golden cases of package plan. It prints what package plan decides.
func TestPlanPrintsTheViewOfTheEngine(t *testing.T) {
	directories, err := filepath.Glob("../../testdata/plan/*")
	require.NoError(t, err)
	compared := 0
	for _, directory := range directories {
		if exists(filepath.Join(directory, "mangle.yaml")) {
			continue // only the controller calls hooks
		}
		args := []string{"diff", "-o", "yaml", "-f", filepath.Join(directory, "application.yaml")}
		if live := filepath.Join(directory, "live.yaml"); exists(live) {
			args = append(args, "--live", live)
		}
		t.Run(filepath.Base(directory), func(t *testing.T) {
			view := viewOf(t, directory)
			status, stdout, stderr := run(t, args...)
			if view.Refused != nil {
				assert.Equal(t, 2, status)
				assert.Empty(t, stdout)
				assert.Contains(t, stderr, "error: "+view.Refused.Reason+": "+args[4]+":")
				return
			}
			want, err := view.YAML()
			require.NoError(t, err)
			assert.Less(t, status, 2, stderr)
			assert.Equal(t, string(want), stdout)
			compared++
		})
	}
	assert.NotZero(t, compared)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// viewOf returns the plan of a case without the command line.
func viewOf(t *testing.T, directory string) explain.View {
	t.Helper()
	app := &v1alpha1.Application{}
	raw, err := os.ReadFile(filepath.Join(directory, "application.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(raw, app))
	in := plan.Input{Application: app, Kinds: intent.Offline(), Live: map[manifest.ID]map[string]any{}, Normalize: cluster.Normalize}
	raw, err = os.ReadFile(filepath.Join(directory, "live.yaml"))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	documents, err := manifest.Read("live.yaml", raw)
	require.NoError(t, err)
	for _, document := range documents {
		id, ok := manifest.Identify(document.Value, app.Namespace, in.Kinds)
		require.True(t, ok)
		in.Live[id] = document.Value
	}
	return explain.ViewOf(plan.Decide(in))
}

// 1000 resources, half of them drifted. The budget of `diff` is 0.5 s.
func BenchmarkThousandResources(b *testing.B) {
	application, live := thousand(b)
	for _, row := range []struct {
		name   string
		args   []string
		status int
	}{
		{"values", []string{"diff", "-o", "yaml", "-f", application, "--live", live}, 1},
		{"values of creates", []string{"diff", "-o", "yaml", "-f", application}, 1},
		{"diff", []string{"diff", "-f", application, "--live", live}, 1},
		{"diff of creates", []string{"diff", "-f", application}, 1},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				status, _, stderr := run(b, row.args...)
				require.Equal(b, row.status, status, stderr)
			}
		})
	}
}

// thousand writes an Application near the size limit of etcd, and its live objects in the format of kubectl
// get.
func thousand(b *testing.B) (application, live string) {
	b.Helper()
	const object = "apiVersion: v1\nkind: Service\nmetadata:\n  name: service-%04[1]d\n" +
		"spec:\n  ports:\n  - port: 80\n    name: http\n  selector:\n    app: app-%04[1]d\n"
	const found = "apiVersion: v1\nkind: Service\nmetadata:\n  name: service-%04[1]d\n  namespace: default\n" +
		"  uid: 6d8d5f0e-0d1f-4c3a-9d53-6ed8a3a5%04[1]d\n  resourceVersion: \"%[1]d\"\n" +
		"  creationTimestamp: \"2026-01-01T00:00:00Z\"\n" +
		"spec:\n  clusterIP: 10.0.0.1\n  clusterIPs:\n  - 10.0.0.1\n  internalTrafficPolicy: Cluster\n" +
		"  ipFamilies:\n  - IPv4\n  ipFamilyPolicy: SingleStack\n  ports:\n  - name: %[2]s\n    port: 80\n" +
		"    protocol: TCP\n    targetPort: 80\n  selector:\n    app: app-%04[1]d\n  sessionAffinity: None\n" +
		"  type: ClusterIP\nstatus:\n  loadBalancer: {}\n"
	var app, objects strings.Builder
	app.WriteString("apiVersion: holdfast.dev/v1alpha1\nkind: Application\nmetadata:\n  name: large\nspec:\n  manifest:\n")
	for i := range 1000 {
		lines := strings.TrimSuffix(fmt.Sprintf(object, i), "\n")
		app.WriteString("  - " + strings.ReplaceAll(lines, "\n", "\n    ") + "\n")
		fmt.Fprintf(&objects, "---\n"+found, i, []string{"http", "web"}[i%2])
	}
	application, live = filepath.Join(b.TempDir(), "application.yaml"), filepath.Join(b.TempDir(), "live.yaml")
	require.NoError(b, os.WriteFile(application, []byte(app.String()), 0o600))
	require.NoError(b, os.WriteFile(live, []byte(objects.String()), 0o600))
	return application, live
}
