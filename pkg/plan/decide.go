package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Decide says what to do about an Application. For each desired resource:
//
//	live object                        action
//	none                               create
//	ours, nothing drifted              unchanged
//	ours, drifted                      update
//	ours, being deleted                unchanged, until it is gone
//	not ours, may be adopted           update
//	not ours                           unchanged, with a Problem
//
// and for each resource on record, or with our marks, that is not desired:
//
//	ours                               delete
//	none, or not ours any more         forgotten
//
// Decide writes nothing and changes nothing of its input but the memory it is
// given, from which it drops nothing.
func Decide(in Input) *Plan {
	if in.Rules == (Rules{}) {
		in.Rules = DefaultRules
	}
	p := &Plan{in: in, hooks: hooked(in)}
	p.unmask()
	r, problem := p.render()
	if problem != nil {
		p.Refused = problem
		return p
	}
	p.Warnings = r.warnings
	records, inventory := recordsOf(in)
	if p.Refused = nullsLost(r, records); p.Refused != nil {
		return p
	}
	accepted := acceptedOf(in)
	p.statuses = statusByID(inventory)
	if p.mayHaveCreated(r.objects) {
		addCreated(records, in)
	}
	desired := make(map[manifest.ID]bool, len(r.objects))
	for i, object := range r.objects {
		desired[object.ID] = true
		res := &resource{
			object: object, entry: r.entries[i], kind: in.Kinds.Type(object.GVK()),
			previous: records[object.ID], accepted: accepted[object.ID],
		}
		p.decide(res, p.statuses[object.ID])
		p.resources = append(p.resources, res)
	}
	if p.Refused = tooLarge(p); p.Refused != nil {
		p.resources = nil
		return p
	}
	if !p.restored() { // it may know too little
		p.leave(inventory, desired, records)
	}
	p.order()
	return p
}

// mayHaveCreated tells whether anything is, or may be, there that is not on record.
func (p *Plan) mayHaveCreated(objects []manifest.Object) bool {
	for id := range p.in.Live {
		if p.unrecorded(p.statuses[id]) {
			return true
		}
	}
	return slices.ContainsFunc(objects, func(o manifest.Object) bool { return p.unrecorded(p.statuses[o.ID]) })
}

func statusByID(inventory []v1alpha1.ResourceStatus) map[manifest.ID]*v1alpha1.ResourceStatus {
	byID := make(map[manifest.ID]*v1alpha1.ResourceStatus, len(inventory))
	for i := range inventory {
		byID[IDOf(inventory[i].ResourceReference)] = &inventory[i]
	}
	return byID
}

// decide fills in one desired resource.
func (p *Plan) decide(res *resource, status *v1alpha1.ResourceStatus) {
	id := res.object.ID
	res.change = Change{Action: Unchanged, ID: id, APIVersion: res.object.APIVersion}
	res.compared = delta.Comparison{}
	live := p.in.Live[id]
	ours := live != nil && mine(p.in.Application, id, status, live)
	res.desire(ours)
	switch {
	case live == nil:
		res.problem = p.in.Blocked[id]
	case !ours:
		res.problem = adoptable(p.in.Application, id, live)
		res.adopting = res.problem == nil
	}
	res.problem = cmp.Or(res.problem, p.waitsForSource(id))
	switch {
	case res.problem != nil:
	case live == nil:
		p.create(res)
	case text(live, "metadata", "deletionTimestamp") != "":
		res.live = live
		res.problem = p.terminating(id, live)
	default:
		res.live = live
		res.change.UID = text(live, "metadata", "uid")
		res.change.ResourceVersion = text(live, "metadata", "resourceVersion")
		if res.seen, res.problem = p.see(&p.hooks.ResourceObserved, res, live); res.problem != nil {
			break
		}
		if !res.adopting && p.unrecorded(status) {
			res.takeSurplus(live)
		}
		p.correct(res)
		if blocked := p.in.Blocked[id]; blocked != nil {
			res.problem = blocked
			res.change.Action, res.change.Guards, res.change.Patch, res.change.ReadFirst = Unchanged, nil, nil, false
		}
	}
	res.change.Problem = res.problem
}

// unrecorded tells whether an object that carries our marks is not on record: we
// died, or lost the answer, between its create and the status. What is in it
// then is taken for the response to the create, as far as lengths go.
func (p *Plan) unrecorded(status *v1alpha1.ResourceStatus) bool {
	return p.in.Application.UID != "" && (status == nil || status.UID == "")
}

// takeSurplus takes what the API server has added to the lists of an object for its
// response to our create: to what we wrote then, as far as that is known.
func (res *resource) takeSurplus(live map[string]any) {
	r := res.previous
	if r == nil || !r.created {
		res.entry.RaiseSurplus(res.kind, res.desired, live)
		return
	}
	r.entry.FindSurplus(res.kind, r.desired, live)
	res.entry.KeepSurplus(res.kind, res.desired, r.entry, r.desired)
}

// desire computes the desired state from the manifest and the record. What was written
// down before an object was created counts only if that object is there.
func (res *resource) desire(exists bool) {
	var previous map[string]any
	if r := res.previous; r != nil && (exists || !r.created) {
		previous = r.desired
		res.entry.KeepSurplus(res.kind, res.object.Content, r.entry, previous)
	}
	res.desired = res.entry.Desired(res.kind, res.object.Content, visibleOf(res.object.ID, previous))
}

func (p *Plan) create(res *resource) {
	app := p.in.Application
	res.change.Action = Create
	_, res.change.Manifest = withMarks(app, res.entry, res.desired)
	if !observer.Equal(res.desired, res.object.Content) {
		_, res.change.Fallback = withMarks(app, res.entry, res.object.Content)
	}
}

func (p *Plan) correct(res *resource) {
	res.compared = p.compare(res, res.live)
	withdrawn := delta.Comparison{Differences: p.withdrawn(res)}
	if withdrawn.Correctable() {
		res.compared.Differences = nil // the others are for the next patch
	}
	res.compared.Differences = append(res.compared.Differences, withdrawn.Differences...)
	for _, w := range res.compared.Warnings {
		if w = res.object.ID.String() + ": " + w; !slices.Contains(p.Warnings, w) {
			p.Warnings = append(p.Warnings, w)
		}
	}
	res.change.Fields = res.compared.Differences
	res.problem = p.leftOver(res.object.ID, res.compared)
	res.change.ReadFirst = res.compared.Unsure
	if res.adopting && p.lacksMarks(res) {
		return
	}
	if res.compared.Correctable() {
		res.change.Action = Update
		res.change.Guards, res.change.Patch = res.compared.Patch(res.change.UID, res.change.ResourceVersion)
		res.change.Guards = append(res.change.Guards, p.ownership(res)...)
		res.change.ReadFirst = res.compared.Unsure || p.namesFighter(res)
	}
}

// namesFighter tells whether a leaf is, or is about to be, contested while the
// object at hand does not say who wrote it.
func (p *Plan) namesFighter(res *resource) bool {
	for _, d := range res.compared.Differences {
		if d.HeldBack || !p.in.Memory.nearlyContested(Leaf{res.object.ID, d.Path}, p.in.Rules) {
			continue
		}
		if manager, _ := LastWriter(res.live, d.Place()); manager == "" {
			return true
		}
	}
	return false
}

// compare compares the desired state, our marks included, with an object.
func (p *Plan) compare(res *resource, live map[string]any) delta.Comparison {
	entry, desired := withMarks(p.in.Application, res.entry, res.desired)
	in := delta.Input{
		Entry: entry, Type: res.kind, Desired: desired, Manifest: desired, Live: live,
		Accepted: res.accepted,
		HeldBack: func(path string, reason delta.Reason) bool {
			leaf := Leaf{res.object.ID, path}
			if reason == delta.Removed { // who gives a field up does not fight for it
				return p.in.Memory.refused(leaf, p.in.Now)
			}
			return p.in.Memory.HeldBack(leaf, p.in.Now)
		},
		Foreign: foreignTo(live),
	}
	if !res.entry.Default {
		in.Manifest = res.object.Content
		if p.restored() {
			in.Manifest = nil // what was learned cannot be told from it: it may come and go
		}
	}
	if r := res.previous; r != nil {
		in.Previous = r.desired
		in.Prune = res.entry.Default && r.entry != nil && r.entry.Default && p.wasApplied(res)
	}
	return delta.Compare(in)
}

// wasApplied tells whether what is on record was ever written to this object: a
// create that was refused leaves a record, too, and so does an object that
// turned out to be somebody else's.
func (p *Plan) wasApplied(res *resource) bool {
	if p.in.Application.UID == "" {
		return true
	}
	r := res.previous
	return !res.adopting && (r.created || r.status != nil && r.status.UID != "")
}

// terminating is the Problem of an object that somebody deletes.
func (p *Plan) terminating(id manifest.ID, live map[string]any) *Problem {
	message := id.String() + " is being deleted"
	if finalizers := finalizersOf(live); len(finalizers) > 0 {
		message += ", held by the finalizers " + strings.Join(finalizers, ", ")
	}
	problem := &Problem{Reason: v1alpha1.ReasonWaiting, Message: message}
	if text(live, "metadata", "labels", v1alpha1.LabelApplicationUID) != string(p.in.Application.UID) {
		problem.RetryAfter = lookAgain // no watch tells that it is gone
	}
	return problem
}

// lookAgain is when to look at an object again that is in no watch.
const lookAgain = 10 * time.Second

func finalizersOf(live map[string]any) []string {
	metadata, _ := live["metadata"].(map[string]any)
	list, _ := metadata["finalizers"].([]any)
	var names []string
	for _, f := range list {
		if s, ok := f.(string); ok {
			names = append(names, s)
		}
	}
	return names
}
