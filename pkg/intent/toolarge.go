package intent

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/footprint"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/slice"
)

// MaxDecoded is the memory that the manifests and schemas of an Application may take when they are decoded, in bytes.
const MaxDecoded = 128 << 20

var splitIt = v1alpha1.Remedy{Text: "Split it into several Applications"}

// TooLargeProblem returns a Problem for an Application whose manifests and schemas take more than maxDecoded bytes when
// they are decoded, or that has too many of them, or too deep ones. It returns nil otherwise. It decodes nothing, so
// code that decodes manifests must call it before. Source: docs/security.md, "Limits for one tenant".
func TooLargeProblem(app *v1alpha1.Application, maxDecoded int) *Problem {
	decoded := 0
	for _, list := range []struct {
		field string
		items []runtime.RawExtension
	}{{"spec.manifest", app.Spec.Manifest}, {"spec.observerSchema", app.Spec.ObserverSchema}} {
		if n := len(list.items); n > v1alpha1.MaxItems {
			return tooLarge(list.field+" has", &footprint.Excess{Number: n, Limit: v1alpha1.MaxItems, Unit: "elements"})
		}
		for i := range list.items {
			size := footprint.Estimate(list.items[i].Raw)
			if size.Depth > footprint.MaxDepth {
				problem := tooLarge(fmt.Sprintf("%s[%d] has", list.field, i), &footprint.Excess{Limit: footprint.MaxDepth, Unit: "nested levels"})
				problem.Remedy = v1alpha1.Remedy{Text: "Nest it less deeply"}
				return problem
			}
			decoded += size.Bytes
		}
	}
	if decoded > maxDecoded {
		return tooLarge("spec.manifest and spec.observerSchema need", &footprint.Excess{Number: (decoded-1)>>20 + 1, Limit: maxDecoded >> 20, Unit: "MiB of memory"})
	}
	return nil
}

// DecodedBytes returns the memory that the manifests and schemas of an Application take when they are decoded. With
// slices, it returns MaxDecoded, because their content is not known.
func DecodedBytes(app *v1alpha1.Application) (bytes int) {
	if len(app.Status.RecordSlices) > 0 || slice.InSpec(&app.Spec) {
		return MaxDecoded
	}
	for _, items := range [][]runtime.RawExtension{app.Spec.Manifest, app.Spec.ObserverSchema} {
		for i := range items {
			bytes += footprint.Estimate(items[i].Raw).Bytes
		}
	}
	return bytes
}

func tooLarge(what string, excess *footprint.Excess) *Problem {
	return &Problem{
		Reason:  v1alpha1.ReasonTooLarge,
		Message: fmt.Sprintf("%s %s: nothing is created, corrected or deleted", what, excess),
		Remedy:  splitIt,
	}
}
