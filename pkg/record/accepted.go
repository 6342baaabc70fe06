package record

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
)

// AcceptedForms returns the accepted forms in a status. It skips entries about removed fields that the API server
// keeps, which are no forms of a desired value, and entries that cannot be decoded. The result is by object and path.
func AcceptedForms(status *v1alpha1.ApplicationStatus) map[manifest.ID]delta.Accepted {
	accepted := map[manifest.ID]delta.Accepted{}
	for _, a := range status.Accepted {
		// Without an accepted value, the API server dropped the field.
		form := delta.Form{Desired: decodeValue(&a.Desired), Accepted: decodeValue(a.Accepted)}
		// An entry with Kept contains the value that remains, in place of a written one.
		if !form.Desired.Set || a.Kept {
			continue
		}
		id := manifest.IDFromReference(a.Resource)
		if accepted[id] == nil {
			accepted[id] = delta.Accepted{}
		}
		accepted[id][a.Path] = form
	}
	return accepted
}

// AcceptedField returns an accepted form as the status has it. The form of a dropped value has no accepted value.
func AcceptedField(of v1alpha1.ResourceReference, path string, form delta.Form) v1alpha1.AcceptedField {
	return v1alpha1.AcceptedField{
		Resource: of, Path: path, Desired: manifest.EncodeRaw(form.Desired.Any), Accepted: EncodeValue(form.Accepted), Dropped: form.Dropped(),
	}
}
