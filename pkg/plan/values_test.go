package plan_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// TestValuesInValuesOut checks that Decide, DecideDeletion, Replan and Summarize are pure. They change
// neither their arguments nor the plan, and the same call returns the same result twice.
func TestValuesInValuesOut(t *testing.T) {
	t.Run("golden cases", func(t *testing.T) {
		files, err := filepath.Glob(filepath.Join(goldenRoot, "*", "application.yaml"))
		require.NoError(t, err)
		require.Greater(t, len(files), 200)
		for _, file := range files {
			t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
				in := readCase(t, filepath.Dir(file))
				in.Now = time.Unix(1e9, 0)
				draws := rapid.Custom(func(r *rapid.T) bool {
					isPure(t, r, in)
					return true
				})
				for seed := range samples.Of(4, 50) {
					draws.Example(seed)
				}
			})
		}
	})
	t.Run("random Applications", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			w := newWorld(t, "manifest: []")
			for range rapid.IntRange(2, 4).Draw(r, "edits") {
				edit(r, w)
				isPure(r, r, plan.Input{Application: w.app, Live: w.live, Kinds: w.kinds, Memory: w.mem, Now: w.now})
				if rapid.IntRange(0, 3).Draw(r, "dies") == 0 {
					w.die(true)
				} else {
					w.round()
				}
			}
		})
	})
}

// TestAResponseDoesNotChangeThePlan checks that a closed map keeps the keys that the API server adds in the
// status only.
func TestAResponseDoesNotChangeThePlan(t *testing.T) {
	w := newWorld(t, `
manifest: [{apiVersion: example.com/v1, kind: Song, metadata: {name: top50}, spec: {parts: {one: "1"}}}]
fields: [{resource: {kind: Song, name: top50}, hold: [{path: spec.parts, keys: {hold: ["*"]}}]}]`)
	p := w.decide()
	require.Len(t, p.Changes, 1)
	before, change := p.Summarize(nil, w.now).Status, p.Changes[0]
	object := observer.CopyMap(change.Manifest)
	set(object, "2", "spec", "parts", "two")
	status := p.Summarize(map[manifest.ID]plan.Outcome{change.ID: {Change: change, Action: plan.Create, Object: object}}, w.now).Status
	require.Contains(t, string(status.MangledObserverSchema[0].Raw), `"two"`)
	require.Equal(t, observertest.JSON(before), observertest.JSON(p.Summarize(nil, w.now).Status))
}

// edit changes the spec and the object. Another client may own the object afterwards.
func edit(r *rapid.T, w *world) {
	w.app.Generation++
	spec := observertest.Spec(r)
	w.app.Spec.Adoption, w.app.Spec.Manifest, w.app.Spec.ObserverSchema = v1alpha1.AdoptAlways, raws(observertest.Manifest(spec).Content), nil
	if rapid.IntRange(0, 2).Draw(r, "user's") == 0 {
		w.app.Spec.ObserverSchema = raws(observertest.Entry(r, spec, observertest.Options{Bounded: true}).Raw())
	}
	drops, adds := rapid.Bool().Draw(r, "drops"), rapid.Bool().Draw(r, "adds")
	w.respond = func(o map[string]any) { rewrite(o["spec"], drops, adds) }
	if len(w.live) == 0 {
		return
	}
	if rapid.IntRange(0, 3).Draw(r, "a stranger's") == 0 {
		delete(w.only()["metadata"].(map[string]any), "labels")
		delete(w.only()["metadata"].(map[string]any), "annotations")
		w.set("theirs", "metadata", "uid")
	}
	w.only()["spec"] = observertest.Mutate(r, w.only()["spec"].(map[string]any))
}

// isPure checks that an Application, possibly one that is being deleted, is decided without side
// effects. It reports failures to t and draws from r.
func isPure(t require.TestingT, r *rapid.T, in plan.Input) {
	decide := rapid.SampledFrom([]func(plan.Input) *plan.Plan{plan.Decide, plan.Decide, plan.DecideDeletion}).Draw(r, "decide")
	in = drawMore(r, decide(in), in)
	before := copyInput(in)
	p, other := decide(in), decide(in)
	sameInput(t, before, in)

	now, known := in.Now.Add(time.Second), in
	view, untouched, asked := viewOf(t, p), p.Summarize(nil, now), answers(p, known, now)
	outcomes, objects := map[manifest.ID]plan.Outcome{}, map[manifest.ID]map[string]any{}
	for _, change := range p.Changes {
		askOther(p, change, known)
		if outcome, attempted := drawOutcome(t, r, p, change, in); attempted {
			outcomes[change.ID] = outcome
			objects[change.ID] = observer.CopyMap(outcome.Object)
		}
	}
	result := p.Summarize(outcomes, now)
	require.Equal(t, result, p.Summarize(outcomes, now), "a second call returns the same result")
	require.Equal(t, result, other.Summarize(outcomes, now), "another copy of the plan returns the same result")
	require.Equal(t, untouched, p.Summarize(nil, now), "the plan does not keep the outcomes")
	require.Equal(t, view, viewOf(t, p), "a plan is never changed")
	require.Equal(t, asked, answers(p, known, now), "the plan still answers the same")
	for _, change := range p.Changes {
		askOther(p, change, known)
		require.Equal(t, objects[change.ID], observer.CopyMap(outcomes[change.ID].Object))
	}
	require.Equal(t, result, p.Summarize(outcomes, now), "other answers do not change the result")
	sameInput(t, before, in)
}

// answers returns the results of Replan for the live objects, and the status for each.
func answers(p *plan.Plan, in plan.Input, now time.Time) (all []any) {
	for _, change := range p.Changes {
		c := p.Replan(change.ID, in.Live[change.ID])
		outcome := plan.Outcome{Change: c, Action: plan.Unchanged, Object: in.Live[change.ID], Problem: c.Problem}
		all = append(all, contentOf(c), p.Summarize(map[manifest.ID]plan.Outcome{change.ID: outcome}, now))
	}
	return all
}

// askOther calls Replan without an object, and with an object that has longer lists.
func askOther(p *plan.Plan, change plan.Change, in plan.Input) {
	p.Replan(change.ID, nil)
	if longer := observer.CopyMap(in.Live[change.ID]); longer != nil {
		lengthen(longer["spec"])
		lengthen(longer["spec"])
		p.Replan(change.ID, longer)
	}
}

// contentOf returns the fields of a change, without the input of its decision.
func contentOf(c plan.Change) []any {
	return []any{c.Action, c.ID, c.Prune, c.UID, c.ResourceVersion, c.Manifest, c.Fallback, c.Fields, c.Guards, c.Patch, c.ReadFirst, c.Problem}
}

// drawMore draws the rest of the input: the state, blocked objects, older Applications and finished
// Jobs.
func drawMore(r *rapid.T, p *plan.Plan, in plan.Input) plan.Input {
	in.Memory = drawMemory(r, p, in.Now)
	in.Blocked, in.Precedence = map[manifest.ID]*plan.Problem{}, map[manifest.ID][]string{}
	in.FinishedJobs = map[manifest.ID]map[string]any{}
	for _, change := range p.Changes {
		switch rapid.IntRange(0, 7).Draw(r, "known") {
		case 0:
			blocked := *rejected
			in.Blocked[change.ID] = &blocked
		case 1:
			in.Precedence[change.ID] = []string{"other/older", "other/oldest"}
		case 2:
			in.FinishedJobs[change.ID] = observer.CopyMap(in.Live[change.ID])
		}
	}
	return in
}

// drawMemory returns a state with contests and rejections for some of the drifted leaves.
func drawMemory(r *rapid.T, p *plan.Plan, now time.Time) *plan.State {
	m := &plan.State{Contests: map[plan.Leaf]*plan.Contest{}, Rejections: map[plan.Leaf]*plan.Rejection{}, Secrets: map[manifest.ID]delta.Accepted{}}
	for _, change := range p.Changes {
		for _, d := range change.Fields {
			leaf, at := plan.Leaf{ID: change.ID, Path: d.Path}, now.Add(time.Duration(rapid.IntRange(-30, 30).Draw(r, "s"))*time.Second)
			switch rapid.IntRange(0, 4).Draw(r, "history") {
			case 0:
				m.Contests[leaf] = &plan.Contest{Times: slices.Repeat([]time.Time{at}, rapid.IntRange(1, 4).Draw(r, "times"))}
			case 1:
				m.Contests[leaf] = &plan.Contest{Corrections: 6, Next: at, Desired: d.Desired, Observed: d.Live}
			case 2:
				m.Rejections[leaf] = &plan.Rejection{Problem: rejected, Times: 1, Until: at}
			}
		}
		if manifest.IsSecret(change.ID.GroupKind()) {
			m.Secrets[change.ID] = delta.Accepted{"data.gone": {Desired: delta.NewValue("eA=="), Accepted: delta.NewValue("eQ==")}}
		}
	}
	return m
}

// drawOutcome draws the outcome of a change: it is executed, it meets another object, or it fails.
func drawOutcome(t require.TestingT, r *rapid.T, p *plan.Plan, change plan.Change, in plan.Input) (plan.Outcome, bool) {
	outcome := plan.Outcome{Change: change, Action: change.Action}
	switch rapid.IntRange(0, 5).Draw(r, "meets") {
	case 0:
		return outcome, false
	case 1: // an object that was not known, or none
		live := observer.CopyMap(in.Live[change.ID])
		if live == nil || rapid.Bool().Draw(r, "gone") {
			live = nil
		} else {
			live["spec"] = map[string]any{"found": true}
		}
		outcome.Change = p.Replan(change.ID, live)
		in.Live = map[manifest.ID]map[string]any{change.ID: live}
	case 2: // a unit is rejected
		if units := change.Units(); len(units) > 0 {
			refused := p.RecordRejection(plan.Leaf{ID: change.ID, Path: units[0].Path}, rejected)
			outcome.Rejected = append(outcome.Rejected, refused)
			if outcome.Change = p.Replan(change.ID, in.Live[change.ID], refused); !outcome.Change.Writes() {
				outcome.Problem = refused.Problem
			}
		}
	case 3:
		outcome.Problem, outcome.WithoutLearned = rejected, rapid.Bool().Draw(r, "without learned")
		return outcome, true
	}
	change = outcome.Change
	outcome.Action = change.Action
	live := in.Live[change.ID]
	switch change.Action {
	case plan.Create:
		outcome.Object = observer.CopyMap(change.Manifest)
		outcome.Object["status"] = map[string]any{"phase": "new"}
	case plan.Update:
		outcome.Object = applyPatch(t, live, change)
	case plan.Delete:
		outcome.Gone = true
	default:
		outcome.Object = observer.CopyMap(live)
	}
	for i := range in.Application.Spec.ObserverSchema {
		if entry, err := manifest.DecodeJSON(in.Application.Spec.ObserverSchema[i].Raw); err == nil && entry["kind"] == change.ID.Kind {
			fill(entry, outcome.Object)
		}
	}
	if outcome.Object != nil && rapid.Bool().Draw(r, "lengthens") {
		lengthen(outcome.Object["spec"])
	}
	return outcome, true
}

// fill adds the observed fields that an object lacks.
func fill(schema, object map[string]any) {
	for name, node := range schema {
		inner, isMap := node.(map[string]any)
		if _, has := object[name]; !has && object != nil && !isMap {
			object[name] = "the server's"
		}
		if child, ok := object[name].(map[string]any); ok && isMap {
			fill(inner, child)
		}
	}
}

// lengthen adds list elements, like an admission plugin.
func lengthen(v any) {
	m, _ := v.(map[string]any)
	for name, child := range m {
		if list, ok := child.([]any); ok {
			m[name] = append(slices.Clone(list), map[string]any{"name": "injected"})
		}
		lengthen(child)
	}
}

func viewOf(t require.TestingT, p *plan.Plan) string {
	text, err := explain.ViewOf(p).YAML()
	require.NoError(t, err)
	return string(text)
}

func copyInput(in plan.Input) plan.Input {
	in.Application = in.Application.DeepCopy()
	in.Live, in.FinishedJobs = copyObjects(in.Live), copyObjects(in.FinishedJobs)
	in.Precedence = maps.Clone(in.Precedence)
	for id, names := range in.Precedence {
		in.Precedence[id] = slices.Clone(names)
	}
	in.Blocked = maps.Clone(in.Blocked)
	for id, problem := range in.Blocked {
		own := *problem
		in.Blocked[id] = &own
	}
	memory := plan.State{Contests: map[plan.Leaf]*plan.Contest{}, Rejections: map[plan.Leaf]*plan.Rejection{}, Secrets: map[manifest.ID]delta.Accepted{}}
	for leaf, f := range in.Memory.Contests {
		own := *f
		own.Times = slices.Clone(f.Times)
		memory.Contests[leaf] = &own
	}
	for leaf, r := range in.Memory.Rejections {
		own := *r
		memory.Rejections[leaf] = &own
	}
	for id, forms := range in.Memory.Secrets {
		memory.Secrets[id] = maps.Clone(forms)
	}
	in.Memory = &memory
	return in
}

func copyObjects(objects map[manifest.ID]map[string]any) map[manifest.ID]map[string]any {
	copies := maps.Clone(objects)
	for id, object := range copies {
		copies[id] = observer.CopyMap(object)
	}
	return copies
}

func sameInput(t require.TestingT, before, in plan.Input) {
	require.Equal(t, before.Application, in.Application)
	require.Equal(t, before.Live, in.Live)
	require.Equal(t, before.Memory, in.Memory)
	require.Equal(t, before.Blocked, in.Blocked)
	require.Equal(t, before.Precedence, in.Precedence)
	require.Equal(t, before.FinishedJobs, in.FinishedJobs)
}
