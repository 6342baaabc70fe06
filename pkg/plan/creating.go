package plan

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"sync"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

// Creating is what the annotation holdfast.dev/creating of the Application has to
// be before the plan is executed, and whether it has to be written: the desired
// states of what is about to be created. Should we die before they are in the
// status, the next spec may have lost a field of them, and nobody else would know
// that it is ours to remove.
//
// It costs no request: the finalizer is written at the same time. Only what has a
// default schema is in it, since nothing else is ever removed.
func (p *Plan) Creating() (value string, changed bool) {
	var states []any
	needed := false
	for _, res := range p.resources {
		if !p.unrecorded(p.statuses[res.object.ID]) {
			continue
		}
		needed = needed || res.change.Writes()
		if state := res.creating(); state != nil {
			states = append(states, state)
		}
	}
	for _, l := range p.leaving {
		if r := l.previous; r != nil && r.created {
			states = append(states, r.desired) // it may be back before it is deleted
		}
	}
	before := p.in.Application.Annotations[v1alpha1.AnnotationCreating]
	if !needed || observer.Equal(states, unpack(before)) {
		return before, false
	}
	value = pack(states, p.room())
	return value, value != before
}

// The annotation may be so long, as long as all annotations of an Application are no
// longer than an API server takes, with some room for others. kubectl apply keeps a
// copy of the whole Application among them.
const (
	mostCreating    = 32 * 1024
	mostAnnotations = 256*1024 - 16*1024
)

// room is how long the annotation may be.
func (p *Plan) room() int {
	taken := 0
	for key, value := range p.in.Application.Annotations {
		if key != v1alpha1.AnnotationCreating {
			taken += len(key) + len(value)
		}
	}
	return min(mostCreating, mostAnnotations-taken)
}

// creating is the desired state of a resource that is not on record, with what it
// was given before; nil if nothing of it is ours.
func (res *resource) creating() map[string]any {
	switch {
	case !res.entry.Default || res.adopting:
		return nil
	case res.previous != nil && res.previous.created:
		union, _ := unitedFields(res.kind, res.previous.desired, res.stored()) // the object may be there though no watch has it yet
		return union
	case res.change.Action == Create, res.live != nil:
		return res.stored()
	}
	return nil
}

// gzipWriters are kept: each has most of a MiB.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// pack is a list of states as text: JSON, compressed. Of what is too long for the
// room the last states are left out.
func pack(states []any, room int) string {
	for n := len(states); n > 0; n /= 2 {
		raw, err := json.Marshal(states[:n])
		if err != nil {
			return ""
		}
		var b bytes.Buffer
		w := gzipWriters.Get().(*gzip.Writer)
		w.Reset(&b)
		_, _ = w.Write(raw) // a buffer takes everything
		_ = w.Close()
		gzipWriters.Put(w)
		if base64.StdEncoding.EncodedLen(b.Len()) <= room {
			return base64.StdEncoding.EncodeToString(b.Bytes())
		}
	}
	return ""
}
