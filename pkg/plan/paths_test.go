package plan_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// TestAnyPathToASpecificationGivesTheSameObject edits random Applications with default schemas. The
// process dies before and after requests. The object is dropped for a while, during which it cannot be
// deleted. The final object must equal the one that the last spec creates in an empty cluster.
func TestAnyPathToASpecificationGivesTheSameObject(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		server := drawServer(r)
		w := server.world(t)
		var specs []map[string]any
		spec := observertest.Spec(r)
		for range rapid.IntRange(2, 4).Draw(r, "versions") {
			if rapid.Bool().Draw(r, "another") {
				spec = observertest.Spec(r)
			} else {
				spec = observertest.Mutate(r, spec)
			}
			spec = server.Plausible("m", spec).(map[string]any)
			specs = append(specs, spec)
			w.app.Generation++
			w.app.Spec.Manifest = raws(observertest.Manifest(spec).Content)
			if rapid.IntRange(0, 2).Draw(r, "dies") == 0 {
				w.die(rapid.Bool().Draw(r, "after its requests"))
				if rapid.Bool().Draw(r, "and its response is lost") {
					continue
				}
			}
			w.rest()
			if rapid.IntRange(0, 3).Draw(r, "is dropped for a while") == 0 {
				w.dropInVain(rapid.Bool().Draw(r, "and dies"))
			}
		}
		w.app.Generation++
		w.app.Spec.Manifest = raws(observertest.Manifest(spec).Content)
		w.rest()
		require.Empty(r, w.app.Status.Contested)

		fresh := server.world(t)
		fresh.app.Spec.Manifest = w.app.Spec.Manifest
		fresh.rest()
		got, want := server.Comparable("m", w.only()["spec"]), server.Comparable("m", fresh.only()["spec"])
		if !observer.Equal(got, want) {
			r.Fatalf("%+v\nspecs %s\nlive  %s\nfresh %s", server, jsonOf(specs), jsonOf(got), jsonOf(want))
		}
	})
}

// TestForeignWriteIsKept edits random Applications. Between the edits, another client writes into the
// maps of the object.
func TestForeignWriteIsKept(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		server := drawServer(r)
		w := server.world(t)
		var places [][]string
		for range rapid.IntRange(2, 4).Draw(r, "versions") {
			spec := server.Plausible("m", observertest.Spec(r)).(map[string]any)
			w.app.Generation++
			w.app.Spec.Manifest = raws(observertest.Manifest(spec).Content)
			if rapid.IntRange(0, 3).Draw(r, "dies") == 0 {
				w.die(rapid.Bool().Draw(r, "after its requests"))
			}
			w.rest()
			at := w.only()["spec"].(map[string]any)
			place := []string{"spec"}
			for {
				maps := slices.DeleteFunc(keys(at), func(name string) bool { return name[0] != 'm' })
				if len(maps) == 0 || rapid.Bool().Draw(r, "here") {
					break
				}
				name := rapid.SampledFrom(maps).Draw(r, "into")
				at, place = at[name].(map[string]any), append(place, name)
			}
			at["theirs"] = "kept"
			places = append(places, place)
			w.client = "somebody"
			w.respond(w.only())
			w.client = ""
		}
		for _, place := range places {
			require.Equal(r, "kept", get(w.only(), append(place, "theirs")...), "%v of %v", place, w.only()["spec"])
		}
	})
}

// rest runs rounds until there is nothing to do.
func (w *world) rest() {
	w.t.Helper()
	for range 12 {
		if p, result := w.round(); !p.HasWork() && !result.Again {
			return
		}
	}
	w.t.Fatal("no rest")
}

// dropInVain drops all manifests while nothing can be deleted.
func (w *world) dropInVain(dies bool) {
	w.t.Helper()
	w.app.Generation++
	w.app.Spec.Manifest = nil
	if dies {
		w.die(false)
	}
	w.refuse = map[plan.Action]plan.Outcome{plan.Delete: {Action: plan.Delete, Problem: &plan.Problem{Reason: v1alpha1.ReasonForbidden}}}
	w.round()
	w.refuse = nil
}

type server struct{ observertest.Server }

func drawServer(t *rapid.T) server { return server{observertest.DrawServer(t)} }

func (s server) world(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "manifest: []")
	if s.Typed {
		w.kinds = typed{w.kinds}
	}
	managers, stored := map[any]*observertest.Managers{}, map[any]map[string]any{}
	w.respond = func(o map[string]any) {
		s.Serve(o["spec"])
		o["spec"] = observertest.WithoutEmptyLists(o["spec"])
		uid := get(o, "metadata", "uid")
		if managers[uid] == nil {
			managers[uid] = s.NewManagers()
		}
		client := cmp.Or(w.client, v1alpha1.FieldManagerOf("default", "shop"))
		require.NoError(t, managers[uid].Update(stored[uid], o, client, w.now))
		set(o, managers[uid].List(), "metadata", "managedFields")
		stored[uid] = observer.CopyMap(o)
	}
	return w
}

var thing = observertest.Type()

// typed also resolves the drawn kind.
type typed struct{ intent.Kinds }

func (k typed) Type(gvk schema.GroupVersionKind) *kinds.Node {
	if gvk == observertest.GVK {
		return thing
	}
	return k.Kinds.Type(gvk)
}

var jsonOf = observertest.JSON
