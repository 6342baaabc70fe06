package reconcile_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/observer"
)

// mostRequests is the maximum number of requests to one object in one attempt.
const mostRequests = 32

// TestLawOfRequests checks how many requests it takes to correct n fields if the API server rejects k of
// them. The other fields are corrected in the same attempt.
func TestLawOfRequests(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		fields, refused := rapid.IntRange(1, 40).Draw(r, "fields"), rapid.IntRange(0, 4).Draw(r, "refused")
		spec, manifest, foreign := wide(r, fields, refused)
		o := newObject(t, r, spec)
		o.submit(manifest)
		o.settle()
		before := o.live()
		o.overwrite(foreign)
		drifted := len(spec.off(nil, manifest, before, o.live()))

		o.sent = nil
		o.attempt()
		o.note("after one attempt: %s", jsonOf(o.live()))
		most := min(mostRequests, math.Floor(float64(refused)*(2+math.Log2(float64(drifted)))+1))
		if sent := len(o.sent); float64(sent) > most || (refused == 0 && sent != 1) {
			o.tell("%d requests for %d drifted fields of which %d are refused, and %v would do: %v", sent, drifted, refused, most, o.sent)
		}
		o.checkIdentity(manifest, before)
		if refused == 0 && !observer.Equal(before, o.live()) {
			o.tell("it is not as before: %s", jsonOf(before))
		}
	})
}

// wide returns a kind with maps of texts and of numbers that can only grow. It also returns a manifest, and
// a spec of another client in which all values differ.
func wide(r *rapid.T, fields, refused int) (kind *part, manifest, foreign map[string]any) {
	kind = &part{name: "spec", shape: mapping}
	manifest, foreign = map[string]any{}, map[string]any{}
	var in *part
	add := func(p *part, was, is any) {
		if in == nil || rapid.IntRange(0, 2).Draw(r, "another map") == 0 {
			in = &part{name: fmt.Sprint("map", len(kind.units)), shape: mapping}
			kind.units = append(kind.units, &unit{parts: []*part{in}})
		}
		in.units = append(in.units, &unit{parts: []*part{p}})
		set(manifest, was, in.name, p.name)
		set(foreign, is, in.name, p.name)
	}
	order := make([]bool, fields+refused)
	for i := range refused {
		order[i] = true
	}
	for i, isRefused := range rapid.Permutation(order).Draw(r, "order") {
		if isRefused {
			blunt := rapid.Bool().Draw(r, "names spec")
			add(&part{name: fmt.Sprint("grows", i), shape: scalar, habit: grows, blunt: blunt}, int64(1), int64(2))
			continue
		}
		add(&part{name: fmt.Sprint("text", i), shape: scalar}, "ours", "theirs")
	}
	return kind, manifest, foreign
}
