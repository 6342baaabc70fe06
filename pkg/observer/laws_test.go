package observer_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	_ "holdfast.dev/holdfast/internal/repeatable"
	"holdfast.dev/holdfast/pkg/observer"
)

var thing = observertest.Type()

func TestParsingWhatAnEntryLooksLikeGivesTheEntry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := observertest.Spec(t)
		for _, entry := range []*observer.Schema{
			observertest.Entry(t, spec, observertest.Options{Bounded: true, Rules: true}),
			observer.DefaultEntry(observertest.Manifest(spec)),
		} {
			parsed, err := observer.ParseRecorded(entry.Raw())
			if err != nil {
				t.Fatal(err)
			}
			parsed.ID, parsed.Default = entry.ID, entry.Default
			if !observer.Equal(parsed.Raw(), entry.Raw()) || !parsed.SameFields(entry) {
				t.Fatalf("%v\n%v", entry.Raw(), parsed.Raw())
			}
		}
	})
}

func TestCopyingAnEntryGivesTheSameEntry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entry := observertest.Entry(t, observertest.Spec(t), observertest.Options{Bounded: true, Rules: true})
		if !reflect.DeepEqual(entry, entry.Copy()) {
			t.Fatalf("%v", entry.Raw())
		}
	})
}

func TestTheDefaultEntryObservesEveryLeaf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := observertest.Spec(t)
		object := observertest.Manifest(spec)
		projected := observer.DefaultEntry(object).Project(thing, object.Content, object.Content)
		if !observer.Equal(withoutLengths(projected), object.Content) {
			t.Fatalf("%v\n%v", object.Content, projected)
		}
	})
}

func TestProjectingTwiceIsProjectingOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := observertest.Spec(t)
		// An element that is projected without its keys cannot be found again.
		entry := observertest.Entry(t, spec, observertest.Options{Keys: true, Known: true, Rules: true})
		desired, live := observertest.Manifest(spec).Content, observertest.Object(observertest.Mutate(t, spec))
		once := entry.Project(thing, desired, live)
		twice := entry.Project(thing, desired, once)
		if !reflect.DeepEqual(once, twice) {
			t.Fatalf("schema %v\nonce  %v\ntwice %v", entry.Raw(), once, twice)
		}
	})
}

func TestProjectReturnsNothingThatIsNotThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := observertest.Spec(t)
		entry := observertest.Entry(t, spec, observertest.Options{Rules: true})
		desired, live := observertest.Manifest(spec).Content, observertest.Object(observertest.Mutate(t, spec))
		before := observer.CopyMap(live)
		projected := entry.Project(thing, desired, live)
		if !within(withoutLengths(projected), live) {
			t.Fatalf("schema %v\nlive %v\nprojected %v", entry.Raw(), live, projected)
		}
		if !reflect.DeepEqual(before, live) {
			t.Fatal("the live object was changed")
		}
	})
}

func TestLearningNeverOverwrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := observertest.Spec(t)
		entry := observertest.Entry(t, spec, observertest.Options{Rules: true})
		object := observertest.Manifest(spec)
		desired := entry.Desired(thing, object.Content, nil)
		live := observertest.Object(observertest.Mutate(t, spec))
		entry.Learn(thing, desired, object.Content, live)
		if !extends(desired, object.Content) {
			t.Fatalf("schema %v\nmanifest %v\nlearned %v", entry.Raw(), object.Content, desired)
		}
		again := observer.CopyMap(desired)
		if entry.Learn(thing, again, object.Content, live) || !reflect.DeepEqual(desired, again) {
			t.Fatalf("schema %v\nlive %v\nlearned  %v\nand then %v", entry.Raw(), live, desired, again)
		}
	})
}

func TestLearnedValueRemainsDesired(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := observertest.Spec(t)
		entry := observertest.Entry(t, spec, observertest.Options{Rules: true})
		object := observertest.Manifest(spec)
		desired := entry.Desired(thing, object.Content, nil)
		entry.Learn(thing, desired, object.Content, observertest.Object(observertest.Mutate(t, spec)))
		next := entry.Desired(thing, object.Content, desired)
		if !reflect.DeepEqual(desired, next) {
			t.Fatalf("schema %v\nlearned %v\nnext    %v", entry.Raw(), desired, next)
		}
	})
}

func TestADefaultEntryLearnsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := observertest.Manifest(observertest.Spec(t))
		desired := observer.CopyMap(object.Content)
		live := observertest.Object(observertest.Mutate(t, object.Content["spec"].(map[string]any)))
		require.False(t, observer.DefaultEntry(object).Learn(thing, desired, nil, live))
		require.Equal(t, object.Content, desired)
	})
}

// withoutLengths removes the length maps of lists.
func withoutLengths(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, child := range v {
			out[name] = withoutLengths(child)
		}
		return out
	case []any:
		out := []any{}
		for _, child := range v {
			if m, ok := child.(map[string]any); ok && m[observer.KeyCurrentLength] != nil {
				continue
			}
			out = append(out, withoutLengths(child))
		}
		return out
	default:
		return v
	}
}

// within reports whether every field and element of part is somewhere in whole.
func within(part, whole any) bool {
	switch p := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		for name, child := range p {
			v, has := w[name]
			ok = ok && has && within(child, v)
		}
		return ok
	case []any:
		w, ok := whole.([]any)
		for _, child := range p {
			place, isMap := child.(map[string]any)
			found := isMap && len(place) == 0 // keeps the position of an unobserved element
			for _, v := range w {
				found = found || within(child, v)
			}
			ok = ok && found
		}
		return ok
	default:
		return observer.Equal(part, whole)
	}
}

// extends reports whether longer contains all of known, at the same positions.
func extends(longer, known any) bool {
	switch k := known.(type) {
	case map[string]any:
		l, ok := longer.(map[string]any)
		for name, child := range k {
			v, has := l[name]
			ok = ok && has && extends(v, child)
		}
		return ok
	case []any:
		l, ok := longer.([]any)
		ok = ok && len(l) >= len(k)
		for i := range k {
			ok = ok && extends(l[i], k[i])
		}
		return ok
	default:
		return observer.Equal(longer, known)
	}
}
