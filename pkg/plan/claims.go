package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// has reports whether a leaf is among those of a holder, or in one of them.
func (h holder) has(leaf string) bool {
	return h.Leaves == nil || slices.ContainsFunc(h.Leaves, func(own string) bool { return observer.Under(leaf, own) })
}

// claimsOf are the claims of others on a live object, in order. The keys of an element claim
// nothing: several may hold other fields in it.
func claimsOf(app *v1alpha1.Application, live map[string]any, ours []string) (claims []claim) {
	all := holdersOf(live)
	own, isHolder := all.of(app)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var other holder
		if name == holderName(app) || json.Unmarshal(all[name], &other) != nil {
			continue
		}
		goesFirst := func(leaf string) bool { return isHolder && own.has(leaf) && own.older(other) }
		if other.Leaves == nil {
			if !slices.ContainsFunc(ours, goesFirst) {
				claims = append(claims, claim{"", name})
			}
			continue
		}
		for _, leaf := range other.Leaves {
			if !observer.IsKey(leaf) && !goesFirst(leaf) {
				claims = append(claims, claim{leaf, name})
			}
		}
	}
	return claims
}

// leave takes what others hold out of the leaves of a resource:
//
//	the object says that it is held by    then it is
//	nobody                                ours, with the patch that says so
//	another one                           theirs
//	us                                    ours
//	both                                  the older one's
func (res *resource) leave(app *v1alpha1.Application, leaves []string) {
	claims := claimsOf(app, res.live, leaves)
	res.leaves, res.claimed = nil, nil
	for _, leaf := range leaves {
		i := slices.IndexFunc(claims, func(c claim) bool { return c.on(leaf) && !observer.IsKey(leaf) })
		if i < 0 {
			res.leaves = append(res.leaves, leaf)
			continue
		}
		res.claimed = append(res.claimed, claim{leaf, claims[i].by})
	}
}

// claimedByOthers is why some leaves are not held; nil if all are.
func (res *resource) claimedByOthers() *Problem {
	if len(res.claimed) == 0 {
		return nil
	}
	var told []string
	for _, c := range res.claimed {
		told = append(told, c.path+" is held by Application "+c.by)
	}
	problem := problemf(v1alpha1.ReasonFieldClaimed, "%s: %s", res.object.ID, some(told))
	problem.Remedy = v1alpha1.Remedy{
		Text:    "let one of the two let go of it. If the other one does not exist any more, this has those that do say anew what they hold",
		Command: forgetHolders(res.object.ID),
	}
	problem.compared = true
	return problem
}

// forgetHolders is the command that takes the claims off an object: whoever is there writes
// his own again.
func forgetHolders(id manifest.ID) string {
	command := "kubectl annotate " + strings.ToLower(id.Kind)
	if id.Group != "" {
		command += "." + id.Group
	}
	if id.Namespace != "" {
		command = fmt.Sprintf("%s -n %s", command, id.Namespace)
	}
	return command + " " + id.Name + " " + v1alpha1.AnnotationHolders + "-"
}

// withoutClaimed is a comparison without what others hold.
func (res *resource) withoutClaimed(c delta.Comparison) delta.Comparison {
	if len(res.claimed) == 0 {
		return c
	}
	c.Held -= len(res.claimed)
	c.Differences = slices.DeleteFunc(slices.Clone(c.Differences), func(d delta.Difference) bool {
		return slices.ContainsFunc(res.claimed, func(c claim) bool { return c.on(d.Path) })
	})
	return c
}
