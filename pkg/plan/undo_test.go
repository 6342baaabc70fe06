package plan_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

var topSong = manifest.ID{Group: "example.com", Kind: "Song", Namespace: "default", Name: "top50"}

// songWorlds are Applications with the same Song in their manifests.
type songWorlds struct {
	live   map[string]any // nil if it does not exist
	worlds []*world
	// specs contains the fields of each Application's spec besides the manifest.
	specs []string
	story string
}

// TestSpecsAreUndone holds random fields of an object of another client, with values, maps and lists that replace
// each other. The object is shared by up to three Applications, or adopted by one. In between, a controller dies. After
// the last release, the object has its original content.
func TestSpecsAreUndone(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var spec map[string]any
		if rapid.Bool().Draw(r, "has a spec") {
			spec = songFields(r, 0)
		}
		before := jsonText(spec)
		s := newSongWorlds(spec)
		for i, name := range []string{"one", "two", "three"}[:rapid.IntRange(1, 3).Draw(r, "Applications")] {
			if i == 0 && rapid.Bool().Draw(r, "is adopted") {
				s.add(t, name, "adoption: Always\nonRelease: Restore")
				continue
			}
			s.add(t, name, "ownership: Share")
		}
		who := rapid.IntRange(0, len(s.worlds)-1)
		death := rapid.IntRange(0, 8).Draw(r, "death")
		for step := range rapid.IntRange(1, 8).Draw(r, "steps") {
			i := who.Draw(r, "who")
			switch {
			case step == death:
				s.decide(i, func(w *world) { w.die(rapid.Bool().Draw(r, "executed")) })
			case rapid.Bool().Draw(r, "edits"):
				fields := songFields(r, 0)
				if len(s.worlds) > 1 && s.specs[i] != "ownership: Share" {
					withoutEmpty(fields) // an owner does not claim them
				}
				s.edit(i, fields)
			default:
				s.reconcile(i)
			}
		}
		s.rest()
		for _, i := range rapid.Permutation(s.indexes()).Draw(r, "order") {
			s.edit(i, nil)
			for range rapid.IntRange(0, 2).Draw(r, "rounds") {
				s.reconcile(who.Draw(r, "who"))
			}
			if rapid.Bool().Draw(r, "rest") {
				s.rest()
			}
		}
		s.rest()
		if after := jsonText(s.live["spec"]); after != before {
			r.Fatalf("%safterwards %s", s.story, after)
		}
	})
}

// Each step is the desired state of one of the Applications, or its release. See TestSpecsAreUndone.
func TestSpecsAreUndoneByExample(t *testing.T) {
	const adopt, share = "adoption: Always\nonRelease: Restore", "ownership: Share"
	type step struct {
		app    int
		fields string
	}
	for name, test := range map[string]struct {
		spec, original string
		steps          []step
	}{
		"a list that was empty becomes a text":     {share, `{"a":"x","b":[]}`, []step{{0, `{"b":["q"]}`}, {0, `{"b":"x"}`}}},
		"a text becomes a list":                    {share, `{"a":"x"}`, []step{{0, `{"a":"x"}`}, {0, `{"a":["q"]}`}}},
		"a map becomes a list":                     {adopt, `{"b":{}}`, []step{{0, `{"b":{}}`}, {0, `{"b":[]}`}}},
		"a list becomes two texts":                 {share, `null`, []step{{0, `{"b":["q"]}`}, {0, `{"b":"x"}`}, {0, `{"b":"y"}`}}},
		"a map that was created remains":           {adopt, `null`, []step{{0, `{"b":"x"}`}, {0, `{}`}}},
		"an empty list gets an element":            {adopt, `{"a":"x"}`, []step{{0, `{"b":[]}`}, {0, `{"b":["q"]}`}}},
		"a map with a field is adopted as empty":   {adopt, `{"a":{"b":"x"}}`, []step{{0, `{"a":{"a":{}}}`}}},
		"elements of two Applications":             {share, `{}`, []step{{0, `{"a":{"b":[{"name":"p","v":"x"}]}}`}, {1, `{"a":{"a":"x"}}`}, {0, ""}}},
		"a map in which a value was left":          {share, `null`, []step{{0, `{"a":"x"}`}, {1, `{"a":"x"}`}, {2, `{"b":"x"}`}, {0, ""}, {1, ""}}},
		"a map that was empty gets two fields":     {adopt, `null`, []step{{0, `{}`}, {0, `{"a":"x"}`}, {1, `{"b":"x"}`}}},
		"a map instead of a text, without its map": {share, `{"a":"x"}`, []step{{0, `{"a":{"a":"x","b":{}}}`}, {0, `{}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSongWorlds(fields(test.original))
			s.add(t, "one", test.spec)
			s.add(t, "two", share)
			s.add(t, "three", share)
			for _, step := range append(test.steps, step{0, ""}, step{1, ""}, step{2, ""}) {
				s.edit(step.app, fields(step.fields))
				s.rest()
				for name, want := range fields(step.fields) {
					if _, isText := want.(string); isText {
						require.Equal(t, want, get(s.live, "spec", name), s.story)
					}
				}
			}
			require.Equal(t, test.original, jsonText(s.live["spec"]), s.story)
		})
	}
}

// The API server sets a released field again. The release ends, and the rest of the new spec is written.
func TestReleasedFieldThatIsSetAgain(t *testing.T) {
	s := newSongWorlds(fields(`{"b":"x"}`))
	s.add(t, "one", "ownership: Share")
	s.edit(0, fields(`{"a":"x","b":"x"}`))
	s.rest()
	s.worlds[0].respond = func(object map[string]any) { set(object, "x", "spec", "a") }
	s.edit(0, fields(`{"b":"y"}`))
	s.rest()
	require.Equal(t, "y", get(s.live, "spec", "b"), s.story)
	require.False(t, s.worlds[0].decide().HasWork())
}

// The process dies before it writes a value of another type. The original value is still on record.
func TestUnwrittenTypeKeepsOriginalValue(t *testing.T) {
	s := newSongWorlds(nil)
	s.add(t, "one", "ownership: Share")
	s.edit(0, fields(`{"b":"x"}`))
	s.rest()
	s.edit(0, fields(`{"b":{"a":"x"}}`))
	s.decide(0, func(w *world) { w.die(false) })
	s.edit(0, fields(`{}`))
	s.rest()
	require.NotContains(t, s.live, "spec", s.story)
}

// An owner holds maps and lists around the fields of other Applications. A value of another type has no room for them, so
// the owner waits.
func TestOwnersWaitForFieldsOfOtherTypes(t *testing.T) {
	for desired, message := range map[string]string{
		`{"a":"x","b":"y"}`:        "spec.a is held by Application default/two",
		`{"a":["x"],"b":"y"}`:      "spec.a is held by Application default/two",
		`{"a":"y","c":{}}`:         "spec.a is held by Application default/two, spec.c is held by Application default/two",
		`{"a":{"a":"x"},"b":"y"}`:  "",
		`{"a":{"b":{}},"b":"y"}`:   "spec.a.b is held by Application default/two",
		`{"a":{"b":["x"]},"c":[]}`: "spec.a.b is held by Application default/two, spec.c is held by Application default/two",
	} {
		t.Run(desired, func(t *testing.T) {
			s := newSongWorlds(nil)
			s.add(t, "one", "adoption: Always\nonRelease: Restore")
			s.add(t, "two", "ownership: Share")
			s.edit(1, fields(`{"a":{"b":"x"},"c":"x"}`))
			s.rest()
			s.edit(0, fields(desired))
			s.rest()
			require.Equal(t, "x", get(s.live, "spec", "a", "b"), s.story)
			require.Equal(t, "x", get(s.live, "spec", "c"), s.story)
			require.Contains(t, s.worlds[0].app.Status.Resources[0].Message, message)
		})
	}
}

// fields decodes JSON. It returns nil for an empty text.
func fields(text string) (decoded map[string]any) {
	_ = json.Unmarshal([]byte(text), &decoded)
	return decoded
}

// TestSpecsOfCreatedObjectsComeToRest does the same with an object that the Application creates and restores, while
// another client sets fields. Each patch can be applied, and none is left in the end.
func TestSpecsOfCreatedObjectsComeToRest(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := &songWorlds{}
		s.add(t, "one", rapid.SampledFrom([]string{"onRelease: Restore", "onRelease: Leave"}).Draw(r, "spec"))
		for range rapid.IntRange(1, 5).Draw(r, "specs") {
			s.edit(0, songFields(r, 0))
			s.rest()
			if p := s.worlds[0].decide(); p.HasWork() {
				r.Fatalf("%sno rest: %v", s.story, p.Changes)
			}
			if rapid.Bool().Draw(r, "drift") {
				set(s.live, songValue(r, 1), "spec", rapid.SampledFrom([]string{"a", "b"}).Draw(r, "field"))
				s.note("another client writes %s", jsonText(s.live["spec"]))
			}
		}
	})
}

// newSongWorlds returns the Song of another client, and no Application yet.
func newSongWorlds(spec map[string]any) *songWorlds {
	s := &songWorlds{live: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Song",
		"metadata": map[string]any{"name": "top50", "namespace": "default", "uid": "u-1", "resourceVersion": "1"},
	}}
	if spec != nil {
		s.live["spec"] = spec
	}
	s.note("original %s", jsonText(spec))
	return s
}

// add adds an Application with an empty manifest. spec contains the other fields of its spec.
func (s *songWorlds) add(t *testing.T, name, spec string) {
	t.Helper()
	w := newWorld(t, spec+"\nmanifest: []")
	w.app.Name, w.app.UID = name, types.UID("uid-"+name)
	w.app.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, len(s.worlds), 0, time.UTC))
	s.worlds, s.specs = append(s.worlds, w), append(s.specs, spec)
}

// edit replaces the manifest of an Application. It is empty if fields is nil.
func (s *songWorlds) edit(i int, fields map[string]any) {
	item := ""
	if fields != nil {
		item = "{apiVersion: example.com/v1, kind: Song, metadata: {name: top50}, spec: " + jsonText(fields) + "}"
	}
	s.note("%s desires %s", s.worlds[i].app.Name, jsonText(fields))
	s.worlds[i].edit(s.specs[i] + "\nmanifest: [" + item + "]")
}

func (s *songWorlds) reconcile(i int) { s.decide(i, func(w *world) { w.round() }) }

// decide runs a part of a reconcile with the object and the statuses of the other Applications.
func (s *songWorlds) decide(i int, run func(*world)) {
	w := s.worlds[i]
	w.live = map[manifest.ID]map[string]any{}
	if s.live != nil {
		w.live[topSong] = observer.CopyMap(s.live)
	}
	w.holders = map[string]*v1alpha1.Application{}
	for k, other := range s.worlds {
		if k != i {
			w.holders["default/"+other.app.Name] = other.app.DeepCopy()
		}
	}
	w.now = w.now.Add(time.Second)
	before := jsonText(s.live)
	run(w)
	if jsonText(w.live[topSong]) == before {
		return
	}
	s.live = observer.CopyMap(w.live[topSong])
	version, _ := strconv.Atoi(get(s.live, "metadata", "resourceVersion").(string))
	set(s.live, strconv.Itoa(version+1), "metadata", "resourceVersion")
	s.note("%s writes %s %s", w.app.Name, jsonText(s.live["spec"]), jsonText(get(s.live, "metadata", "annotations")))
	s.note("   status %s", jsonText(w.app.Status.Resources))
}

func (s *songWorlds) rest() {
	for range 6 {
		for i := range s.worlds {
			s.reconcile(i)
		}
	}
}

func (s *songWorlds) indexes() (all []int) {
	for i := range s.worlds {
		all = append(all, i)
	}
	return all
}

func (s *songWorlds) note(format string, args ...any) { s.story += fmt.Sprintf(format+"\n", args...) }

// songFields returns a map with two fields of any type.
func songFields(r *rapid.T, depth int) map[string]any {
	fields := map[string]any{}
	for _, name := range []string{"a", "b"} {
		if rapid.Bool().Draw(r, "has "+name) {
			fields[name] = songValue(r, depth)
		}
	}
	return fields
}

// withoutEmpty removes the empty maps and lists from a value, and reports whether it is one itself.
func withoutEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(_ string, child any) bool { return withoutEmpty(child) })
		return len(value) == 0
	case []any:
		for _, element := range value {
			withoutEmpty(element)
		}
		return len(value) == 0
	}
	return false
}

func songValue(r *rapid.T, depth int) any {
	types := []string{"text", "text", "list", "list of maps"}
	if depth < 2 {
		types = append(types, "map", "map", "map")
	}
	list := []any{}
	switch kind := rapid.SampledFrom(types).Draw(r, "type"); kind {
	case "text":
		return rapid.SampledFrom([]string{"x", "y"}).Draw(r, "text")
	case "map":
		return songFields(r, depth+1)
	default:
		for _, name := range []string{"p", "q"} {
			switch {
			case rapid.Bool().Draw(r, "lacks "+name):
			case kind == "list":
				list = append(list, name)
			default:
				list = append(list, map[string]any{"name": name, "v": songValue(r, 2)})
			}
		}
		return list
	}
}
