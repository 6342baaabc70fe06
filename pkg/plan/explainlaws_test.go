package plan_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// Two laws: a field that a patch changes is never reported as free, and a field that is reported as
// free is in no patch.

func TestFreeFieldsInGoldenCases(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(goldenRoot, "*", "application.yaml"))
	require.NoError(t, err)
	patches := 0
	for _, file := range cases {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			in := readCase(t, dir)
			patches += freeIsUntouched(t, in)
		})
	}
	require.Greater(t, patches, 30)
}

func TestFreeFieldsInRandomCases(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, "manifest: []")
		w.kinds = typed{w.kinds}
		edit := func() {
			w.app.Generation++
			spec := observertest.Spec(r)
			w.app.Spec.Manifest, w.app.Spec.ObserverSchema = raws(observertest.Manifest(spec).Content), nil
			w.app.Spec.Fields = nil
			if rapid.Bool().Draw(r, "user's") {
				rules := rapid.Bool().Draw(r, "rules")
				observe(r, w, observertest.Entry(r, spec, observertest.Options{Bounded: true, Known: rules, Walked: rules, Rules: rules}))
			}
		}
		edit()
		w.round()
		for range 3 {
			w.only()["spec"] = observertest.Mutate(r, w.only()["spec"].(map[string]any))
			if rapid.Bool().Draw(r, "edit") {
				edit()
			}
			in := plan.Input{Application: w.app, Live: w.live, Kinds: w.kinds, Memory: w.mem, Now: w.now}
			freeIsUntouched(r, in)
			for _, change := range plan.Decide(in).Changes {
				for _, d := range change.Fields { // also while deferred
					w.mem.Contests = map[plan.Leaf]*plan.Contest{{ID: change.ID, Path: d.Path}: {Corrections: 5, Next: w.now.Add(1)}}
				}
			}
			in.Memory = w.mem
			freeIsUntouched(r, in)
			w.mem = &plan.State{}
			w.round()
		}
	})
}

// freeIsUntouched checks the laws for every patch of a plan and returns the number of patches.
func freeIsUntouched(t require.TestingT, in plan.Input) int {
	p, patches := plan.Decide(in), 0
	for _, change := range p.Changes {
		if change.Action != plan.Update {
			continue
		}
		patches++
		e, ok := explain.Resource(p, change.ID, true)
		require.True(t, ok)
		tree, touched := origins(in.Live[change.ID], ""), map[string]bool{}
		for _, op := range change.Patch {
			tree.apply(strings.Split(op.Path, "/")[1:], op, touched)
		}
		added := sync.OnceValue(func() []string { return addedBy(t, in, change) })
		explained := map[string]bool{}
		for _, f := range e.Fields {
			pointer := f.LivePath().Pointer()
			explained[pointer] = explained[pointer] || f.State != explain.Free
			if f.State != explain.Free {
				continue
			}
			for at := range touched {
				require.False(t, within(at, pointer) || within(pointer, at), "%s is called free, and the patch touches %s: %v", f.Path, at, change.Patch)
			}
			for _, d := range change.Fields {
				require.False(t, observer.IsUnder(d.Path, f.Path), "%s is called free, and %s has drifted", f.Path, d.Path)
			}
			if f.Live.Set || isOfNewElement(f) {
				continue
			}
			for _, path := range added() {
				require.False(t, observer.IsUnder(path, f.Path), "%s is called free, and the patch adds it: %v", f.Path, change.Patch)
			}
		}
		for at := range touched {
			require.True(t, isExplained(at, explained), "the patch touches %s, which is not explained, or free: %v", at, change.Patch)
		}
	}
	return patches
}

// isOfNewElement reports whether a field lies in a missing list element. Such an element is created
// with all its fields, including the free ones.
func isOfNewElement(f explain.Field) bool {
	return slices.ContainsFunc(f.LivePath().Parent().Chain(), func(step *observer.Path) bool { return step.IsElement() && step.Index() < 0 })
}

// addedBy returns the paths that a patch adds to an object, except for paths with positions.
func addedBy(t require.TestingT, in plan.Input, change plan.Change) (added []string) {
	before, after := valuesOf(in, change.ID), in
	after.Live = maps.Clone(in.Live)
	after.Live[change.ID] = applyPatch(t, in.Live[change.ID], change)
	for path := range valuesOf(after, change.ID) {
		if !before[path] && !position.MatchString(path) {
			added = append(added, path)
		}
	}
	return added
}

var position = regexp.MustCompile(`\[\d+\]`)

// valuesOf returns the paths of all fields of a live object, or none if the object has been released.
func valuesOf(in plan.Input, id manifest.ID) map[string]bool {
	e, _ := explain.Resource(plan.Decide(in), id, true)
	values := map[string]bool{}
	for _, f := range e.Fields {
		if f.Live.Set {
			values[f.Path] = true
		}
	}
	return values
}

func within(pointer, above string) bool { return strings.HasPrefix(pointer+"/", above+"/") }

func isExplained(pointer string, explained map[string]bool) bool {
	for pointer != "" {
		if explained[pointer] {
			return true
		}
		pointer = pointer[:strings.LastIndexByte(pointer, '/')]
	}
	return false
}

// origin is a value in a patched object, with its path before the patch.
type origin struct {
	from   string // "" for a new value
	fields map[string]*origin
	items  []*origin
}

func origins(v any, from string) *origin {
	o := &origin{from: from, fields: map[string]*origin{}}
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			o.fields[name] = origins(child, from+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
		}
	case []any:
		for i, child := range v {
			o.items = append(o.items, origins(child, from+"/"+strconv.Itoa(i)))
		}
	}
	return o
}

// apply applies an operation and records the scalars that it replaces or removes.
func (o *origin) apply(steps []string, op delta.Op, touched map[string]bool) {
	step := strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[0])
	index, err := strconv.Atoi(step)
	isItem := step == "-" || err == nil && o.fields[step] == nil && (len(o.items) > 0 || len(o.fields) == 0)
	switch {
	case len(steps) > 1 && isItem:
		o.items[index].apply(steps[1:], op, touched)
	case len(steps) > 1:
		o.fields[step].apply(steps[1:], op, touched)
	case op.Op == "add" && isItem:
		if step == "-" {
			index = len(o.items)
		}
		o.items = slices.Insert(o.items, index, &origin{fields: map[string]*origin{}})
	case isItem:
		o.items[index].note(touched)
		if op.Op == "remove" {
			o.items = slices.Delete(o.items, index, index+1)
		}
	default:
		o.fields[step].note(touched)
		delete(o.fields, step)
	}
}

func (o *origin) note(touched map[string]bool) {
	if o == nil {
		return
	}
	if o.from != "" && len(o.fields)+len(o.items) == 0 {
		touched[o.from] = true
	}
	for _, child := range o.fields {
		child.note(touched)
	}
	for _, child := range o.items {
		child.note(touched)
	}
}
