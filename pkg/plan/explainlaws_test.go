package plan_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// Two laws: a field that a patch touches is never called free, and a field that is called
// free is in no patch.

func TestFreeFieldsInGoldenCases(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(goldenRoot, "*", "application.yaml"))
	require.NoError(t, err)
	patches := 0
	for _, file := range cases {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			in := readCase(t, dir)
			patches += freeIsUntouched(t, plan.Decide(in), in.Live)
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
			if rapid.Bool().Draw(r, "user's") {
				w.app.Spec.ObserverSchema = raws(observertest.Entry(r, spec, observertest.Options{Bounded: true}).Raw())
			}
		}
		edit()
		w.round()
		for range 3 {
			w.only()["spec"] = observertest.Mutate(r, w.only()["spec"].(map[string]any))
			if rapid.Bool().Draw(r, "edit") {
				edit()
			}
			p := w.decide()
			freeIsUntouched(r, p, w.live)
			for _, change := range p.Changes {
				for _, d := range change.Fields { // and held back
					w.mem.Fights = map[plan.Leaf]*plan.Fight{{ID: change.ID, Path: d.Path}: {Corrections: 5, Next: w.now.Add(1)}}
				}
			}
			freeIsUntouched(r, w.decide(), w.live)
			w.mem = &plan.Memory{}
			w.round()
		}
	})
}

// freeIsUntouched checks the laws for every patch of a plan, and returns how many there are.
func freeIsUntouched(t require.TestingT, p *plan.Plan, live map[manifest.ID]map[string]any) int {
	patches := 0
	for _, change := range p.Changes {
		if change.Action != plan.Update {
			continue
		}
		patches++
		e, ok := p.Explain(change.ID, true)
		require.True(t, ok)
		tree, touched := origins(live[change.ID], ""), map[string]bool{}
		for _, op := range change.Patch {
			tree.apply(strings.Split(op.Path, "/")[1:], op, touched)
		}
		explained := map[string]bool{}
		for _, f := range e.Fields {
			pointer := f.Place().Pointer()
			explained[pointer] = explained[pointer] || f.State != plan.FieldFree
			if f.State != plan.FieldFree {
				continue
			}
			for at := range touched {
				require.False(t, within(at, pointer) || within(pointer, at), "%s is called free, and the patch touches %s: %v", f.Path, at, change.Patch)
			}
			for _, op := range change.Patch {
				require.False(t, !f.Live.Set && op.Path == pointer, "%s is called free, and the patch adds it: %v", f.Path, change.Patch)
			}
		}
		for at := range touched {
			require.True(t, isExplained(at, explained), "the patch touches %s, which is not explained, or free: %v", at, change.Patch)
		}
	}
	return patches
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

// origin is a value in an object to which a patch is applied, and where it was before.
type origin struct {
	from   string // "": it is new
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

// apply applies an operation, and notes the single values that it replaces or removes.
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
