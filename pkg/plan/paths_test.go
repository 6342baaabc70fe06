package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/observer/observertest"
	"holdfast.dev/holdfast/pkg/plan"
)

// TestAnyPathToASpecificationGivesTheSameObject edits random Applications with
// default schemas, dies before and after requests, drops the object for a while in
// which it cannot be deleted, and compares the object in the end with the one that the
// last spec makes in an empty cluster.
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
			spec = server.plausible("m", spec).(map[string]any)
			specs = append(specs, spec)
			w.app.Generation++
			w.app.Spec.Manifest = raws(observertest.Manifest(spec).Content)
			if rapid.IntRange(0, 2).Draw(r, "dies") == 0 {
				w.die(rapid.Bool().Draw(r, "after its requests"))
				if rapid.Bool().Draw(r, "and comes too late") {
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
		got, want := server.comparable("m", w.only()["spec"]), server.comparable("m", fresh.only()["spec"])
		if !observer.Equal(got, want) {
			r.Fatalf("%+v\nspecs %s\nlive  %s\nfresh %s", server, jsonOf(specs), jsonOf(got), jsonOf(want))
		}
	})
}

// TestWhatSomebodyElseWroteStaysWhateverTheManifestLoses edits random Applications,
// between whose versions somebody writes into the maps of the object.
func TestWhatSomebodyElseWroteStaysWhateverTheManifestLoses(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		server := drawServer(r)
		w := server.world(t)
		theirs := map[string]any{}
		respond := w.respond
		w.respond = func(o map[string]any) {
			respond(o)
			managers := get(o, "metadata", "managedFields").([]any)
			set(o, append(managers, map[string]any{
				"manager": "somebody", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": theirs},
			}), "metadata", "managedFields")
		}
		var places [][]string
		for range rapid.IntRange(2, 4).Draw(r, "versions") {
			spec := server.plausible("m", observertest.Spec(r)).(map[string]any)
			w.app.Generation++
			w.app.Spec.Manifest = raws(observertest.Manifest(spec).Content)
			if rapid.IntRange(0, 3).Draw(r, "dies") == 0 {
				w.die(rapid.Bool().Draw(r, "after its requests"))
			}
			w.rest()
			at, owned := w.only()["spec"].(map[string]any), theirs
			place := []string{"spec"}
			for {
				maps := slices.DeleteFunc(keys(at), func(name string) bool { return name[0] != 'm' })
				if len(maps) == 0 || rapid.Bool().Draw(r, "here") {
					break
				}
				name := rapid.SampledFrom(maps).Draw(r, "into")
				if owned["f:"+name] == nil {
					owned["f:"+name] = map[string]any{}
				}
				at, owned, place = at[name].(map[string]any), owned["f:"+name].(map[string]any), append(place, name)
			}
			at["theirs"], owned["f:theirs"] = "kept", map[string]any{}
			places = append(places, place)
			w.respond(w.only())
		}
		for _, place := range places {
			require.Equal(r, "kept", get(w.only(), append(place, "theirs")...), "%v of %v", place, w.only()["spec"])
		}
	})
}

// rest goes on until there is nothing to do.
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

// server is what an API server makes of what it is sent.
type server struct {
	// Drops is a field that it does not know, Adds one that it has a default for.
	Drops, Adds string
	// Injects is a list that gets one more element, at its front or its end.
	Injects string
	Front   bool
	// Typed tells that it says which lists have keys and which are sets.
	Typed bool
}

func drawServer(t *rapid.T) server {
	s := server{
		Drops:   rapid.SampledFrom([]string{"", "v2"}).Draw(t, "drops"),
		Adds:    rapid.SampledFrom([]string{"", "v1"}).Draw(t, "adds"),
		Injects: rapid.SampledFrom([]string{"", "k2", "s1", "l2"}).Draw(t, "injects"),
		Typed:   rapid.Bool().Draw(t, "typed"),
	}
	// Which element is which nobody can tell when all have moved and none has a key.
	s.Front = s.Typed && s.Injects != "l2" && rapid.Bool().Draw(t, "front")
	return s
}

func (s server) world(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "manifest: []")
	if s.Typed {
		w.kinds = typed{w.kinds}
	}
	w.respond = func(o map[string]any) {
		s.serve(o["spec"])
		o["spec"] = withoutEmptyLists(o["spec"])
		o["metadata"].(map[string]any)["managedFields"] = []any{
			map[string]any{"manager": v1alpha1.FieldManager, "fieldsType": "FieldsV1", "fieldsV1": map[string]any{}},
		}
	}
	return w
}

var thing = observertest.Type()

// typed knows the kind that is drawn, too.
type typed struct{ plan.Kinds }

func (k typed) Type(gvk schema.GroupVersionKind) *kinds.Node {
	if gvk == observertest.GVK {
		return thing
	}
	return k.Kinds.Type(gvk)
}

// serve changes a value as the server does, which changes nothing a second time.
func (s server) serve(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, has := v[s.Adds]; s.Adds != "" && !has {
			v[s.Adds] = "default"
		}
		for _, name := range keys(v) {
			if name == s.Drops {
				delete(v, name)
				continue
			}
			if l, ok := v[name].([]any); ok && name == s.Injects {
				v[name] = s.inject(l)
			}
			s.serve(v[name])
		}
	case []any:
		for _, child := range v {
			s.serve(child)
		}
	}
}

func (s server) inject(l []any) []any {
	var element any = "injected"
	if s.Injects[0] == 'k' {
		element = map[string]any{"name": "injected"}
	}
	switch {
	case len(l) == 0, slices.ContainsFunc(l, func(e any) bool { return observer.Covers(e, element) }):
		return l
	case s.Front:
		return slices.Insert(slices.Clone(l), 0, element)
	}
	return append(slices.Clone(l), element)
}

// plausible is what a manifest of the kind may have: fields keep their type, and
// elements of lists with keys have one each.
func (s server) plausible(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for child, value := range v {
			_, isMap := value.(map[string]any)
			list, isList := value.([]any)
			wantsList := strings.ContainsRune("lks", rune(child[0]))
			if value == nil || isMap != (child[0] == 'm') || isList != wantsList {
				continue
			}
			if isList && len(list) == 0 && s.Injects != "" {
				continue // what was injected stays in a list that is emptied
			}
			out[child] = s.plausible(child, value)
		}
		return out
	case []any:
		var out []any
		seen := map[string]bool{}
		for _, element := range v {
			m, isMap := element.(map[string]any)
			if identity := identityOf(element); name[0] != 'l' {
				if isMap != (name[0] == 'k') || isMap && m["name"] == nil || seen[identity] {
					continue
				}
				seen[identity] = true
			}
			element = s.plausible("m", element)
			if observer.Equal(element, map[string]any{}) {
				element = "empty" // an empty map in a list is free to be anything
			}
			out = append(out, element)
		}
		if len(out) == 0 && s.Injects == "" {
			return []any{}
		}
		return out
	}
	return v
}

// comparable is a live value without what is free: empty lists, maps of nothing
// else, and the order of lists with keys.
func (s server) comparable(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for child, value := range v {
			if value = s.comparable(child, value); !observer.Empty(value) || child[0] == 'v' {
				out[child] = value
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = s.comparable("m", element)
		}
		if s.Typed && (name[0] == 'k' || name[0] == 's') {
			slices.SortFunc(out, func(a, b any) int { return strings.Compare(identityOf(a), identityOf(b)) })
		}
		return out
	}
	return v
}

func identityOf(element any) string {
	if m, ok := element.(map[string]any); ok {
		element = m["name"]
	}
	return fmt.Sprint(element)
}

func jsonOf(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
