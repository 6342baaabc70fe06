package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// seen is a store that records its change notifications, one line each.
type seen struct {
	*Store
	changes []string
	synced  int
}

func newSeen() *seen {
	s := &seen{}
	s.Store = New(Options{Now: time.Now, Changed: func(before, after *Object) {
		s.changes = append(s.changes, fmt.Sprintf("%s → %s", shown(before), shown(after)))
	}, Synced: func() { s.synced++ }})
	return s
}

func shown(o *Object) string {
	if o == nil {
		return "none"
	}
	return fmt.Sprintf("%s@%s", o.UID, o.ResourceVersion)
}

// state returns an object in a version, with the label of an Application if that is not empty.
func state(uid, version, application string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"version": version},
	}}
	u.SetNamespace("default")
	u.SetName("config")
	u.SetUID(types.UID(uid))
	u.SetResourceVersion(version)
	if application != "" {
		u.SetLabels(map[string]string{v1alpha1.LabelApplicationUID: application})
	}
	return u
}

var config = types.NamespacedName{Namespace: "default", Name: "config"}

// buried reports whether the store waits for the watch to confirm a deletion.
func (s *seen) buried(uid types.UID) bool {
	_, gone := s.gone[uid]
	return gone
}

func (s *seen) now() string { return shown(s.Get(config)) }

// None of 20,000 objects whose names do not match is stored, neither from a list nor from events.
func TestUnselectedObjectsAreNotStored(t *testing.T) {
	s := newSeen()
	s.options.Keeps = func(key types.NamespacedName) bool {
		return strings.HasPrefix(key.Namespace, "web-") && key.Name != "other"
	}
	var items []any
	add := func(namespace, name string) {
		u := state(name, "5", "")
		u.SetNamespace(namespace)
		u.SetName(name)
		items = append(items, u)
	}
	for i := range 20_000 {
		add("default", fmt.Sprintf("app-%d", i))
	}
	add("web-a", "app-1")
	add("web-b", "extra")
	add("web-b", "other")
	for _, item := range items[:100] { // as events
		require.NoError(t, s.Add(item.(*unstructured.Unstructured).DeepCopy()))
		require.NoError(t, s.Delete(item.(*unstructured.Unstructured).DeepCopy()))
	}
	assert.Zero(t, s.Len())
	s.BeginList()
	for i := range items {
		if i%2 == 0 {
			continue // some API servers do not support streaming lists
		}
		var err error
		items[i], err = s.Transform(items[i])
		require.NoError(t, err)
		if i < 20_000 {
			assert.Zero(t, items[i].(*Object).content)
		}
	}
	require.NoError(t, s.Replace(items, "9"))
	assert.Equal(t, 2, s.Len())
	assert.Len(t, s.changes, 2)
}

// play performs steps on a store. "add u1@5", "update u1@6" and "delete u1@7" are watch events. "list u1@5
// at 9" and "list at 9" are lists, requested just before, or at the step "ask". "wrote u1@5" and "deleted
// u1" are the controller's own writes. The suffix "+b" means the label of another Application than
// app, "-" for none.
func (s *seen) play(t *testing.T, steps ...string) {
	t.Helper()
	asked := false
	for _, step := range steps {
		words := strings.Fields(step)
		application := "app"
		switch words[len(words)-1] {
		case "+b":
			application = "b"
		case "-":
			application = ""
		}
		object := func(word string) *unstructured.Unstructured {
			uid, version, _ := strings.Cut(word, "@")
			return state(uid, version, application)
		}
		switch words[0] {
		case "add":
			require.NoError(t, s.Add(object(words[1])))
		case "update":
			require.NoError(t, s.Update(object(words[1])))
		case "delete":
			require.NoError(t, s.Delete(object(words[1])))
		case "wrote":
			s.ApplyWrite("app-1", object(words[1]).Object)
		case "deleted":
			s.Deleted(config, types.UID(words[1]))
		case "ask":
			s.BeginList()
			asked = true
		case "list":
			if !asked {
				s.BeginList()
			}
			asked = false
			var items []any
			at := words[2]
			if words[1] != "at" {
				items, at = []any{object(words[1])}, words[3]
			}
			require.NoError(t, s.Replace(items, at))
		default:
			t.Fatalf("what is %q?", step)
		}
	}
}

func TestStoreIgnoresStaleEvents(t *testing.T) {
	for _, row := range []struct {
		name    string
		steps   []string
		now     string
		changes []string
	}{
		{"an event is taken in, and told", []string{"add u1@5"}, "u1@5", []string{"none → u1@5"}},
		{"our own write is taken in, and not told", []string{"wrote u1@5"}, "u1@5", nil},
		{"the event of our own write is not news", []string{"wrote u1@5", "add u1@5"}, "u1@5", nil},
		{"an event older than our own write is ignored", []string{"wrote u1@9", "update u1@7"}, "u1@9", nil},
		{"an event newer than the own write is reported", []string{"wrote u1@5", "update u1@7"}, "u1@7", []string{"u1@5 → u1@7"}},
		{"a response older than an event is ignored", []string{"add u1@7", "wrote u1@5"}, "u1@7", []string{"none → u1@7"}},
		{"a duplicate event is not news", []string{"add u1@5", "update u1@5"}, "u1@5", []string{"none → u1@5"}},
		{"versions are compared as numbers", []string{"add u1@9", "update u1@10"}, "u1@10", []string{"none → u1@9", "u1@9 → u1@10"}},
		{"a deletion by another client is reported", []string{"add u1@5", "delete u1@7"}, "none", []string{"none → u1@5", "u1@5 → none"}},
		{"the own deletion is not reported", []string{"wrote u1@5", "deleted u1", "delete u1@7"}, "none", nil},
		{"an event from before our own deletion does not bring the object back",
			[]string{"wrote u1@5", "deleted u1", "update u1@6"}, "none", nil},
		{"a deletion before the own response is reported once",
			[]string{"wrote u1@5", "delete u1@7", "deleted u1"}, "none", []string{"u1@5 → none"}},
		{"an object created again after the own deletion is a new one",
			[]string{"wrote u1@5", "deleted u1", "add u2@8"}, "u2@8", []string{"none → u2@8"}},
		{"the deletion of the first of two objects of one name leaves the second",
			[]string{"add u1@5", "wrote u2@8", "delete u1@7"}, "u2@8", []string{"none → u1@5"}},
		{"our own deletion of the first of two objects of one name leaves the second",
			[]string{"add u1@5", "update u2@8", "deleted u1"}, "u2@8", []string{"none → u1@5", "u1@5 → u2@8"}},
		{"an object that lost its label is dropped, and told", []string{"add u1@5", "delete u1@6"}, "none", []string{"none → u1@5", "u1@5 → none"}},
		{"a lost label from before our own write of it is ignored", []string{"add u1@5", "wrote u1@7", "delete u1@6"}, "u1@7", []string{"none → u1@5"}},
		{"a list replaces everything", []string{"add u1@5", "list u1@6 at 9"}, "u1@6", []string{"none → u1@5", "u1@5 → u1@6"}},
		{"what a list does not have is gone, and told", []string{"add u1@5", "list at 9"}, "none", []string{"none → u1@5", "u1@5 → none"}},
		{"a write after a list is kept", []string{"ask", "wrote u1@12", "list at 9"}, "u1@12", nil},
		{"what we wrote before a list that was asked for before that is in it", []string{"ask", "wrote u1@8", "list u1@8 at 9"}, "u1@8", nil},
		{"a list older than our own write does not undo it", []string{"ask", "wrote u1@12", "list u1@6 at 9"}, "u1@12", nil},
		{"a list from before our own deletion does not bring the object back",
			[]string{"wrote u1@5", "ask", "deleted u1", "list u1@5 at 9"}, "none", nil},
		{"a backup in which an object is older", []string{"add u1@50", "list u1@20 at 30"}, "u1@20", []string{"none → u1@50", "u1@50 → u1@20"}},
		{"a backup from before an object was made", []string{"add u1@50", "list at 30"}, "none", []string{"none → u1@50", "u1@50 → none"}},
		{"a backup from before an object that we made", []string{"wrote u1@50", "list at 30"}, "none", []string{"u1@50 → none"}},
		{"a backup with an object that we deleted since", []string{"wrote u1@5", "deleted u1", "list u1@5 at 6"}, "u1@5", []string{"none → u1@5"}},
		{"a backup with an object that was deleted since",
			[]string{"add u1@5", "delete u1@50", "list u1@5 at 6"}, "u1@5", []string{"none → u1@5", "u1@5 → none", "none → u1@5"}},
		{"a backup with another object of that name", []string{"add u2@50", "list u1@5 at 6"}, "u1@5", []string{"none → u2@50", "u2@50 → u1@5"}},
		{"what happens after a backup was restored is news", []string{"add u1@50", "delete u1@60", "list u1@20 at 30", "update u1@31"}, "u1@31",
			[]string{"none → u1@50", "u1@50 → none", "none → u1@20", "u1@20 → u1@31"}},
		{"a write after the restore of a backup is kept", []string{"add u1@50", "ask", "wrote u1@51", "list u1@20 at 30"}, "u1@51", []string{"none → u1@50"}},
		{"a backup that has overtaken what was known", []string{"add u1@50", "list u1@20 at 90"}, "u1@20", []string{"none → u1@50", "u1@50 → u1@20"}},
		{"a list without changes is not reported", []string{"wrote u1@5", "list u1@5 at 9"}, "u1@5", nil},
		{"an own write that takes an object from another Application is reported",
			[]string{"add u1@5", "wrote u1@6 +b"}, "u1@6", []string{"none → u1@5", "u1@5 → u1@6"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSeen()
			s.play(t, row.steps...)
			assert.Equal(t, row.now, s.now())
			assert.Equal(t, row.changes, s.changes)
		})
	}
}

// A new definition changes objects without a new version. No client has written them.
func TestListedContentOfTheSameVersionIsNews(t *testing.T) {
	s := newSeen()
	content := func(data map[string]any) *unstructured.Unstructured {
		u := state("u1", "5", "app")
		u.Object["data"] = data
		managed := map[string]any{"manager": "mallory", "operation": "Update", "time": "2026-01-01T00:00:00Z"}
		require.NoError(t, unstructured.SetNestedSlice(u.Object, []any{managed}, "metadata", "managedFields"))
		return u
	}
	require.NoError(t, s.Add(content(map[string]any{"pruned": "a", "kept": "b"})))
	s.BeginList()
	require.NoError(t, s.Replace([]any{content(map[string]any{"kept": "b", "default": "c"})}, "9"))
	assert.Equal(t, []string{"none → u1@5", "u1@5 → u1@5"}, s.changes)
	assert.Equal(t, map[string]any{"kept": "b", "default": "c"}, s.ForApplication("app")[0].Content()["data"])
	assert.Empty(t, s.Written("app"))
}

func TestOwnDeletionsAreRemembered(t *testing.T) {
	s := newSeen()
	s.play(t, "wrote u1@5", "deleted u1")
	assert.True(t, s.buried("u1"))
	s.play(t, "delete u1@7")
	assert.False(t, s.buried("u1"), "nothing is remembered for ever")

	t.Run("or a list does", func(t *testing.T) {
		s := newSeen()
		s.play(t, "wrote u1@5", "ask", "deleted u1", "list u1@5 at 6")
		assert.True(t, s.buried("u1"), "the list is older")
		s.play(t, "list at 9")
		assert.False(t, s.buried("u1"))
	})
	t.Run("unless the watch was faster", func(t *testing.T) {
		s := newSeen()
		s.play(t, "wrote u1@5", "delete u1@7", "deleted u1")
		assert.False(t, s.buried("u1"))
	})
}

func TestStoreIndexesByApplication(t *testing.T) {
	s := newSeen()
	s.play(t, "add u1@5")
	require.Len(t, s.ForApplication("app"), 1)
	assert.Empty(t, s.ForApplication("b"))

	s.play(t, "update u1@6 +b")
	assert.Empty(t, s.ForApplication("app"))
	require.Len(t, s.ForApplication("b"), 1)
	assert.Equal(t, map[string]any{"version": "6"}, s.ForApplication("b")[0].Content()["data"])

	s.play(t, "delete u1@7 +b")
	assert.Empty(t, s.ForApplication("b"))
	assert.Zero(t, s.Len())
}

func TestStoreIsReadyAfterFirstList(t *testing.T) {
	s := newSeen()
	s.play(t, "add u1@5")
	assert.False(t, s.Ready())
	s.play(t, "list at 9")
	assert.True(t, s.Ready())
	s.play(t, "list at 10")
	assert.Equal(t, 1, s.synced)
}

func TestStoredObjectOmitsManagedFields(t *testing.T) {
	s := newSeen()
	u := state("u1", "5", "app")
	require.NoError(t, unstructured.SetNestedSlice(u.Object, []any{map[string]any{"manager": "a"}}, "metadata", "managedFields"))
	s.ApplyWrite("app-1", u.Object)
	content := s.Get(config).Content()
	_, has, _ := unstructured.NestedSlice(content, "metadata", "managedFields")
	assert.False(t, has)

	content["data"] = nil
	assert.NotNil(t, s.Get(config).Content()["data"])
}

func TestStoreRejectsOtherTypes(t *testing.T) {
	s := newSeen()
	small, err := s.Transform(state("u1", "5", "app"))
	require.NoError(t, err)
	require.IsType(t, listedObject{}, small)
	require.NoError(t, s.Add(small))
	assert.Equal(t, "u1@5", s.now())
	assert.Error(t, s.Add("text"))
	assert.NoError(t, s.Resync())
}

// The response to a write can arrive after the watch has delivered the deletion of the object.
func TestLateResponseIsIgnored(t *testing.T) {
	for _, row := range []struct {
		name   string
		before func(*seen)
	}{
		{"to a create, deleted at once by another client", func(s *seen) { require.NoError(t, s.Add(state("a", "10", "app"))) }},
		{"to a create that the watch has not shown", func(*seen) {}},
		{"to a delete that a finalizer held for a moment", func(s *seen) {
			s.ApplyWrite("app-1", state("a", "9", "app").Object)
			require.NoError(t, s.Update(state("a", "10", "app")))
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSeen()
			row.before(s)
			require.NoError(t, s.Delete(state("a", "11", "app")))
			s.ApplyWrite("app-1", state("a", "10", "app").Object)
			assert.Nil(t, s.Get(config))
			assert.Empty(t, s.ForApplication("app"))
		})
	}
	t.Run("but what we write to an object that has only lost its label is news", func(t *testing.T) {
		s := newSeen()
		require.NoError(t, s.Add(state("a", "10", "app")))
		require.NoError(t, s.Delete(state("a", "11", "")))
		s.ApplyWrite("app-1", state("a", "12", "app").Object)
		assert.NotNil(t, s.Get(config))
	})
	t.Run("and so is another object of that name", func(t *testing.T) {
		s := newSeen()
		require.NoError(t, s.Delete(state("a", "11", "app")))
		s.ApplyWrite("app-1", state("b", "12", "app").Object)
		assert.Equal(t, types.UID("b"), s.Get(config).UID)
	})
	t.Run("and only so many are remembered", func(t *testing.T) {
		r := newRing[int, int](3)
		for i := range 10 {
			r.put(i, i+1)
			r.put(i, i+2)
		}
		assert.Equal(t, []int{0, 9, 10, 11}, []int{r.get(6), r.get(7), r.get(8), r.get(9)})
		assert.Len(t, r.values, 3)
	})
}
