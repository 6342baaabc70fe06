package record

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Spare adds records to a status while they fit. These records are only needed if the spec changes before its
// changes are complete. Without its record, a dropped field or object is then not removed.
type Spare struct {
	// room is the number of bytes that are left, before compression.
	status *v1alpha1.ApplicationStatus
	room   int
}

// NewSpare returns the room that a status has left for records.
func NewSpare(status *v1alpha1.ApplicationStatus) *Spare {
	taken := v1alpha1.RawSize(status.MangledObserverSchema, status.LastAppliedManifest, status.LastObservedManifest)
	return &Spare{status: status, room: v1alpha1.MaxUnpacked - taken}
}

// Put replaces record i of the status, or appends the record if i is out of range. It does nothing if the
// record does not fit.
func (s *Spare) Put(i int, r *Record) {
	entry, desired := manifest.EncodeRaw(r.Entry.Raw()), manifest.EncodeRaw(r.Desired)
	atEnd := i >= len(s.status.LastAppliedManifest)
	more := len(entry.Raw) + len(desired.Raw) + len(",,")
	if !atEnd {
		more -= len(s.status.MangledObserverSchema[i].Raw) + len(s.status.LastAppliedManifest[i].Raw)
	}
	switch {
	case more > s.room:
		return
	case atEnd:
		s.status.MangledObserverSchema = append(s.status.MangledObserverSchema, entry)
		s.status.LastAppliedManifest = append(s.status.LastAppliedManifest, desired)
	default:
		s.status.MangledObserverSchema[i], s.status.LastAppliedManifest[i] = entry, desired
	}
	s.room -= more
}
