package plan

import (
	"encoding/base64"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
)

// PendingCreates returns the value that the annotation holdfast.dev/creating of the Application needs
// before the plan is executed, and whether it has to be written. The value contains the identities of the
// objects that are about to be created or adopted, and their desired states.
//
// The annotation matters if the controller stops before the status has this information. Any client may
// write tracking metadata, so the controller cannot know whether an object is its own if the annotation
// does not name it. The next spec may have lost a field of a desired state, and then only this annotation
// shows that the controller has to remove the field.
//
// It costs no request, because the finalizer is written at the same time. The value only includes desired
// states with a default schema, because other fields are never removed. keep retains the objects that the
// annotation already names. An earlier process may have been about to create them when it stopped, and no
// watch may have delivered them yet; or the status that would have them could not be stored.
func (p *Plan) PendingCreates(keep bool) (value string, changed bool) {
	text := p.in.Application.Annotations[v1alpha1.AnnotationCreating]
	before := record.ReadPendingCreates(text)
	pending, needed := writeAhead{p}.newPendingCreates()
	if keep {
		pending = writeAhead{p}.mergePendingCreates(before, pending)
	}
	// A plan that writes none of these objects needs no request to change the annotation.
	if !needed || slices.Equal(pending.Objects, before.Objects) && observer.Equal(pending.States, before.States) {
		return text, false
	}
	value = pending.Pack(writeAhead{p}.room())
	return value, value != text
}

// mergePendingCreates returns the new value of the annotation with the objects that only the earlier value
// names. It keeps their states, because an object that appears later has the state with which it was about
// to be created.
func (p writeAhead) mergePendingCreates(before, pending record.PendingCreates) record.PendingCreates {
	// Named objects keep their new states, which newPendingCreates has merged with the earlier ones.
	there := sets.New(pending.Objects...)
	for _, name := range before.Objects {
		if !there.Has(name) {
			pending.Objects = append(pending.Objects, name)
		}
	}
	for _, state := range before.States {
		desired, _ := state.(map[string]any)
		id, ok := manifest.Identify(desired, p.in.Application.Namespace, p.in.Kinds)
		if name := record.Identity(id); ok && !there.Has(name) && slices.Contains(before.Objects, name) {
			pending.States = append(pending.States, state)
		}
	}
	return pending
}

// newPendingCreates returns the value of the annotation for this plan, and whether any object in it is
// about to be written.
func (p writeAhead) newPendingCreates() (pending record.PendingCreates, needed bool) {
	for _, res := range p.resources {
		if !res.policy.Creates || !p.unrecorded(p.statuses[res.object.ID]) {
			continue
		}
		// All unrecorded objects are named, not only those that are written now: the value replaces the earlier one.
		needed = needed || res.change.Writes()
		pending.Objects = append(pending.Objects, record.Identity(res.object.ID))
		if state := res.creating(); state != nil {
			pending.States = append(pending.States, state)
		}
	}
	for _, old := range p.pruned {
		// Its create may be in flight although the spec no longer has it.
		if old.status.UID == "" && old.policy.Creates {
			pending.Objects = append(pending.Objects, record.Identity(old.id))
		}
		if r := old.previous; r != nil && r.Created {
			pending.States = append(pending.States, r.Desired) // the object may appear again before it is deleted
		}
	}
	return pending, needed
}

// unnamed returns the resources that are about to be written, are not in the inventory, and do not fit into
// the annotation. The annotation then names none, so the inventory names all of them.
func (p writeAhead) unnamed() (unnamed []*resource) {
	pending, needed := p.newPendingCreates()
	length := 0
	for _, name := range pending.Objects {
		length += len(name) + len(`"",`)
	}
	// Compressing is avoided if the names fit uncompressed.
	if !needed || base64.StdEncoding.EncodedLen(length+1024) <= p.room() || (record.PendingCreates{Objects: pending.Objects}).Pack(p.room()) != "" {
		return nil
	}
	for _, res := range p.resources {
		if res.change.Writes() && p.in.Application.UID != "" && p.statuses[res.object.ID] == nil {
			unnamed = append(unnamed, res)
		}
	}
	return unnamed
}

// The annotation may have at most mostCreating bytes, and all annotations of an Application
// mostAnnotations: the limit of the API server, less some room for other clients. kubectl apply stores a
// copy of the whole Application in an annotation.
const (
	mostCreating    = 32 * 1024
	mostAnnotations = 256*1024 - 16*1024
)

// room returns the maximum length of the annotation in bytes.
func (p writeAhead) room() int {
	taken := 0
	for key, value := range p.in.Application.Annotations {
		if key != v1alpha1.AnnotationCreating {
			taken += len(key) + len(value)
		}
	}
	return min(mostCreating, mostAnnotations-taken)
}

// creating returns the desired state of a resource that is not in the status, merged with the state that
// the annotation already has. It returns nil if the Application has no fields to remove from the object.
func (res *resource) creating() map[string]any {
	switch {
	case !res.entry.FollowsManifest() || res.policy.Adopts():
		return nil
	case res.previous != nil && res.previous.Created:
		union, _ := mergeFields(res.kind, res.previous.Desired, res.stored()) // the object may exist although no watch has delivered it yet
		return union
	case res.change.Action == Create, res.live != nil:
		return res.stored()
	}
	return nil
}
