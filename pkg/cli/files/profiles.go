package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
)

// isProfile reports whether a document is a HoldProfile.
func isProfile(document manifest.Document) bool {
	return manifest.NestedString(document.Value, "kind") == v1alpha1.ProfileKind && manifest.NestedString(document.Value, "apiVersion") == v1alpha1.GroupVersion.String()
}

// takeProfiles separates HoldProfiles from other documents. The profiles are sorted by name, as intent.Profiles
// requires. With files, they are used instead of the HoldProfiles of a cluster. The error joins the validation
// errors, including those for unknown fields. Two profiles with the same name are an error. Profiles are
// cluster-scoped, so the name is unique in a cluster.
func takeProfiles(documents []manifest.Document) (others []manifest.Document, profiles []*intent.Profile, err error) {
	first := map[string]manifest.Document{}
	var faults []error
	for _, document := range documents {
		if !isProfile(document) {
			others = append(others, document)
			continue
		}
		raw, err := json.Marshal(document.Value)
		if err != nil {
			return nil, nil, err
		}
		from, err := v1alpha1.DecodeProfile(raw)
		if err != nil {
			faults = append(faults, FaultAt(document, nil, "is not a HoldProfile: "+err.Error()))
			continue
		}
		if before, twice := first[from.Name]; twice {
			faults = append(faults, FaultAt(document, nil, fmt.Sprintf("HoldProfile %s is given twice, first at %s: remove one of them", from.Name, positionOf(before))))
			continue
		}
		first[from.Name] = document
		profile, mistakes := intent.ReadProfile(from)
		for _, what := range from.Unknown {
			mistakes = append(mistakes, fmt.Errorf("%s: this version of Holdfast does not know it", what))
		}
		for _, mistake := range mistakes {
			faults = append(faults, FaultAt(document, nil, "HoldProfile "+from.Name+": "+mistake.Error()))
		}
		profiles = append(profiles, profile)
	}
	slices.SortFunc(profiles, func(a, b *intent.Profile) int { return cmp.Compare(a.Name, b.Name) })
	return others, profiles, errors.Join(faults...)
}

// applicationsAndProfiles returns the Applications and HoldProfiles in the files. The error joins the validation
// errors of both.
func (s Sources) applicationsAndProfiles(ctx context.Context) ([]Subject, []*intent.Profile, error) {
	documents, err := s.Input.Read(ctx, s.Files)
	if err != nil {
		return nil, nil, err
	}
	documents, profiles, wrong := takeProfiles(documents)
	apps, err := s.applicationsIn(documents)
	return apps, profiles, errors.Join(wrong, err)
}

// ProfilesOf returns the profiles, with the objects that autoscalers among the live objects target. If several
// autoscalers target one object, the first name is used, so that the result does not depend on the order of the map.
// Autoscaled maps the target of each autoscaler to the name of the autoscaler.
func ProfilesOf(profiles []*intent.Profile, live map[manifest.ID]map[string]any) intent.Profiles {
	of := intent.Profiles{All: profiles, Autoscaled: map[manifest.ID]string{}}
	for id, object := range live {
		if target, is := intent.AutoscalerTarget(object); is {
			// An autoscaler only targets objects in its own namespace.
			target.Namespace = id.Namespace
			if name, before := of.Autoscaled[target]; !before || id.Name < name {
				of.Autoscaled[target] = id.Name
			}
		}
	}
	return of
}
