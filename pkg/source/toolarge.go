package source

import (
	"cmp"

	"holdfast.dev/holdfast/internal/footprint"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// tooLarge returns the Problem of translated objects that are too many, too deep, or take too much memory, and nil
// otherwise. The limits are those of spec.manifest: see intent.TooLargeProblem. Listeners of hooks can add objects
// beyond the limits of package tosca.
func (m *Material) tooLarge(objects []map[string]any) *plan.Problem {
	problem := func(excess *footprint.Excess) *plan.Problem {
		return &plan.Problem{
			Reason: v1alpha1.ReasonTooLarge, Message: "the translation has " + excess.Error(),
			Remedy: v1alpha1.Remedy{Text: "Split it into several Applications"},
		}
	}
	if n := len(objects); n > v1alpha1.MaxItems {
		return problem(&footprint.Excess{Number: n, Limit: v1alpha1.MaxItems, Unit: "manifests"})
	}
	decoded, limit := 0, cmp.Or(m.MaxDecoded, intent.MaxDecoded)
	for _, object := range objects {
		size := footprint.Estimate(manifest.EncodeJSON(object))
		if size.Depth > footprint.MaxDepth {
			return problem(&footprint.Excess{Limit: footprint.MaxDepth, Unit: "nested levels"})
		}
		decoded += size.Bytes
	}
	if decoded > limit {
		return problem(&footprint.Excess{Number: (decoded-1)>>20 + 1, Limit: limit >> 20, Unit: "MiB of decoded manifests"})
	}
	return nil
}
