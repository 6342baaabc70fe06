package plan

import (
	"errors"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
)

// hooked are the listeners of a plan: the engine's own steps around those of its
// input. Whoever adds a step adds a listener.
func hooked(in Input) *hooks.Hooks {
	first, last := hooks.New(), hooks.New()
	first.ApplicationMangling.Listen("callbacks", in.Callback.Mangle)
	for _, point := range []*hooks.Point[*hooks.Seen]{
		&first.ResourcePostCreate, &first.ResourcePostUpdate, &first.ResourceObserved,
	} {
		point.Listen("learn", learn)
		point.Listen("observe", observe)
		point.Listen("services", hooks.Address)
		point.Listen("tokens", hooks.Tokens)
	}
	last.ApplicationMangling.Listen("generate", hooks.CheckGenerate)
	return first.And(in.Hooks).And(last)
}

// learn takes over the values of observed fields that are not known yet.
func learn(s *hooks.Seen) error {
	s.Entry.Learn(s.Type, s.Desired, s.Manifest, visibleOf(s.ID, s.Live))
	return nil
}

// observe projects the live object on its schema.
func observe(s *hooks.Seen) error {
	s.Observed = manifest.Redact(s.Entry.Project(s.Type, s.Desired, s.Live))
	return nil
}

// visibleOf is the part of an object that may be learned from: of a Secret,
// everything but its values.
func visibleOf(id manifest.ID, object map[string]any) map[string]any {
	if object == nil || !manifest.IsSecret(id.GroupKind()) {
		return object
	}
	return withoutSecrets(object)
}

// withdrawn is what hooks had added to an object under a user's schema and add no
// more. A default schema has it removed like all that the manifest has no longer.
func (p *Plan) withdrawn(res *resource) (fields []delta.Difference) {
	if res.entry.Default || res.previous == nil {
		return nil
	}
	for _, w := range hooks.Withdrawn(p.in.Application, res.object.ID, res.previous.desired, res.desired, res.live) {
		d := delta.Remove(w.Path, w.Value)
		d.HeldBack = p.in.Memory.refused(Leaf{res.object.ID, d.Path}, p.in.Now)
		fields = append(fields, d)
	}
	return fields
}

// see runs a point for a live object of a resource.
func (p *Plan) see(point *hooks.Point[*hooks.Seen], res *resource, live map[string]any) (*hooks.Seen, *Problem) {
	s := &hooks.Seen{
		Application: p.in.Application, ID: res.object.ID, Entry: res.entry, Type: res.kind,
		Desired: res.desired, Manifest: res.object.Content, Live: live,
	}
	if p.restored() {
		s.Manifest = nil // what was learned cannot be told from it
	}
	if err := point.Run(s); err != nil {
		return s, HookProblem(err)
	}
	return s, nil
}

// HookProblem is the Problem of a hook that has failed: it is tried again.
func HookProblem(err error) *Problem {
	problem := &Problem{Reason: v1alpha1.ReasonHookFailed, Message: err.Error()}
	var already *Problem
	if errors.As(err, &already) {
		problem = already
	}
	return problem
}
