package plan_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// A field that one Application takes over from another gets back in the end what it was before
// either, in whichever order they look, and if the first dies between its writes.
func TestABaselineIsHandedOn(t *testing.T) {
	for _, first := range []string{"who lets go", "who waits"} {
		for _, dies := range []string{"no", "before the patch", "after the patch"} {
			t.Run(first+" looks first, dies: "+dies, func(t *testing.T) {
				c := newClaimants(t, "one", "two")
				one, two := c.worlds[0], c.worlds[1]
				for _, w := range c.worlds {
					w.edit(part(map[string]string{"a": w.app.Name, "new": w.app.Name})) // one was there, one was not
					c.turn(w)
				}
				require.Equal(t, "one", get(c.live, "data", "a"))
				_, reason, _ := two.condition(v1alpha1.ConditionStalled)
				require.Equal(t, v1alpha1.ReasonFieldClaimed, reason)

				one.live[config] = observer.CopyMap(c.live)
				explained, _ := one.decide().Explain(config, false)
				i := slices.IndexFunc(explained.Fields, func(f plan.Field) bool { return f.Path == "data.a" })
				require.Equal(t, "when it is let go, it is handed on to Application default/two, which waits for it", explained.Fields[i].OnRelease)
				var values []any
				c.seen = func() { values = append(values, get(c.live, "data", "a")) }
				one.edit("ownership: Share\nmanifest: []")
				if first == "who waits" {
					c.turn(two)
				}
				if dies != "no" {
					one.live[config] = observer.CopyMap(c.live)
					one.die(dies == "after the patch")
					c.written(one)
					c.turn(two)
				}
				for range 2 {
					c.turn(one)
					c.turn(two)
				}
				require.Equal(t, map[string]any{"a": "two", "b": "theirs", "free": "theirs", "new": "two"}, c.live["data"])
				require.Equal(t, map[string]string{"data.a": "default/two", "data.new": "default/two"}, c.holders())
				row := two.app.Status.Resources[0]
				require.Equal(t, get(c.live, "metadata", "uid"), string(row.UID))
				require.Len(t, row.Baseline, 2)
				require.Equal(t, "data.a", row.Baseline[0].Path)
				require.JSONEq(t, `"theirs"`, string(row.Baseline[0].Value.Raw), "and not what the other one held")
				require.Equal(t, "data.new", row.Baseline[1].Path)
				require.Nil(t, row.Baseline[1].Value, "it was not there before either")
				for _, b := range row.Baseline {
					require.Equal(t, []string{"default/one"}, b.HandedOnBy, "%s", b.Path)
				}
				for _, h := range two.app.Status.History {
					require.NotEqual(t, v1alpha1.OutcomeCorrected, h.Outcome, "it was no drift: %+v", h)
				}
				require.NotContains(t, values, any("theirs"), "and it was never restored in between")

				two.edit("ownership: Share\nmanifest: []")
				c.turn(two)
				c.turn(two)
				set(c.live, "1", "metadata", "resourceVersion")
				require.Equal(t, c.before, c.live)
			})
		}
	}
}

// Two Applications that need another shape of one place want the same: only one of them holds.
func TestWhatCannotBeBesideAClaim(t *testing.T) {
	for name, forms := range map[string][2]string{
		"a list and a map":             {"{list: [a]}", "{list: {size: 1}}"},
		"a value and what is in a map": {"{place: {in: it}}", "{place: it}"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClaimants(t, "one", "two")
			for i, w := range c.worlds {
				w.edit("ownership: Share\nmanifest:\n- {apiVersion: example.com/v1, kind: Thing, metadata: {name: config}, spec: " + forms[i] + "}")
			}
			id := manifest.ID{Group: "example.com", Kind: "Thing", Namespace: "default", Name: "config"}
			live := map[string]any{
				"apiVersion": "example.com/v1", "kind": "Thing",
				"metadata": map[string]any{"name": "config", "namespace": "default", "uid": "u-1", "resourceVersion": "1"},
			}
			for range 4 {
				for _, w := range c.worlds {
					w.live[id] = observer.CopyMap(live)
					w.round()
					live = observer.CopyMap(w.live[id])
				}
			}
			for _, w := range c.worlds {
				w.live[id] = observer.CopyMap(live)
				p, _ := w.round()
				require.Nil(t, p.Refused)
				require.False(t, p.Changes[0].Writes(), "%s: %v", w.app.Name, p.Changes[0].Fields)
			}
			_, reason, _ := c.worlds[0].condition(v1alpha1.ConditionStalled)
			require.Empty(t, reason)
			_, reason, _ = c.worlds[1].condition(v1alpha1.ConditionStalled)
			require.Equal(t, v1alpha1.ReasonFieldClaimed, reason)
		})
	}
}
