package plan

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

// PendingCreates is what the annotation holdfast.dev/creating of the Application has to
// be before the plan is executed, and whether it has to be written: the identities of
// what is about to be created or adopted, and its desired states. Should we die before
// that is in the status, whatever has our marks and is not named here is not known to be
// ours, for anybody may write a mark; and the next spec may have lost a field of a state,
// and nobody else would know that it is ours to remove.
//
// It costs no request: the finalizer is written at the same time. Of the states only
// those with a default schema are in it, since nothing else is ever removed. keep leaves
// what is named already: of what a process before us was about to create when it died,
// nothing may be seen yet; and a status that could not be stored is none.
func (p *Plan) PendingCreates(keep bool) (value string, changed bool) {
	before := p.in.Application.Annotations[v1alpha1.AnnotationCreating]
	said := unpack(before)
	says, needed := p.newPendingCreates()
	if keep {
		says = p.mergePendingCreates(said, says)
	}
	if !needed || slices.Equal(says.Objects, said.Objects) && observer.Equal(says.States, said.States) {
		return before, false
	}
	value = says.pack(p.room())
	return value, value != before
}

// mergePendingCreates is what an announcement says, and what one before it said of other objects: one
// that comes back is in its state when it was about to be created.
func (p *Plan) mergePendingCreates(said, says pendingCreates) pendingCreates {
	there := sets.New(says.Objects...)
	for _, name := range said.Objects {
		if !there.Has(name) {
			says.Objects = append(says.Objects, name)
		}
	}
	for _, state := range said.States {
		desired, _ := state.(map[string]any)
		id, ok := Identify(desired, p.in.Application.Namespace, p.in.Kinds)
		if name := nameOf(id); ok && !there.Has(name) && slices.Contains(said.Objects, name) {
			says.States = append(says.States, state)
		}
	}
	return says
}

// newPendingCreates is what the annotation says of this plan, and whether anything of that is
// about to be written.
func (p *Plan) newPendingCreates() (says pendingCreates, needed bool) {
	for _, res := range p.resources {
		if !res.policy.creates || !p.unrecorded(p.statuses[res.object.ID]) {
			continue
		}
		needed = needed || res.change.Writes()
		says.Objects = append(says.Objects, nameOf(res.object.ID))
		if state := res.creating(); state != nil {
			says.States = append(says.States, state)
		}
	}
	for _, old := range p.pruned {
		if old.status.UID == "" && old.policy.creates {
			says.Objects = append(says.Objects, nameOf(old.id))
		}
		if r := old.previous; r != nil && r.created {
			says.States = append(says.States, r.desired) // it may be back before it is deleted
		}
	}
	return says, needed
}

// unnamed are the objects that are about to be written, are in no inventory, and are
// too many for the annotation.
func (p *Plan) unnamed() (unnamed []*resource) {
	says, needed := p.newPendingCreates()
	length := 0
	for _, name := range says.Objects {
		length += len(name) + len(`"",`)
	}
	if !needed || base64.StdEncoding.EncodedLen(length+1024) <= p.room() || (pendingCreates{Objects: says.Objects}).pack(p.room()) != "" {
		return nil
	}
	for _, res := range p.resources {
		if res.change.Writes() && p.in.Application.UID != "" && p.statuses[res.object.ID] == nil {
			unnamed = append(unnamed, res)
		}
	}
	return unnamed
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
	case !res.entry.Default || res.policy.adopts():
		return nil
	case res.previous != nil && res.previous.created:
		union, _ := mergeFields(res.kind, res.previous.desired, res.stored()) // the object may be there though no watch has it yet
		return union
	case res.change.Action == Create, res.live != nil:
		return res.stored()
	}
	return nil
}

// gzipWriters are kept: each has most of a MiB.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// pack is an announcement as text: JSON, compressed. The last states are left out as long
// as it is too long for the room; without any state left, it is all or nothing.
func (a pendingCreates) pack(room int) string {
	for {
		raw, err := json.Marshal(a)
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
		if len(a.States) == 0 {
			return ""
		}
		a.States = a.States[:len(a.States)/2]
	}
}
