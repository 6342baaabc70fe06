package intent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/expression"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Profiles are the HoldProfiles of the cluster, and the data that their rules need.
// Source: docs/profiles.md.
type Profiles struct {
	// All contains the valid profiles, in the order of their names.
	All []*Profile
	// Autoscaled lists the objects that an autoscaler targets, with its name. It does not need the targets of
	// autoscalers in the manifests of the Application. A nil map has none.
	Autoscaled map[manifest.ID]string
}

// Profile is a parsed HoldProfile. It is never modified. It is parsed once, when the HoldProfile changes, and used by
// all Applications.
type Profile struct {
	Name  string
	rules []profileRule
	// unknown lists what this version does not know of the profile. The profile then prevents every write for
	// the objects that it may concern.
	unknown []string
}

// profileRule is a parsed rule. It applies to an object if the kind, match and autoscaled all agree.
type profileRule struct {
	kinds []v1alpha1.KindSelector
	// match is a CEL rule over the manifest; "" matches every object.
	match      string
	autoscaled bool // the rule applies only to objects that an autoscaler targets
	// paths are the valid paths of hold, and then those of free.
	paths  []observer.ProfilePath
	places []string // of the paths in the rule, for messages
}

// autoscalerKind is the kind of the autoscalers, which write replicas.
var autoscalerKind = schema.GroupKind{Group: "autoscaling", Kind: string(v1alpha1.TargetingAutoscaler)}

// ReadProfile parses a HoldProfile and returns its validation errors. It never returns a nil profile. A profile with
// unknown fields has no errors, because NotSupported reports it. A profile with errors is not used: the controller
// reports the errors in its status.
func ReadProfile(from *v1alpha1.HoldProfile) (p *Profile, faults []error) {
	p = &Profile{Name: from.Name, unknown: from.Unknown}
	for i, rule := range from.Spec.Rules {
		r := profileRule{kinds: rule.Kinds, match: rule.Match, autoscaled: rule.WhileTargetedBy == v1alpha1.TargetingAutoscaler}
		fault := func(field, format string, args ...any) {
			faults = append(faults, fmt.Errorf("spec.rules[%d].%s: "+format, slices.Concat([]any{i, field}, args)...))
		}
		if rule.Match != "" {
			if err := expression.CheckRule(rule.Match); err != nil {
				fault("match", "%w", err)
			}
		}
		if !r.autoscaled && rule.WhileTargetedBy != "" {
			fault("whileTargetedBy", "must be %s, not %q", v1alpha1.TargetingAutoscaler, rule.WhileTargetedBy)
		}
		if len(rule.Kinds) == 0 || len(rule.Free)+len(rule.Hold) == 0 {
			fault("kinds", "a rule needs kinds, and fields in free, in hold, or in both")
		}
		read := func(list string, texts []string) {
			for k, text := range texts {
				path, err := observer.ParseFieldPath(text)
				if err == nil {
					err = path.CheckProfilePath()
				}
				if err != nil {
					fault(fmt.Sprintf("%s[%d]", list, k), "%w", err)
					continue
				}
				r.places = append(r.places, fmt.Sprintf("%s[%d]", list, k))
				r.paths = append(r.paths, observer.ProfilePath{Path: path, Free: list == "free", Profile: from.Name})
			}
		}
		read("hold", rule.Hold)
		read("free", rule.Free)
		p.rules = append(p.rules, r)
	}
	if len(p.unknown) > 0 {
		return p, nil // the errors may follow from the unknown fields
	}
	return p, faults
}

// NotSupported returns the Problem of a profile with fields or values that this version does not know, and nil
// otherwise. The API types record unknown fields when they decode the HoldProfile.
func (p *Profile) NotSupported() *Problem {
	if len(p.unknown) == 0 {
		return nil
	}
	return unsupportedProblem("HoldProfile "+p.Name+": ", p.unknown)
}

// Concerns reports whether the profile has a rule for a kind. An unknown field outside of the rules may concern any
// kind. If it returns true for a profile that is not supported, nothing is written to objects of the kind.
func (p *Profile) Concerns(kind schema.GroupKind) bool {
	return slices.ContainsFunc(p.unknown, func(path string) bool { return !strings.HasPrefix(path, "spec.rules[") }) || slices.ContainsFunc(p.rules, func(r profileRule) bool { return r.isFor(kind) })
}

// AsksForAutoscalers reports whether the profile has a rule that depends on the targets of autoscalers. The controller
// watches HorizontalPodAutoscalers only if a profile needs them.
func (p *Profile) AsksForAutoscalers() bool {
	return slices.ContainsFunc(p.rules, func(r profileRule) bool { return r.autoscaled })
}

// AsksForAutoscalersOf reports whether the profile has such a rule for a kind.
func (p *Profile) AsksForAutoscalersOf(kind schema.GroupKind) bool {
	return slices.ContainsFunc(p.rules, func(r profileRule) bool { return r.autoscaled && r.isFor(kind) })
}

// isFor reports whether the rule applies to objects of a kind, in any version.
func (r profileRule) isFor(kind schema.GroupKind) bool {
	return slices.ContainsFunc(r.kinds, func(s v1alpha1.KindSelector) bool { return selects(s, kind) })
}

// selects reports whether a selector matches a kind. Kind and group can be patterns.
//
//	selector                        kinds
//	{kind: Deployment}              Deployment in any group
//	{group: apps, kind: "*"}        all kinds of apps
//	{group: "", kind: Service}      the Service of the core group
//	{group: "*.io", kind: "*"}      all kinds of groups that end in .io
func selects(s v1alpha1.KindSelector, kind schema.GroupKind) bool {
	return observer.MatchesPattern(s.Kind, kind.Kind) && selectsGroup(s, kind.Group)
}

// selectsGroup reports whether a selector matches a group. Without a group, it matches all; an empty group is the
// core group.
func selectsGroup(s v1alpha1.KindSelector, group string) bool {
	return s.Group == nil || observer.MatchesPattern(*s.Group, group)
}

// AutoscalerTarget returns the object that a HorizontalPodAutoscaler targets. It returns false if the autoscaler has no
// valid target, and for objects of other kinds. The target is in the namespace of the autoscaler, which a manifest can
// leave out: the caller then sets it.
func AutoscalerTarget(object map[string]any) (target manifest.ID, ok bool) {
	ref := manifest.NestedMap(object, "spec", "scaleTargetRef")
	gv, err := schema.ParseGroupVersion(manifest.NestedString(ref, "apiVersion"))
	of, wrong := schema.ParseGroupVersion(manifest.NestedString(object, "apiVersion"))
	target = manifest.ID{Group: gv.Group, Kind: manifest.NestedString(ref, "kind"), Namespace: manifest.NestedString(object, "metadata", "namespace"), Name: manifest.NestedString(ref, "name")}
	isAutoscaler := of.WithKind(manifest.NestedString(object, "kind")).GroupKind() == autoscalerKind
	return target, isAutoscaler && cmp.Or(err, wrong) == nil && target.Kind != "" && target.Name != ""
}

// profiler is a resolver of the profile rules that apply to objects. It is used for one Rendering. It counts the work
// of one Application, so it must not be shared.
type profiler struct {
	profiles []*Profile
	// autoscaled maps the target of each autoscaler to the autoscaler's name.
	autoscaled map[manifest.ID]string
	// work is the remaining number of fields that the paths of all profiles can visit, in all objects.
	work int
	// unsupported is the Problem of the first profile that is not supported and may concern an object.
	unsupported *Problem
}

// profilerOf returns the profiler of an input. It adds the autoscalers in the manifests to those of the input. A live
// autoscaler overrides one in the manifests that targets the same object.
func profilerOf(in Input, objects []manifest.Object) *profiler {
	p := &profiler{profiles: in.Profiles.All, work: observer.MostFieldWork, autoscaled: map[manifest.ID]string{}}
	if len(p.profiles) == 0 {
		return p
	}
	for _, object := range objects {
		if target, ok := AutoscalerTarget(object.Content); ok {
			target.Namespace = object.ID.Namespace
			p.autoscaled[target] = object.ID.Name
		}
	}
	for id, name := range in.Profiles.Autoscaled {
		p.autoscaled[id] = name
	}
	return p
}

// pathsFor returns the paths of the profile rules that apply to an object, in the order of the profiles and their
// rules. It sets unsupported if this version does not understand a profile that may concern the object.
func (p *profiler) pathsFor(object manifest.Object) (paths []observer.ProfilePath) {
	var around map[string]any
	for _, profile := range p.profiles {
		if problem := profile.NotSupported(); problem != nil && profile.Concerns(object.ID.GroupKind()) {
			p.unsupported = cmp.Or(p.unsupported, problem)
		}
		for _, rule := range profile.rules {
			autoscaler, autoscaled := p.autoscaled[object.ID]
			if !rule.isFor(object.ID.GroupKind()) || rule.autoscaled && !autoscaled {
				continue
			}
			// The input of CEL is made only if a rule needs it, and only once.
			if around == nil && rule.match != "" {
				around = matched(object)
			}
			if !rule.matches(around) {
				continue
			}
			for _, path := range rule.paths {
				if rule.autoscaled {
					path.Because = autoscalerKind.Kind + " " + autoscaler + " targets the object"
				}
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// matches reports whether the CEL rule evaluates to true. A rule that fails to evaluate, or exceeds its budget, does
// not match. object is the result of matched; it can be nil for a rule without an expression.
func (r profileRule) matches(object map[string]any) bool {
	if r.match == "" {
		return true
	}
	// Each rule has its own budget, so a rule cannot change the result of another one.
	budget := int64(expression.Budget)
	holds, err := expression.Evaluate(r.match, object, object, &budget)
	return holds && err == nil
}

// matched returns the manifest as CEL rules see it: without Secret values, and always with namespace, labels and
// annotations. So 'team' in object.metadata.labels is valid for every object. It is the manifest before hooks, and not
// the live object, so the result does not change while the Application does not.
func matched(object manifest.Object) map[string]any {
	content := observer.CopyMap(object.Content)
	if manifest.IsSecret(object.ID.GroupKind()) {
		maps.DeleteFunc(content, func(field string, _ any) bool { return manifest.SecretField(field) })
	}
	metadata := manifest.EnsureMap(content, "metadata")
	metadata["namespace"] = object.ID.Namespace
	manifest.EnsureMap(metadata, "labels")
	annotations := manifest.EnsureMap(metadata, "annotations")
	if manifest.IsSecret(object.ID.GroupKind()) {
		delete(annotations, manifest.LastApplied) // a copy of all values
	}
	return content
}

// ProfileNames returns the profiles in the form of the messages: HoldProfile a, b.
func ProfileNames(names []string) string {
	return v1alpha1.ProfileKind + " " + strings.Join(names, ", ")
}

// ProfileNote returns the text about the profile that decides about a field, such as "HoldProfile x frees it". It
// returns "" if no profile decides about it. For example, "HoldProfile autoscaling frees it, since
// HorizontalPodAutoscaler web targets the object".
func ProfileNote(by *observer.ProfilePath) string {
	if by == nil {
		return ""
	}
	verb := "holds"
	if by.Free {
		verb = "frees"
	}
	text := "HoldProfile " + by.Profile + " " + verb + " it"
	if by.Because != "" {
		text += ", since " + by.Because
	}
	return text
}
