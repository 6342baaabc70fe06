package plan

import (
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

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
	for _, point := range []*hooks.Point[*hooks.ObjectEvent]{
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
func learn(s *hooks.ObjectEvent) error {
	s.Entry.Learn(s.Type, s.Desired, s.Manifest, visibleOf(s.ID, s.Live))
	return nil
}

// observe projects the live object on its schema.
func observe(s *hooks.ObjectEvent) error {
	observed := s.Entry.Project(s.Type, s.Desired, s.Live)
	if manifest.HasManifests(s.Entry.ID.GroupKind()) {
		observed = withManifests(observed, maskedPart)
	}
	s.Observed = manifest.RedactNested(observed)
	return nil
}

// maskedPart is what is observed of a manifest of an Application. If it does not say of
// what kind it is, it may be a Secret.
func maskedPart(item map[string]any) map[string]any {
	if _, known := item["kind"].(string); known {
		return item
	}
	masked := maps.Clone(item)
	for field := range item {
		if manifest.SecretField(field) {
			masked[field] = manifest.Masked
		}
	}
	return masked
}

// visibleOf is the part of an object that may be learned from: of a Secret,
// everything but its values, also if it is among the manifests of an Application.
func visibleOf(id manifest.ID, object map[string]any) map[string]any {
	switch {
	case object == nil:
		return nil
	case manifest.IsSecret(id.GroupKind()):
		return withoutSecrets(object)
	case manifest.HasManifests(id.GroupKind()):
		return withManifests(object, visiblePart)
	}
	return object
}

// visiblePart is the part of a manifest of an Application that may be learned from.
func visiblePart(item map[string]any) map[string]any {
	gv, _ := schema.ParseGroupVersion(text(item, "apiVersion"))
	return visibleOf(manifest.ID{Group: gv.Group, Kind: text(item, "kind")}, item)
}

// withManifests is an Application with its manifests replaced. It is not changed, and what
// is the same is shared with it.
func withManifests(object map[string]any, replaced func(map[string]any) map[string]any) map[string]any {
	spec, _ := object["spec"].(map[string]any)
	list, _ := spec["manifest"].([]any)
	if len(list) == 0 {
		return object
	}
	object, spec, list = maps.Clone(object), maps.Clone(spec), slices.Clone(list)
	for i, item := range list {
		if item, is := item.(map[string]any); is {
			list[i] = replaced(item)
		}
	}
	spec["manifest"], object["spec"] = list, spec
	return object
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
func (p *Plan) see(point *hooks.Point[*hooks.ObjectEvent], res *resource, live map[string]any) (*hooks.ObjectEvent, *Problem) {
	s := &hooks.ObjectEvent{
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
