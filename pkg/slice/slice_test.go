package slice_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	runtimepkg "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/compress"
	"holdfast.dev/holdfast/internal/observertest"
	_ "holdfast.dev/holdfast/internal/repeatable"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/slice"
)

// stored contains slices by name.
type stored map[string][]byte

func (s stored) put(parts []v1alpha1.ApplicationSlice) {
	for _, part := range parts {
		s[part.Name] = part.Data
	}
}

func (s stored) get(name string) ([]byte, error) {
	if data, is := s[name]; is {
		return data, nil
	}
	return nil, &slice.Unavailable{Name: name}
}

func object(kind, name, text string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name}, "data": map[string]any{"key": text}}
}

// TestSplitThenJoinIsIdentity checks that joining a split Application gives the original one for any size,
// and that no stored object exceeds its limit or contains values of Secrets.
func TestSplitThenJoinIsIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		app := &v1alpha1.Application{}
		app.Namespace, app.Name = "default", "shop"
		app.Status.Summary = "1/1"
		var manifests, secrets []any
		for i := range rapid.IntRange(1, 6).Draw(t, "objects") {
			random := make([]byte, rapid.SampledFrom([]int{0, 0, 0, 10_000, 120_000}).Draw(t, "size"))
			_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(random)
			noise := rapid.StringMatching("[a-z0-9]{0,9}").Draw(t, "text") + hex.EncodeToString(random)
			if rapid.Bool().Draw(t, "secret") {
				secrets = append(secrets, object("Secret", fmt.Sprint("s", i), "canary"+noise))
				continue
			}
			manifests = append(manifests, object("ConfigMap", fmt.Sprint("c", i), noise))
			app.Status.LastAppliedManifest = append(app.Status.LastAppliedManifest, observertest.Raws(object("ConfigMap", fmt.Sprint("c", i), noise))...)
			app.Status.Resources = append(app.Status.Resources, v1alpha1.ResourceStatus{
				ResourceReference: v1alpha1.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Name: fmt.Sprint("c", i)}, UID: types.UID(fmt.Sprint("u", i)),
			})
		}
		before := app.Status.DeepCopy()
		slices := stored{}
		few := rapid.SampledFrom([]int{0, 100_000}).Draw(t, "few")
		spec, parts, err := slice.SplitSpec("default", "shop", map[string]any{"suspend": true, "manifest": append(manifests, secrets...)}, few)
		require.NoError(t, err)
		slices.put(parts)
		raw, err := json.Marshal(spec)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, &app.Spec))
		status, parts, err := slice.SplitStatus(app, app.Status, rapid.SampledFrom([]int{0, 100_000, 2_000_000}).Draw(t, "max bytes"))
		require.NoError(t, err)
		slices.put(parts)
		app.Status = status

		require.Len(t, slices, len(setOf(slice.Names(app))))
		for _, data := range slices {
			require.LessOrEqual(t, len(data), v1alpha1.MaxSliceBytes)
			var content json.RawMessage
			if v1alpha1.Unpack(data, &content) == nil {
				require.NotContains(t, string(content), "canary")
			}
		}
		whole, err := slice.Join(app, slices.get)
		require.NoError(t, err)
		require.Equal(t, *before, whole.Status)
		require.JSONEq(t, observertest.JSON(append(append([]any{}, manifests...), secrets...)), observertest.JSON(whole.Spec.Manifest))
		require.True(t, whole.Spec.Suspend)
		again, err := slice.Join(whole, slices.get)
		require.NoError(t, err)
		require.Equal(t, whole, again)
	})
}

// Everything in an Application takes room, such as a template, and the copy that kubectl apply keeps of it.
func TestSplitStatusCountsTheWholeApplication(t *testing.T) {
	for name, enlarge := range map[string]func(*v1alpha1.Application, string){
		"template":    func(app *v1alpha1.Application, text string) { app.Spec.Tosca = &v1alpha1.ToscaSource{Template: text} },
		"annotations": func(app *v1alpha1.Application, text string) { app.Annotations = map[string]string{"a": text} },
		"accepted forms": func(app *v1alpha1.Application, text string) {
			form := runtime.RawExtension{Raw: []byte(`"` + text[:30_000] + `"`)}
			app.Status.Accepted = []v1alpha1.AcceptedField{{Path: "data", Desired: form, Accepted: &form}}
		},
	} {
		app := &v1alpha1.Application{}
		app.Namespace, app.Name = "default", "shop"
		for i := range 70 {
			app.Status.Resources = append(app.Status.Resources, v1alpha1.ResourceStatus{Message: strings.Repeat("m", 1000), UID: types.UID(fmt.Sprint("u", i))})
		}
		_, parts, err := slice.SplitStatus(app, app.Status, 100_000)
		require.NoError(t, err, name)
		require.Empty(t, parts, name)
		enlarge(app, strings.Repeat("t", 50_000))
		stored, parts, err := slice.SplitStatus(app, app.Status, 100_000)
		require.NoError(t, err, name)
		assert.NotEmpty(t, parts, name)
		app.Status = stored
		raw, err := json.Marshal(app)
		require.NoError(t, err, name)
		assert.Less(t, len(raw), 100_000, name)
	}
}

func setOf(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

func TestJoinKeepsUnavailableSlices(t *testing.T) {
	spec, parts, err := slice.SplitSpec("default", "shop", map[string]any{"manifest": []any{object("ConfigMap", "a", "text")}}, 0)
	require.NoError(t, err)
	require.Len(t, parts, 1)
	raw, err := json.Marshal(spec)
	require.NoError(t, err)
	name := parts[0].Name
	otherwise := errors.New("the network is down")
	for _, row := range []struct {
		name string
		app  string
		get  slice.Get
		want error
	}{
		{"a slice that is not there", "shop", stored{}.get, &slice.Unavailable{Name: name}},
		{"one with other data", "shop", stored{name: []byte("else")}.get, &slice.Unavailable{Name: name, Wrong: true}},
		{"one of another Application", "other", stored{name: parts[0].Data}.get, &slice.Unavailable{Name: name, Wrong: true}},
		{"one that cannot be read now", "shop", func(string) ([]byte, error) { return nil, otherwise }, otherwise},
	} {
		t.Run(row.name, func(t *testing.T) {
			app := &v1alpha1.Application{}
			app.Name = row.app
			require.NoError(t, json.Unmarshal(raw, &app.Spec))
			app.Status.RecordSlices = []string{name}
			whole, err := slice.Join(app, row.get)
			require.ErrorContains(t, err, row.want.Error())
			assert.Equal(t, app.Spec.Manifest, whole.Spec.Manifest)
			assert.Equal(t, []string{name}, whole.Status.RecordSlices)
			assert.True(t, slice.InSpec(&whole.Spec))
		})
	}
}

// A short list of names can refer to much more than an Application can have.
func TestJoinIsBounded(t *testing.T) {
	_, parts, err := slice.SplitSpec("default", "shop", map[string]any{"manifest": []any{object("ConfigMap", "a", strings.Repeat("a", 28<<20))}}, 0)
	require.NoError(t, err)
	large := make([]byte, 1<<20)
	slices, name := stored{slice.Name("shop", large): large}, slice.Name("shop", large)
	slices.put(parts)
	read := 0
	get := func(name string) ([]byte, error) { read++; return slices.get(name) }
	for text, row := range map[string]struct {
		manifest, record []string
		most             int
	}{
		"one list":   {[]string{strings.Repeat(name+" ", 1000)}, nil, 33},
		"two lists":  {[]string{parts[0].Name, parts[0].Name, parts[0].Name}, nil, 2},
		"the record": {nil, strings.Fields(strings.Repeat(name+" ", 1000)), 33},
	} {
		app := &v1alpha1.Application{}
		app.Name, app.Status.RecordSlices = "shop", row.record
		for _, names := range row.manifest {
			raw, err := json.Marshal(map[string]any{"slices": strings.Fields(names)})
			require.NoError(t, err)
			app.Spec.Manifest = append(app.Spec.Manifest, runtime.RawExtension{Raw: raw})
		}
		read = 0
		whole, err := slice.Join(app, get)
		require.ErrorContains(t, err, "more than the limit of", text)
		assert.LessOrEqual(t, read, row.most, text)
		assert.Equal(t, app.Spec.Manifest, whole.Spec.Manifest, text)
	}
}

// A short frame can have millions of elements. They are counted before they are allocated.
func TestJoinCountsBeforeItAllocates(t *testing.T) {
	for text, row := range map[string]struct {
		content string
		message string
	}{
		"many elements":           {"[" + strings.Repeat("0,", 5<<20) + "0]", fmt.Sprintf("have %d elements, more than the limit of %d", 5<<20+1, v1alpha1.MaxItems)},
		"too long":                {`["` + strings.Repeat("a", v1alpha1.MaxRead) + `"]`, "have more than the limit of 40 MiB of JSON"},
		"longer than all records": {`["` + strings.Repeat("a", 64<<20) + `"]`, "have more than the limit of 40 MiB of JSON"},
		"no list":                 {`{"a":1}`, "cannot be read"},
	} {
		data := compress.Encode([]byte(row.content))
		name := slice.Name("shop", data)
		app := &v1alpha1.Application{}
		app.Name = "shop"
		app.Spec.Manifest = []runtime.RawExtension{{Raw: fmt.Appendf(nil, `{"slices":[%q]}`, name)}}
		before := allocated()
		_, err := slice.Join(app, stored{name: data}.get)
		require.ErrorContains(t, err, row.message, text)
		require.ErrorContains(t, err, name, text)
		assert.Less(t, allocated()-before, uint64(400<<20), text)
	}
	data := []byte("no frame")
	name := slice.Name("shop", data)
	app := &v1alpha1.Application{}
	app.Name = "shop"
	app.Spec.Manifest = []runtime.RawExtension{{Raw: fmt.Appendf(nil, `{"slices":[%q]}`, name)}}
	_, err := slice.Join(app, stored{name: data}.get)
	require.ErrorContains(t, err, "the content of the ApplicationSlice "+name+" cannot be read")

	// A slice that is named again and again counts each time.
	data = compress.Encode([]byte("[" + strings.Repeat("0,", v1alpha1.MaxItems/2) + "0]"))
	name = slice.Name("shop", data)
	app.Spec.Manifest = []runtime.RawExtension{{Raw: fmt.Appendf(nil, `{"slices":[%q]}`, name)}, {Raw: fmt.Appendf(nil, `{"slices":[%q]}`, name)}}
	_, err = slice.Join(app, stored{name: data}.get)
	require.ErrorContains(t, err, "have 10001 elements, more than the limit of 9999")
}

// allocated returns the number of bytes that were allocated so far.
func allocated() uint64 {
	var stats runtimepkg.MemStats
	runtimepkg.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// A manifest with a field named slices is an ordinary manifest.
func TestManifestWithSlicesFieldIsKept(t *testing.T) {
	for _, raw := range []string{
		`{"apiVersion":"v1","kind":"Bread","slices":["a"]}`, `{"slices":[]}`, `{"slices":"a"}`, `{"slices":[1]}`, `{"kind":"slices"}`, `["slices"]`, ``,
	} {
		assert.False(t, slice.InSpec(&v1alpha1.ApplicationSpec{Manifest: []runtime.RawExtension{{Raw: []byte(raw)}}}), raw)
	}
}

// Older history entries have slices of their own. If one is unavailable, the others can still be read.
func TestOlderHistory(t *testing.T) {
	app := &v1alpha1.Application{}
	app.Namespace, app.Name = "default", "shop"
	older := []v1alpha1.HistoryEntry{{Outcome: v1alpha1.OutcomeCorrected, Path: "data.a"}, {Outcome: v1alpha1.OutcomeDeleted}}
	parts, names, err := slice.SplitHistory(app, older)
	require.NoError(t, err)
	require.Len(t, parts, 1)
	assert.Equal(t, []string{parts[0].Name}, names)
	app.Status.HistorySlices = names
	assert.Equal(t, names, slice.Names(app))
	slices := stored{}
	slices.put(parts)
	read, err := slice.OlderHistory(app, slices.get)
	require.NoError(t, err)
	assert.Equal(t, older, read)
	whole, err := slice.Join(app, stored{}.get)
	require.NoError(t, err, "nothing waits for it")
	assert.Equal(t, app, whole)

	_, err = slice.OlderHistory(app, stored{}.get)
	assert.Equal(t, &slice.Unavailable{Name: names[0]}, err)
	other := *app
	other.Name = "else"
	_, err = slice.OlderHistory(&other, slices.get)
	assert.Equal(t, &slice.Unavailable{Name: names[0], Wrong: true}, err)
	noHistory := []byte("text")
	app.Status.HistorySlices = []string{slice.Name("shop", noHistory)}
	_, err = slice.OlderHistory(app, stored{app.Status.HistorySlices[0]: noHistory}.get)
	assert.Equal(t, &slice.Unavailable{Name: app.Status.HistorySlices[0], Wrong: true}, err)
}
