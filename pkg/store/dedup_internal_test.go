package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "holdfast.dev/holdfast/internal/repeatable"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

func TestRepeatsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`[ab]{0,5}|[ -~]{0,80}`), 1, 12).Draw(t, "parts")
		join := func(name string) (text []byte) {
			for _, i := range rapid.SliceOf(rapid.IntRange(0, len(parts)-1)).Draw(t, name) {
				text = append(text, parts[i]...)
			}
			return text
		}
		text, other := join("text"), join("other")
		rest, worthIt := removeRepeats(text, other, rapid.SampledFrom([]int{1, blockBytes}).Draw(t, "every"))
		require.Equal(t, string(text), string(restoreRepeats(rest, other)))
		if bytes.Equal(text, other) && len(text) > 2*blockBytes {
			require.True(t, worthIt)
			require.Less(t, len(rest), 12)
		}
	})
}

func TestRestoreRepeatsRejectsOtherText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		restoreRepeats(rapid.SliceOf(rapid.Byte()).Draw(t, "rest"), rapid.SliceOf(rapid.Byte()).Draw(t, "other")) // must not panic
	})
	rest, _ := removeRepeats([]byte("0123456789abcdef0123456789abcdef"), []byte("0123456789abcdef"), blockBytes)
	assert.Nil(t, restoreRepeats(rest, []byte("0123")))
}

// fillers returns n strings that cannot be compressed.
func fillers(seed uint64, n int) map[string]any {
	r, data := rand.New(rand.NewPCG(seed, 7)), map[string]any{}
	for i := range n {
		data[fmt.Sprint("key-", i)] = fmt.Sprintf("%016x%016x%016x", r.Uint64(), r.Uint64(), r.Uint64())
	}
	return data
}

func configMapOf(i uint64) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprint("c-", i)}, "data": fillers(i, 50)}
}

func applicationOf(version string, manifests ...any) map[string]any {
	return map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": "shop", "namespace": "default", "uid": "app", "resourceVersion": version},
		"spec":     map[string]any{"manifest": manifests}, "status": map[string]any{"lastAppliedManifest": manifests},
	}
}

func liveOf(i uint64, version string) map[string]any {
	live := observer.CopyMap(configMapOf(i))
	live["metadata"] = map[string]any{
		"name": fmt.Sprint("c-", i), "namespace": "default", "uid": fmt.Sprint("u-", i), "resourceVersion": version,
		"labels": map[string]any{v1alpha1.LabelApplicationUID: "app"},
	}
	return live
}

// stores returns a store of Applications and a store of their objects.
func stores() (applications, objects *Store) {
	applications = New(Options{Now: time.Now, Changed: func(_, _ *Object) {}, Synced: func() {}})
	objects = New(Options{Now: time.Now, Changed: func(_, _ *Object) {}, Synced: func() {}})
	objects.options.Manifests = func(types.UID) *Manifests {
		return applications.Get(types.NamespacedName{Namespace: "default", Name: "shop"}).Manifests()
	}
	return applications, objects
}

// isOne compares pointers. A failed assert.Same would print pages of content.
func isOne(a, b *Manifests) bool { return a == b }

func add(t *testing.T, s *Store, content map[string]any) *Object {
	t.Helper()
	u := &unstructured.Unstructured{Object: observer.CopyMap(content)}
	require.NoError(t, s.Add(u))
	o := s.Get(types.NamespacedName{Namespace: "default", Name: u.GetName()})
	require.NotNil(t, o)
	want, err := json.Marshal(content)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(o.JSON()))
	return o
}

func TestManifestsAreStoredOnce(t *testing.T) {
	applications, objects := stores()
	app := add(t, applications, applicationOf("1", configMapOf(1), configMapOf(2)))
	require.False(t, isOne(app.beside, nil))
	assert.Less(t, len(app.content), 1000, "the status repeats the spec")
	one, two := add(t, objects, liveOf(1, "2")), add(t, objects, liveOf(2, "3"))
	assert.Less(t, len(one.content)+len(two.content), 600)
	assert.True(t, isOne(app.beside, one.beside))
	drifted := liveOf(1, "4")
	drifted["data"].(map[string]any)["key-7"] = "another text"
	assert.Less(t, len(add(t, objects, drifted).content), 600, "what differs")
	other := add(t, objects, liveOf(3, "5"))
	assert.True(t, isOne(other.beside, nil), "what is not in the manifests is packed by itself")
	assert.Equal(t, configMapOf(2)["data"], objects.Contents("app")[two.Key]["data"])

	status := add(t, applications, applicationOf("6", configMapOf(1), configMapOf(2)))
	assert.True(t, isOne(app.beside, status.beside), "a status is no other spec")
}

func TestNewSpecReleasesOldManifests(t *testing.T) {
	applications, objects := stores()
	old := add(t, applications, applicationOf("1", configMapOf(1), configMapOf(2))).beside
	one, two := add(t, objects, liveOf(1, "2")), add(t, objects, liveOf(2, "3"))
	objects.BeginList()
	now := add(t, applications, applicationOf("4", configMapOf(2))).beside
	require.False(t, isOne(old, now))
	assert.Equal(t, configMapOf(1)["data"], objects.Get(one.Key).Content()["data"], "regardless of changes of the Application")

	for range 2 {
		contents := objects.Contents("app")
		assert.Equal(t, configMapOf(1)["data"], contents[one.Key]["data"])
		assert.Equal(t, configMapOf(2)["data"], contents[two.Key]["data"])
	}
	assert.True(t, isOne(objects.Get(one.Key).beside, nil))
	assert.True(t, isOne(now, objects.Get(two.Key).beside))
	require.NoError(t, objects.Replace(nil, "1"), "a list from before all this, as of a backup")
	assert.Zero(t, objects.Len(), "compressing again is not reported")
}

func TestManifestsOfOtherSizesAreNotShared(t *testing.T) {
	applications, _ := stores()
	assert.True(t, isOne(add(t, applications, applicationOf("1", map[string]any{"kind": "ConfigMap"})).beside, nil))
	var many []any
	for i := range uint64(100) {
		many = append(many, configMapOf(i))
	}
	assert.True(t, isOne(add(t, applications, applicationOf("2", many...)).beside, nil))
	assert.True(t, isOne(add(t, applications, applicationOf("3")).beside, nil))
}
