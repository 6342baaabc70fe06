package plan

import (
	"bytes"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// withoutRespelling returns the next status, or the previous one if they differ only in how leaves are written.
// Earlier versions of Holdfast wrote leaves as null. An upgrade does not write a status only for that.
func withoutRespelling(before, next v1alpha1.ApplicationStatus) v1alpha1.ApplicationStatus {
	if !slices.ContainsFunc(before.MangledObserverSchema, hasNulls) {
		return next
	}
	respelled, plain := *before.DeepCopy(), *next.DeepCopy()
	for i, item := range respelled.MangledObserverSchema {
		entry, err := decode(item)
		if err != nil {
			return next
		}
		respelled.MangledObserverSchema[i] = encode(observer.Spelled(entry))
	}
	for i := range plain.Resources {
		plain.Resources[i].NullLeaves = nil
	}
	if manifest.SameJSON(encode(respelled).Raw, encode(plain).Raw) {
		return *before.DeepCopy()
	}
	return next
}

func hasNulls(item runtime.RawExtension) bool { return bytes.Contains(item.Raw, []byte("null")) }
