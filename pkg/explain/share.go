package explain

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/internal/truncate"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/record"
)

// claimsAt returns the other Applications that hold fields of a live object, by the JSON pointer of the
// field. The values are namespace/name. It omits claims on the whole object, and on fields that do not exist.
func claimsAt(app *v1alpha1.Application, kind *kinds.Node, live map[string]any) map[string]string {
	claims := map[string]string{}
	for _, c := range claim.List(app, live) {
		if at, ok := delta.Locate(kind, live, c.Path); ok && c.Path != "" {
			claims[at.Path.Pointer()] = c.Holder
		}
	}
	return claims
}

// claim sets the holder of a field that another Application holds. The field is free in this Application,
// or this Application has a pending claim on it.
func (e *explainer) claim(f *Field) {
	if e.schema == nil {
		return
	}
	// Leaves that this Application desires are decided. Free fields are looked up in the annotation.
	i := slices.IndexFunc(e.decided.Claimed, func(c claim.Claim) bool { return observer.IsUnder(f.Path, c.Path) })
	switch {
	case i >= 0:
		f.Holder = e.decided.Claimed[i].Holder
	case f.State == Free:
		// The claim on the field itself, or else the nearest one above it.
		for at := f.livePath.Pointer(); at != "" && f.Holder == ""; at = at[:strings.LastIndexByte(at, '/')] {
			f.Holder = e.claims[at]
		}
	}
	if f.Holder != "" {
		f.State = Claimed
	}
}

// onRelease describes what happens to a held field when it is released and the object is kept. If the field
// cannot be restored, unrestorable is the reason. Both are "" if the Application does not hold the field. They are
// also "" if no original values of the object, or not yet that of the field, are recorded.
func (e *explainer) onRelease(f Field) (text, unrestorable string) {
	in := e.decided
	if e.live == nil || observer.IsKey(f.Path) || !slices.ContainsFunc(in.Leaves, func(leaf string) bool { return observer.IsUnder(f.Path, leaf) }) {
		return "", ""
	}
	const stays = "on release, the live value is kept: "
	i := slices.IndexFunc(in.Baseline, func(b v1alpha1.BaselineField) bool { return observer.IsUnder(f.Path, b.Path) })
	switch {
	case !in.Restores:
		return stays + "spec.onRelease is Leave", ""
	case plan.IsSecretPath(e.id, f.Path):
		unrestorable = "values of Secrets are never recorded"
	case slices.ContainsFunc(in.Unrecorded, func(path string) bool { return observer.IsUnder(f.Path, path) }):
		unrestorable = "its original value was too large to record"
	case i < 0 && f.Drift != "":
		return "", "" // the first correction records the live value as its baseline
	case i < 0:
		unrestorable = "no original value is recorded"
	case in.Baseline[i].Value == nil:
		return "on release, it is removed: it had no original value", ""
	default:
		return "on release, it becomes " + truncate.String(string(manifest.EncodeJSON(record.Original(in.Baseline[i]).Any)), 200) + " again" + writtenBy(in.Baseline[i].Manager), ""
	}
	return stays + unrestorable, unrestorable
}

// writtenBy returns the clause about the client that wrote an original value, or "" if it is not known.
func writtenBy(manager string) string {
	if manager == "" {
		return ""
	}
	return ", which " + manager + " had written"
}
