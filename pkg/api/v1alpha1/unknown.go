package v1alpha1

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// DecodeApplication decodes an Application from JSON, and lists in Unknown what this version does not know of
// its spec. So a new field must have no default in the definition: with a default, each Application would have
// it, and an older controller would hold none of them.
func DecodeApplication(raw []byte) (*Application, error) {
	app := &Application{}
	unknown, err := decodeStrictly(raw, app)
	app.Unknown = slices.Concat(unknown, app.Spec.unknownValues())
	return app, err
}

// DecodeProfile decodes a HoldProfile from JSON, and lists in Unknown what this version does not know of its
// spec.
func DecodeProfile(raw []byte) (*HoldProfile, error) {
	p := &HoldProfile{}
	unknown, err := decodeStrictly(raw, p)
	p.Unknown = unknown
	for i, rule := range p.Spec.Rules {
		p.Unknown = append(p.Unknown, unknownValue(fmt.Sprintf("spec.rules[%d].whileTargetedBy", i), rule.WhileTargetedBy, "HorizontalPodAutoscaler")...)
	}
	return p, err
}

// decodeStrictly decodes JSON, and returns the paths in the spec of the fields that the type lacks.
func decodeStrictly(raw []byte, into any) (unknown []string, err error) {
	faults, err := kjson.UnmarshalStrict(raw, into, kjson.DisallowUnknownFields)
	return slices.DeleteFunc(pathsOf(faults), func(path string) bool { return !strings.HasPrefix(path, "spec.") }), err
}

func pathsOf(faults []error) (paths []string) {
	for _, fault := range faults {
		if at, ok := errors.AsType[kjson.FieldError](fault); ok {
			paths = append(paths, at.FieldPath())
		}
	}
	return paths
}

// unknownValues returns the paths of enumerations with values that this version does not know, and what strict
// decoding does not reach: HeldField decodes itself.
func (s *ApplicationSpec) unknownValues() []string {
	unknown := slices.Concat(
		unknownValue("spec.mode", s.Mode, "Hold", "Observe"),
		unknownValue("spec.ownership", s.Ownership, "Own", "Share"),
		unknownValue("spec.onRelease", s.OnRelease, "Leave", "Restore"),
		unknownValue("spec.adoption", s.Adoption, "Never", "IfUnowned", "Always"),
		unknownValue("spec.deletionPolicy", s.DeletionPolicy, "Delete", "Orphan"),
		unknownValue("spec.adoptedDeletionPolicy", s.AdoptedDeletionPolicy, "Delete", "Orphan"),
	)
	if s.Hooks != nil && s.Hooks.Complete != nil {
		unknown = append(unknown, unknownValue("spec.hooks.complete.action", s.Hooks.Complete.Action, "Delete", "Keep")...)
	}
	if s.Hooks != nil && s.Hooks.Shutdown != nil {
		unknown = append(unknown, unknownValue("spec.hooks.shutdown.scheme", s.Hooks.Shutdown.Scheme, "http", "https")...)
		unknown = append(unknown, unknownValue("spec.hooks.shutdown.onFailure", s.Hooks.Shutdown.OnFailure, "GiveUp", "Delete")...)
	}
	for i, resource := range s.Fields {
		for j, held := range resource.Hold {
			for _, what := range slices.Concat(held.Unknown,
				unknownValue("mode", held.Mode, "hold", "push", "report", "absent"),
				unknownValue("type", held.Type, "set", "quantity")) {
				unknown = append(unknown, fmt.Sprintf("spec.fields[%d].hold[%d].%s", i, j, what))
			}
		}
	}
	return unknown
}

// unknownValue returns the path and the value of an enumeration, unless the value is known or not set.
func unknownValue[T ~string](path string, value T, known ...T) []string {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return []string{path + ": " + string(value)}
}
