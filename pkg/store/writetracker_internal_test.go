package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

var configKey = types.NamespacedName{Namespace: "default", Name: "config"}

// by returns a version of an object with the given field managers, each followed by the second of its
// write.
func by(version string, managers ...string) *unstructured.Unstructured {
	u := state("u-1", version, "app-1")
	var entries []any
	for _, m := range managers {
		name, second, _ := strings.Cut(m, "@")
		subresource := ""
		if name == "kubelet" {
			subresource = "status"
		}
		entries = append(entries, map[string]any{
			"manager": name, "operation": "Update", "apiVersion": "v1", "subresource": subresource,
			"time": "2026-01-02T03:04:0" + second + "Z", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:data": map[string]any{}},
		})
	}
	metadata := u.Object["metadata"].(map[string]any)
	metadata["managedFields"] = entries
	return u
}

// told formats the tracked writes to the object: the number of events, and the managers whose times have
// changed.
func (s *seen) told() string {
	w, known := s.Written("app-1")[configKey]
	if !known {
		return "nothing"
	}
	return fmt.Sprintf("%d events, moved %v of %d", w.Events, w.ChangedEntries, strings.Count(string(w.ManagedFields), `"manager"`))
}

// TestObservedWrites checks that the writes to an object are tracked from their event until the object is
// reconciled or written by the controller.
func TestObservedWrites(t *testing.T) {
	ours := v1alpha1.FieldManager + "@1"
	given := func(t *testing.T) *seen {
		t.Helper()
		s := newSeen()
		require.NoError(t, s.Replace([]any{by("1", ours)}, "1"))
		assert.Equal(t, "nothing", s.told(), "no client has written it since the own write")
		return s
	}

	t.Run("an event, and the next one", func(t *testing.T) {
		s := given(t)
		require.NoError(t, s.Update(by("2", ours, "mallory@2")))
		assert.Equal(t, "1 events, moved [1] of 2", s.told())
		assert.NotContains(t, string(s.Get(configKey).JSON()), "managedFields")
		require.NoError(t, s.Update(by("3", "kubelet@3", ours, "mallory@2")))
		assert.Equal(t, "2 events, moved [0] of 3", s.told())
	})

	t.Run("writes of the status are told apart from others", func(t *testing.T) {
		s := given(t)
		writes := func() string {
			w := s.Written("app-1")[configKey]
			return fmt.Sprintf("%d of %d, %s of %s", w.Writes, w.Events, w.Write, w.ResourceVersion)
		}
		require.NoError(t, s.Update(by("2", ours, "mallory@2")))
		require.NoError(t, s.Update(by("3", "kubelet@3", ours, "mallory@2")))
		assert.Equal(t, "1 of 2, 2 of 3", writes())
		require.NoError(t, s.Update(by("4", "kubelet@3", ours, "mallory@2")))
		assert.Equal(t, "2 of 3, 4 of 4", writes(), "no time has moved: it may be anything")
		looked := s.Written("app-1")[configKey].Activity
		require.NoError(t, s.Update(by("5", "kubelet@3", ours, "mallory@5")))
		s.Processed("app-1", configKey, looked)
		assert.Equal(t, "1 of 1, 5 of 5", writes())
	})

	t.Run("a removal moves no time", func(t *testing.T) {
		s := given(t)
		require.NoError(t, s.Update(by("2", ours)))
		assert.Equal(t, "1 events, moved [] of 1", s.told())
	})

	t.Run("processed writes are removed, later ones are kept", func(t *testing.T) {
		s := given(t)
		require.NoError(t, s.Update(by("2", ours, "mallory@2")))
		looked := s.Written("app-1")[configKey].Activity
		require.NoError(t, s.Update(by("3", ours, "mallory@2", "alice@3")))
		s.Processed("app-1", configKey, looked)
		assert.Equal(t, "1 events, moved [2] of 3", s.told())
		s.Processed("app-1", configKey, looked)
		assert.Equal(t, "1 events, moved [2] of 3", s.told(), "it was looked at before that")
		s.Processed("app-1", configKey, s.Written("app-1")[configKey].Activity)
		assert.Equal(t, "nothing", s.told())
	})

	t.Run("our own write forgets it", func(t *testing.T) {
		s := given(t)
		require.NoError(t, s.Update(by("2", ours, "mallory@2")))
		looked := s.Written("app-1")[configKey].Activity
		s.ApplyWrite("app-1", by("3", v1alpha1.FieldManager+"@3").Object)
		assert.Equal(t, "nothing", s.told())
		require.NoError(t, s.Update(by("4", v1alpha1.FieldManager+"@3", "mallory@4")))
		s.Processed("app-1", configKey, looked)
		assert.Equal(t, "1 events, moved [1] of 2", s.told(), "what is new is not what was looked at")
	})

	t.Run("a list tells who, and not how often", func(t *testing.T) {
		s := newSeen()
		require.NoError(t, s.Replace([]any{by("2", ours, "kubelet@9", "mallory@2")}, "2"))
		assert.Equal(t, "2 events, moved [] of 3", s.told())
		assert.Greater(t, s.Written("app-1")[configKey].Writes, 1)
		assert.Zero(t, s.Written("app-1")[configKey].FirstSeen)
	})

	t.Run("a list in which only a status is newer", func(t *testing.T) {
		s := newSeen()
		require.NoError(t, s.Replace([]any{by("2", ours, "kubelet@9", "mallory@0")}, "2"))
		assert.Equal(t, "nothing", s.told())
	})

	t.Run("an object that is gone, until its Application is, too", func(t *testing.T) {
		s := given(t)
		require.NoError(t, s.Delete(by("2", ours)))
		assert.Equal(t, "1 events, moved [] of 0", s.told())
		s.Forget("app-1")
		assert.Equal(t, "nothing", s.told())
		assert.Zero(t, s.written.n)
	})
}

// TestSharedWritten checks that each Application that shares an object has its own record of the writers,
// including other Applications, and processes the record independently.
func TestSharedWritten(t *testing.T) {
	s := newSeen()
	s.watchers = func(key types.NamespacedName) []types.UID {
		assert.Equal(t, configKey, key)
		return []types.UID{"app-1", "app-2"}
	}
	told := func(application types.UID) string {
		w, known := s.Written(application)[configKey]
		if !known {
			return "nothing"
		}
		return fmt.Sprintf("%d events, moved %v, %d managers", w.Events, w.ChangedEntries, strings.Count(string(w.ManagedFields), `"manager"`))
	}
	require.NoError(t, s.Replace([]any{by("1", "helm@1")}, "1"))
	for _, application := range []types.UID{"app-1", "app-2"} {
		assert.Equal(t, "2 events, moved [], 1 managers", told(application), "a list may stand for many")
		s.Processed(application, configKey, s.Written(application)[configKey].Activity)
	}

	require.NoError(t, s.Update(by("2", "helm@1", "mallory@2")))
	s.Processed("app-1", configKey, s.Written("app-1")[configKey].Activity)
	assert.Equal(t, "nothing", told("app-1"))
	assert.Equal(t, "1 events, moved [1], 2 managers", told("app-2"))

	s.ApplyWrite("app-2", by("3", "helm@1", "mallory@2", "holdfast:default/two@3").Object)
	assert.Equal(t, "1 events, moved [2], 3 managers", told("app-1"), "no watch reports this write")
	assert.Equal(t, "nothing", told("app-2"))

	require.NoError(t, s.Delete(by("4", "helm@1")))
	assert.Equal(t, "1 events, moved [], 0 managers", told("app-2"))
	s.Forget("app-1")
	s.Forget("app-2")
	assert.Zero(t, s.written.n)
}

// TestObservedWritesAreBounded checks the limits of tracked objects and of managedFields.
func TestObservedWritesAreBounded(t *testing.T) {
	s := newSeen()
	object := func(i int, version string) *unstructured.Unstructured {
		u := by(version, "mallory@2")
		u.SetName(fmt.Sprintf("config-%d", i))
		return u
	}
	for i := range 2 * maxTrackedObjects {
		require.NoError(t, s.Update(object(i, "1")))
		require.NoError(t, s.Update(object(i, "2")))
	}
	assert.Len(t, s.Written("app-1"), maxTrackedObjects)
	for key, w := range s.Written("app-1") {
		s.Processed("app-1", key, w.Activity)
	}
	assert.Empty(t, s.Written("app-1"))

	long := by("3", "mallory@3", strings.Repeat("m", maxManagedFieldsBytes)+"@3")
	long.SetName("config-1")
	require.NoError(t, s.Update(long))
	w := s.Written("app-1")[types.NamespacedName{Namespace: "default", Name: "config-1"}]
	assert.Equal(t, 1, w.Events)
	assert.Empty(t, w.ManagedFields)
}
