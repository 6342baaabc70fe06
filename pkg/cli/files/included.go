package files

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// includedProfiles returns the HoldProfiles in deploy/profiles, which are part of this program. The caller must
// not change the slice.
var includedProfiles = sync.OnceValue(func() (all []*intent.Profile) {
	names, _ := fs.Glob(deploy.Profiles(), "profiles/*.yaml") // the pattern is valid
	for _, name := range names {
		content, err := deploy.Profiles().ReadFile(name)
		documents, readErr := manifest.Read(name, content)
		_, profiles, faults := takeProfiles(documents)
		if err = errors.Join(err, readErr, faults); err != nil {
			panic(fmt.Sprint("the included profiles: ", err)) // they are part of this program
		}
		all = append(all, profiles...)
	}
	return all
})

// ProfileCommand returns the command that creates an included HoldProfile, in a checkout.
func ProfileCommand(name string) string {
	return "kubectl apply --server-side -f deploy/profiles/" + name + ".yaml"
}

// FreedByIncluded returns the drifted fields that an included HoldProfile would free. The key is the field, the
// value is the name of the profile. It considers only profiles that are not in effect. It returns nil if nothing has
// drifted that one of them concerns, or if gathering failed. For example, replicas of a Deployment with an
// autoscaler drift again and again. The profile autoscaled-replicas frees them.
func (d Decision) FreedByIncluded() map[plan.Leaf]string {
	absent := slices.DeleteFunc(slices.Clone(includedProfiles()), func(one *intent.Profile) bool {
		return slices.ContainsFunc(d.gathered.Profiles.All, func(other *intent.Profile) bool { return other.Name == one.Name })
	})
	// Without drift, the second decision is not needed. It costs as much as the first one.
	drifted := d.drifted(absent)
	if len(drifted) == 0 {
		return nil
	}
	input := d.gathered
	// This is a copy, so the decision itself is unchanged.
	input.Profiles.All = slices.Concat(input.Profiles.All, absent)
	with := plan.Decide(input)
	freed := map[plan.Leaf]string{}
	for id, paths := range drifted {
		explained, _ := explain.Resource(with, id, false)
		for _, f := range explained.Fields {
			isAbsent := func(one *intent.Profile) bool { return one.Name == f.Profile }
			if f.State == explain.Free && slices.Contains(paths, f.Path) && slices.ContainsFunc(absent, isAbsent) {
				freed[plan.Leaf{ID: id, Path: f.Path}] = f.Profile
			}
		}
	}
	return freed
}

// drifted returns the paths of the drifted and contested fields of existing objects whose kinds one of the
// profiles concerns.
func (d Decision) drifted(profiles []*intent.Profile) map[manifest.ID][]string {
	if d.gathered.Application == nil || d.Invalid != nil {
		return nil
	}
	drifted := map[manifest.ID][]string{}
	for _, change := range d.Changes {
		if !slices.ContainsFunc(profiles, func(one *intent.Profile) bool { return one.Concerns(change.ID.GroupKind()) }) {
			continue
		}
		explained := explain.Change(d.Plan, change, false)
		for _, f := range explained.Fields {
			if !explained.Missing && (f.Drift != "" || f.State == explain.Contested) {
				drifted[change.ID] = append(drifted[change.ID], f.Path)
			}
		}
	}
	return drifted
}

// ProfileNotes returns a note for each object with drifted fields that an included HoldProfile would free, sorted.
// Each note names the first field and the command that creates the profile. A profile that a user has edited has the
// same name, and gets no note.
func (d Decision) ProfileNotes() (notes []string) {
	type objectProfile struct {
		id      manifest.ID
		profile string
	}
	paths := map[objectProfile][]string{}
	for leaf, profile := range d.FreedByIncluded() {
		key := objectProfile{leaf.ID, profile}
		paths[key] = append(paths[key], leaf.Path)
	}
	for key, of := range paths {
		slices.Sort(of)
		if more := len(of) - 1; more > 0 {
			of = []string{of[0], fmt.Sprintf("and %d more", more)}
		}
		notes = append(notes, fmt.Sprintf("%s: HoldProfile %s, which is not in effect, would free %s: %#q, see docs/profiles.md",
			key.id, key.profile, strings.Join(of, " "), ProfileCommand(key.profile)))
	}
	slices.Sort(notes)
	return notes
}
