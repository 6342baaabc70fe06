package plan_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// TestARecordIsReadUnchanged checks that a packed record is read back unchanged.
func TestARecordIsReadUnchanged(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(goldenRoot, "*", "application.yaml"))
	require.NoError(t, err)
	for _, file := range cases {
		in := readCase(t, filepath.Dir(file))
		p := plan.Decide(in)
		for _, status := range []v1alpha1.ApplicationStatus{in.Application.Status, p.Summarize(nil, time.Unix(0, 0)).Status, previewOf(t, p)} {
			rest, record, err := status.Cut()
			require.NoError(t, err)
			whole, err := rest.Join(record)
			require.NoError(t, err)
			whole.RecordSlices = status.RecordSlices
			require.Equal(t, observertest.JSON(v1alpha1.WholeStatus(status)), observertest.JSON(v1alpha1.WholeStatus(whole)), file)
		}
	}
}

// TestARecordIsShort checks that a packed record is small, because schemas and states repeat each other.
func TestARecordIsShort(t *testing.T) {
	status := atRest(t, deployment, 300).Application.Status
	_, record, err := status.Cut()
	require.NoError(t, err)
	assert.Less(t, len(record)*80, len(observertest.JSON(v1alpha1.WholeStatus(status))))
}

func previewOf(t *testing.T, p *plan.Plan) (status v1alpha1.ApplicationStatus) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(observertest.JSON(explain.ViewOf(p).Status)), &status))
	return status
}

var bundles = flag.String("bundles", "", "manifests that BenchmarkRecord is to measure, too: a pattern of files")

// BenchmarkRecord packs and reads the record of an Application that is in sync.
func BenchmarkRecord(b *testing.B) {
	apps := map[string]*v1alpha1.Application{
		"1000ConfigMaps":  atRest(b, configMap, 1000).Application,
		"1000Deployments": atRest(b, deployment, 1000).Application,
	}
	files, err := filepath.Glob(*bundles)
	require.NoError(b, err)
	for _, file := range files {
		apps[filepath.Base(file)] = bundleAtRest(b, file)
	}
	for _, name := range slices.Sorted(maps.Keys(apps)) {
		app := apps[name]
		b.Run(name, func(b *testing.B) {
			whole := observertest.JSON(v1alpha1.WholeStatus(app.Status))
			b.ReportAllocs()
			var record []byte
			for b.Loop() {
				rest, packed, err := app.Status.Cut()
				require.NoError(b, err)
				_, err = rest.Join(packed)
				require.NoError(b, err)
				record = packed
			}
			b.ReportMetric(float64(len(observertest.JSON(app.Spec.Manifest))), "bytes-of-manifests")
			b.ReportMetric(float64(len(whole)), "bytes-of-status")
			b.ReportMetric(float64(len(record)), "bytes-of-record")
		})
	}
}

// bundleAtRest returns an Application that is in sync with the manifests in a file.
func bundleAtRest(b *testing.B, file string) *v1alpha1.Application {
	b.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(b, err)
	documents, err := manifest.Read(file, raw)
	require.NoError(b, err)
	var list []any
	for _, d := range documents {
		list = append(list, d.Value)
	}
	var items []runtime.RawExtension
	require.NoError(b, yaml.Unmarshal([]byte(observertest.JSON(list)), &items))
	return restOf(b, items).Application
}

// TestAPlanHasItsStatusAtAnySize checks that a plan prints the unpacked status, even if the stored
// status is packed.
func TestAPlanHasItsStatusAtAnySize(t *testing.T) {
	const n = 300
	in := atRest(t, configMap, n)
	require.Contains(t, observertest.JSON(in.Application.Status), `"record"`)
	var printed struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	require.NoError(t, json.Unmarshal([]byte(observertest.JSON(explain.ViewOf(plan.Decide(in)))), &printed))
	assert.NotContains(t, printed.Status, "record")
	for _, list := range []string{"mangledObserverSchema", "lastAppliedManifest", "lastObservedManifest"} {
		var items []any
		require.NoError(t, json.Unmarshal(printed.Status[list], &items))
		assert.Len(t, items, n, list)
	}
}

// TestAnEntryInAFormThatIsNotKnown reads a schema that another version recorded in an unknown form. A
// field that the manifest loses meanwhile keeps its live value. Nothing else is written or removed.
func TestAnEntryInAFormThatIsNotKnown(t *testing.T) {
	before := "manifest:" + fmt.Sprintf(deployment, 0)
	without := strings.Replace(before, "web-0, labels: {app: web}}", "web-0}", 1)
	for _, form := range []string{"", `"text"`, `["text",3]`, `{"form":2}`} {
		w := newWorld(t, before)
		w.round()
		w.quiet()
		known := w.app.Status.MangledObserverSchema[0].Raw
		if form != "" {
			known = []byte(form)
		}
		w.app.Status.MangledObserverSchema[0].Raw = known
		require.Empty(t, paths(w.decide()), form)
		w.edit(without)
		if form == "" {
			require.Equal(t, []string{"metadata.labels.app removed"}, paths(w.decide()))
			continue
		}
		require.Empty(t, paths(w.decide()), form)
		w.round()
		w.quiet()
	}
}

// TestADrawnRecordIsReadAsItWas checks that the packed record of any schema, desired state and live
// object is read back unchanged.
func TestADrawnRecordIsReadAsItWas(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec := observertest.Spec(r)
		desired := observertest.Manifest(spec)
		live := observertest.Object(observertest.Mutate(r, spec))
		kind := observertest.Type()
		status := v1alpha1.ApplicationStatus{}
		entries := []*observer.Schema{observer.DefaultEntry(desired).Typed(kind), observertest.Entry(r, spec, observertest.Options{}), observer.DefaultEntry(desired)}
		entries[2].RaiseSurplus(kind, desired.Content, live)
		for _, entry := range entries {
			status.MangledObserverSchema = append(status.MangledObserverSchema, raws(entry.Raw())...)
			status.LastAppliedManifest = append(status.LastAppliedManifest, raws(desired.Content)...)
			status.LastObservedManifest = append(status.LastObservedManifest, raws(entry.Project(kind, desired.Content, live))...)
		}
		before := observertest.JSON(v1alpha1.WholeStatus(status))
		rest, record, err := status.Cut()
		require.NoError(r, err)
		require.Equal(r, before, observertest.JSON(v1alpha1.WholeStatus(status)), "what was given")
		whole, err := rest.Join(record)
		require.NoError(r, err)
		require.Equal(r, before, observertest.JSON(v1alpha1.WholeStatus(whole)))
	})
}
