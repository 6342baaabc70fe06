package controller_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/slice"
)

// noisy returns n ConfigMaps that compression does not make smaller, and a Secret.
func noisy(n int, seed byte) []any {
	source := rand.NewChaCha8([32]byte{seed})
	manifests := []any{map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "password"}, "stringData": map[string]any{"key": "hunter2"},
	}}
	for i := range n {
		noise := make([]byte, 3000)
		_, _ = source.Read(noise)
		manifests = append(manifests, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("config-%d", i)},
			"data": map[string]any{"key": "held", "noise": hex.EncodeToString(noise)},
		})
	}
	return manifests
}

// SubmitCut submits manifests in slices. write reports whether to write a slice.
func (f *fixture) SubmitCut(name string, manifests []any, write func(i int) bool) []v1alpha1.ApplicationSlice {
	f.t.Helper()
	spec, parts, err := slice.SplitSpec(f.namespace, name, map[string]any{"manifest": manifests}, 0)
	require.NoError(f.t, err)
	for i := range parts {
		if write(i) {
			f.createSlice(parts[i])
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Application", "spec": spec}}
	u.SetName(name)
	_, err = f.in("user", applications).Apply(f.t.Context(), name, u, metav1.ApplyOptions{FieldManager: "user", Force: true})
	require.NoError(f.t, err)
	return parts
}

func all(int) bool { return true }

func (f *fixture) createSlice(part v1alpha1.ApplicationSlice) {
	f.t.Helper()
	raw, err := json.Marshal(part)
	require.NoError(f.t, err)
	content, err := manifest.DecodeJSON(raw)
	require.NoError(f.t, err)
	f.createObject("user", content)
}

// slices returns the names of all existing slices.
func (f *fixture) slices() (names []string) {
	f.t.Helper()
	list, err := f.in("user", applicationSlices).List(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	slices.Sort(names)
	return names
}

// named returns the slices to which an Application refers.
func (f *fixture) named(name string) []string {
	f.t.Helper()
	return slices.Sorted(slices.Values(slice.Names(f.Application(name))))
}

// awaitCollected waits until all slices to which the Application does not refer are deleted.
func (f *fixture) awaitCollected(name string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		return slices.Equal(f.named(name), f.slices()), nil
	})
	require.NoError(f.t, err, "%q are named, and there are %q\n%s", f.named(name), f.slices(), f.Requests())
}

// Whole returns an Application with the content of its slices.
func (f *fixture) Whole(name string) (whole *v1alpha1.Application) {
	f.t.Helper()
	f.eventually("what is named to be there", func() bool {
		var err error
		whole, err = slice.Join(f.Application(name), func(name string) ([]byte, error) {
			raw, err := json.Marshal(f.Get(applicationSlices, name))
			require.NoError(f.t, err)
			var s v1alpha1.ApplicationSlice
			return s.Data, json.Unmarshal(raw, &s)
		})
		return err == nil
	})
	return whole
}

func TestALargeApplication(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	first := f.Run(controller.Options{})
	const n = 130
	manifests := noisy(n, 1)
	parts := f.SubmitCut("app", manifests, all)
	require.Greater(t, len(parts), 2)
	f.AwaitReady("app")
	f.awaitEvents(1)

	app := f.Application("app")
	assert.Empty(t, app.Status.Resources, "they are in slices")
	require.NotEmpty(t, app.Status.RecordSlices)
	whole := f.Whole("app")
	assert.Len(t, whole.Status.Resources, n+1)
	assert.Len(t, whole.Status.LastAppliedManifest, n+1)
	assert.Equal(t, f.named("app"), f.slices(), "nothing else is there")
	for _, name := range f.slices() {
		assert.NotContains(t, fmt.Sprint(f.Get(applicationSlices, name)), "hunter2")
	}
	f.Quiet(time.Second)
	f.Mark()

	f.Patch("mallory", configMaps, "config-7", `{data: {key: drifted}}`)
	f.Await(configMaps, "config-7", "as it was", func(object map[string]any) bool { return value(object, "data", "key") == "held" })
	f.eventually("the correction to be recorded", func() bool {
		return slices.ContainsFunc(f.Whole("app").Status.Resources, func(r v1alpha1.ResourceStatus) bool { return r.LastCorrection != nil })
	})
	f.awaitCollected("app")
	f.Quiet(time.Second)

	first.Stop()
	f.Mark()
	f.Run(controller.Options{})
	f.Quiet(time.Second)
	assert.NotRegexp(t, "(?m)(create|patch|delete|update) ", f.Requests().String(), "after a restart nothing is written")

	// When a user deletes slices that are in use, they stay as long as the Application refers to them.
	f.Delete(applicationSlices, parts[0].Name)
	f.Delete(applicationSlices, app.Status.RecordSlices[0])
	f.Patch("mallory", configMaps, "config-9", `{data: {key: drifted}}`)
	f.Await(configMaps, "config-9", "as it was", func(object map[string]any) bool { return value(object, "data", "key") == "held" })
	f.AwaitReady("app")
	f.eventually("the slices that it names to be there", func() bool { // the correction is reported later, in other slices
		present := f.slices()
		return !slices.ContainsFunc(f.named("app"), func(name string) bool { return !slices.Contains(present, name) })
	})

	// When the spec changes, the objects and slices that it no longer names are deleted.
	f.SubmitCut("app", noisy(n-10, 2), all)
	f.AwaitGone(configMaps, fmt.Sprint("config-", n-5))
	f.AwaitReady("app")
	f.awaitCollected("app")

	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	assert.Nil(t, f.Get(configMaps, "config-0"))
	f.eventually("its slices to be gone", func() bool { return len(f.slices()) == 0 })
}

func TestASliceThatCannotBeUsed(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.Run(controller.Options{})
	f.SubmitCut("app", noisy(2, 1), all)
	f.AwaitReady("app")

	unavailable := func(message string) {
		t.Helper()
		app := f.AwaitApplication("app", message, func(app *v1alpha1.Application) bool {
			ready := condition(app, v1alpha1.ConditionReady)
			return ready.Reason == v1alpha1.ReasonSliceUnavailable && strings.HasPrefix(ready.Message, message)
		})
		assert.Len(t, app.Status.Resources, 3, "nothing is forgotten")
		assert.NotNil(t, f.Get(configMaps, "config-1"), "and nothing is deleted")
	}
	part := f.SubmitCut("app", noisy(1, 3), func(int) bool { return false })[0]
	unavailable("the ApplicationSlice " + part.Name + " does not exist: until it exists, nothing is created, corrected or deleted. Submit the Application again, or apply its slices")

	wrong := part
	wrong.Data = []byte("something else")
	f.createSlice(wrong)
	unavailable("the data of the ApplicationSlice " + part.Name + " does not match its name: until it exists, nothing is created, corrected or deleted. Delete that ApplicationSlice, and submit the Application again")

	f.Delete(applicationSlices, part.Name)
	f.PatchJSON("user", applicationSlices, part.Name, `[{op: remove, path: /metadata/finalizers}]`) // it is in use
	f.createSlice(part)
	f.AwaitReady("app")
	f.AwaitGone(configMaps, "config-1")
}

func TestARecordThatCannotBeUsed(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.Run(controller.Options{})
	f.SubmitCut("app", noisy(120, 1), all)
	record := f.AwaitReady("app").Status.RecordSlices
	require.NotEmpty(t, record)

	f.Delete(applicationSlices, record[0])
	f.PatchJSON("user", applicationSlices, record[0], `[{op: remove, path: /metadata/finalizers}]`) // it is in use
	app, message := f.AwaitReason("app", v1alpha1.ReasonSliceUnavailable)
	assert.Contains(t, message, "kubectl patch hfapp app -n "+f.namespace+" --subresource=status")
	assert.Equal(t, record, app.Status.RecordSlices, "it is still known what it is in")

	f.Delete(applications, "app")
	f.AwaitApplication("app", "not deleted", func(app *v1alpha1.Application) bool {
		return app.DeletionTimestamp != nil && condition(app, v1alpha1.ConditionReady).Reason == v1alpha1.ReasonSliceUnavailable
	})
	f.Quiet(time.Second)
	assert.NotNil(t, f.Get(configMaps, "config-1"))

	// Apply the remedy from the message.
	_, err := f.in("user", applications).Patch(t.Context(), "app", types.JSONPatchType,
		[]byte(`[{"op":"remove","path":"/status/recordSlices"}]`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	f.AwaitGone(applications, "app")
	assert.Nil(t, f.Get(configMaps, "config-1"), "what carries its marks, and was announced")
}

// Anyone who may create slices could fill the memory of the controller.
func TestContentOfUnnamedSlicesIsNotKept(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	metrics := controller.NewMetrics()
	first := f.Run(controller.Options{Metrics: metrics})
	stored := func(metrics *controller.Metrics) float64 {
		return sum(t, metrics, "holdfast_stored_bytes", "namespace="+f.namespace)
	}
	manifests := noisy(100, 1)
	_, parts, err := slice.SplitSpec(f.namespace, "app", map[string]any{"manifest": manifests}, 0)
	require.NoError(t, err)
	require.Greater(t, len(parts), 1)
	size := 0.0
	for _, part := range parts {
		f.createSlice(part)
		size += float64(len(part.Data))
	}
	f.eventually("the slices to be known", func() bool { return stored(metrics) > 500*float64(len(parts)) })
	assert.Less(t, stored(metrics), size/20)

	f.Mark()
	f.SubmitCut("app", manifests, func(int) bool { return false })
	f.AwaitReady("app")
	f.Quiet(time.Second)
	assert.Greater(t, stored(metrics), size)
	assert.Equal(t, len(parts), counts(f.Requests())["get applicationslices"], "each is read once: %s", f.Requests())
	f.Patch("mallory", configMaps, "config-7", `{data: {key: drifted}}`)
	f.AwaitValue(configMaps, "config-7", "held", "data", "key")
	first.Stop()

	f.Mark()
	metrics = controller.NewMetrics()
	f.Run(controller.Options{Metrics: metrics})
	f.Patch("mallory", configMaps, "config-8", `{data: {key: drifted}}`)
	f.AwaitValue(configMaps, "config-8", "held", "data", "key")
	assert.Greater(t, stored(metrics), size)
	assert.Zero(t, counts(f.Requests())["get applicationslices"], "after a restart, the Applications are known before the slices")
}

// Submit can die before it writes the Application. A user can delete the slices that it left.
func TestUnusedSliceCanBeDeleted(t *testing.T) {
	f := given(t)
	_, parts, err := slice.SplitSpec(f.namespace, "app", map[string]any{"manifest": noisy(2, 1)}, 0)
	require.NoError(t, err)
	f.createSlice(parts[0])
	f.Quiet(time.Second)
	assert.Equal(t, []string{parts[0].Name}, f.slices(), "a submit may be about to name it")
	f.Delete(applicationSlices, parts[0].Name)
	f.AwaitGone(applicationSlices, parts[0].Name)
}

// TestAPackedRecord covers an Application that is large but still fits into its status.
func TestAPackedRecord(t *testing.T) {
	f := given(t)
	const n = 60
	spec := func(last string) string {
		var text strings.Builder
		text.WriteString("manifest:\n")
		for i := range n {
			fmt.Fprintf(&text, "- {apiVersion: v1, kind: ConfigMap, metadata: {name: config-%d}, data: {a: a, b: %q%s}}\n", i, strings.Repeat("b", 400), last)
			fmt.Fprintf(&text, "- {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: policy-%d}, spec: {podSelector: {matchLabels: {app: web}}, "+
				"ingress: [{ports: [{port: 80, protocol: TCP}, {port: 443, protocol: TCP}]}]}}\n", i)
		}
		return text.String()
	}
	f.Submit("app", spec(", last: c"))
	written := f.AwaitReady("app").Status
	require.Len(t, recordOf(t, f.Get(applications, "app"))["mangledObserverSchema"], 2*n)
	assert.Len(t, written.LastObservedManifest, 2*n)
	assert.Contains(t, string(written.MangledObserverSchema[0].Raw), `"last":"observed"`)

	// The fields that the manifest loses are removed. A selector counts as one value.
	f.Submit("app", spec(""))
	f.Await(configMaps, "config-7", "without what its manifest has lost", func(object map[string]any) bool { return value(object, "data", "last") == nil })
	f.Patch("mallory", networkPolicies, "policy-3", `{spec: {podSelector: {matchLabels: {theirs: x}}}}`)
	f.Await(networkPolicies, "policy-3", "with its selector alone", func(object map[string]any) bool {
		return value(object, "spec", "podSelector", "matchLabels", "theirs") == nil
	})
	assert.Equal(t, "a", value(f.Get(configMaps, "config-7"), "data", "a"))
	f.AwaitApplication("app", "ready, without it on record", func(app *v1alpha1.Application) bool {
		return condition(app, v1alpha1.ConditionReady).Status == metav1.ConditionTrue && !strings.Contains(string(app.Status.MangledObserverSchema[0].Raw), "last")
	})
}

// recordOf returns the unpacked record in the status of a stored Application.
func recordOf(t *testing.T, app map[string]any) (record map[string]any) {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(value(app, "status", "record").(string))
	require.NoError(t, err)
	require.NoError(t, v1alpha1.Unpack(packed, &record))
	return record
}

// The old value, the new value and six bytes for each < and > would exceed the request limit of the API
// server.
func TestALargeTextIsCorrected(t *testing.T) {
	f := given(t)
	page := strings.Repeat("<>&<p>\\u003c", 920<<10/12)
	f.SubmitCut("app", []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "page"}, "data": map[string]any{"page": page},
	}}, all)
	f.AwaitReady("app")
	assert.Equal(t, page, value(f.Get(configMaps, "page"), "data", "page"))
	f.Mark()

	body := fmt.Appendf(nil, `{"data": {"page": "theirs%s"}}`, strings.ReplaceAll(page, `\`, `\\`))
	_, err := f.in("mallory", configMaps).Patch(t.Context(), "page", types.MergePatchType, body, metav1.PatchOptions{})
	require.NoError(t, err)

	f.AwaitValue(configMaps, "page", page, "data", "page")
	f.AwaitReady("app")
	f.Quiet(quiet)
	assert.Equal(t, 1, counts(f.touched())["patch configmaps"])
}

// The API server accepts at most 10,000 operations in one patch.
func TestMoreFieldsThanFitInOnePatch(t *testing.T) {
	f := given(t)
	data, theirs := map[string]any{}, map[string]any{}
	for i := range 12_000 {
		data[fmt.Sprintf("key-%d", i)], theirs[fmt.Sprintf("key-%d", i)] = "held", "theirs"
	}
	f.SubmitCut("app", []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "many"}, "data": data,
	}}, all)
	f.AwaitReady("app")
	f.Mark()

	body, err := json.Marshal(map[string]any{"data": theirs})
	require.NoError(t, err)
	_, err = f.in("mallory", configMaps).Patch(t.Context(), "many", types.MergePatchType, body, metav1.PatchOptions{})
	require.NoError(t, err)

	f.Await(configMaps, "many", "as it was", func(object map[string]any) bool {
		return assert.ObjectsAreEqual(data, object["data"])
	})
	f.AwaitReady("app")
	f.Quiet(quiet)
	assert.Equal(t, 2, counts(f.touched())["patch configmaps"])
}
