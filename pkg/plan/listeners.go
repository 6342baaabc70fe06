package plan

import (
	"errors"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
)

// hooked returns the hooks of a plan: the engine's own steps around those of its input. To add a step, add
// a listener here. The order is:
//
//	spec           callbacks, the listeners of the input, generate
//	live object    learn, observe, services, tokens, the listeners of the input
func hooked(in Input) *hooks.Hooks {
	// The listeners of the input run between the two, so that they get the learned values.
	first, last := hooks.New(), hooks.New()
	first.ApplicationMangling.Listen("callbacks", in.Callback.Mangle)
	for _, point := range []*hooks.Point[*hooks.ObjectEvent]{
		&first.ResourcePostCreate, &first.ResourcePostUpdate, &first.ResourceObserved,
	} {
		// learn is first, because the others read the desired state.
		point.Listen("learn", learn)
		point.Listen("observe", observe)
		point.Listen("services", hooks.Address)
		point.Listen("tokens", hooks.Tokens)
	}
	last.ApplicationMangling.Listen("generate", hooks.CheckGenerate)
	return first.And(in.Hooks).And(last)
}

// learn learns the values of observed fields that have no desired value yet. It changes s.Desired.
func learn(s *hooks.ObjectEvent) error {
	s.Entry.Learn(s.Type, s.Desired, s.Manifest, visibleOf(s.ID, withoutClaims(s)))
	return nil
}

// withoutClaims returns the live object without the fields that other Applications hold and without their tracking
// metadata, if the Application owns the object. Otherwise, the owner would restore them when they are released.
func withoutClaims(s *hooks.ObjectEvent) map[string]any {
	app := s.Application
	if !claim.IsTrackedBy(app, s.ID, s.Live) || !claim.IsHeldByOthers(app, s.Live) {
		return s.Live
	}
	var paths []string
	for _, mark := range claim.SharedTrackingKeys {
		paths = append(paths, mark.Path())
	}
	for _, c := range claim.List(app, s.Live) {
		paths = append(paths, c.Path)
	}
	return delta.WithoutClaimed(s.Type, s.Live, pointersTo(s.Type, s.Live, paths))
}

// observe projects the live object onto its schema, as lastObservedManifest has it: without values of Secrets.
func observe(s *hooks.ObjectEvent) error {
	observed := s.Entry.Project(s.Type, s.Desired, s.Live)
	if manifest.HasManifests(s.Entry.ID.GroupKind()) {
		s.Observed = manifest.RedactPart(observed) // its schema need not observe the kinds of manifests
	} else {
		s.Observed = manifest.RedactNested(observed)
	}
	return nil
}

// visibleOf returns the part of an object from which values may be learned: everything but the values of
// Secrets, also of those among the manifests of an Application. It does not change the object. The result may be the
// object itself, or share values with it.
func visibleOf(id manifest.ID, object map[string]any) map[string]any {
	switch {
	case object == nil:
		return nil
	case manifest.IsSecret(id.GroupKind()):
		return withoutSecrets(object)
	case manifest.HasManifests(id.GroupKind()):
		return withoutLastApplied(manifest.MapManifests(object, visiblePart))
	}
	return object
}

// visiblePart returns the part of a manifest of an Application from which values may be learned. Like
// manifest.RedactNested, it also looks into lists.
func visiblePart(item map[string]any) map[string]any {
	gv, _ := schema.ParseGroupVersion(manifest.NestedString(item, "apiVersion"))
	kind := manifest.NestedString(item, "kind")
	items, is := item["items"].([]any)
	if !is || !strings.HasSuffix(kind, "List") {
		return visibleOf(manifest.ID{Group: gv.Group, Kind: kind}, item)
	}
	visible := maps.Clone(item)
	if delete(visible, "items"); kind != "SecretList" {
		visible["items"] = manifest.MapList(items, visiblePart)
	}
	return visible
}

// withdrawn returns the removals of fields that hooks once added to an object with a user's schema and no
// longer add. They precede other corrections: see correct. With a default schema, they are removed like all
// other fields that the manifest no longer has.
func (p decider) withdrawn(res *resource) (fields []delta.Difference) {
	if res.entry.FollowsManifest() || res.previous == nil {
		return nil
	}
	for _, w := range hooks.Withdrawn(p.in.Application, res.object.ID, res.previous.Desired, res.desired, res.live) {
		d := delta.Remove(w.Path, w.Value)
		// A removal does not back off, so a contest has no effect.
		d.HeldBack = p.in.Memory.refused(Leaf{res.object.ID, d.Path}, p.in.Now)
		fields = append(fields, d)
	}
	return fields
}

// see runs a hook point for the live object of a resource. The hooks may add values to res.desired. If one fails, the
// event contains the results of the earlier ones.
func (p decider) see(point *hooks.Point[*hooks.ObjectEvent], res *resource, live map[string]any) (*hooks.ObjectEvent, *Problem) {
	s := &hooks.ObjectEvent{
		Application: p.in.Application, ID: res.object.ID, Entry: res.entry, Type: res.kind,
		Desired: res.desired, Manifest: res.object.Content, Live: live,
	}
	if p.restored() {
		s.Manifest = nil // the restored manifest also has learned values
	}
	if err := point.Run(s); err != nil {
		return s, HookProblem(err)
	}
	return s, nil
}

// HookProblem returns the Problem of a failed hook, which is retried. A hook can return a *Problem as its error, with
// a reason and retry policy of its own.
func HookProblem(err error) *Problem {
	if problem, ok := errors.AsType[*Problem](err); ok {
		return problem
	}
	return &Problem{Reason: v1alpha1.ReasonHookFailed, Message: intent.Summary(err)}
}
