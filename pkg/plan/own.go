package plan

import (
	"fmt"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// adoptionProblem returns the Problem of an object that the Application does not own and may not adopt. It
// returns nil if the Application may adopt it.
func adoptionProblem(app *v1alpha1.Application, id manifest.ID, live map[string]any) *Problem {
	owner := ownerOf(app, live)
	if id.Kind == "Secret" && id.Group == "" && id.Name == hooks.SecretName(app) && len(hooks.Purposes(app)) > 0 {
		// The client that created it knows the tokens in it.
		return problemf(v1alpha1.ReasonResourceConflict,
			"%s already exists, and spec.hooks needs that name for its tokens: rename the Application", id)
	}
	switch {
	case app.Spec.Adoption == v1alpha1.AdoptAlways, isFromRestoredCluster(app, id, live):
		return nil
	case app.Spec.Adoption == v1alpha1.AdoptIfUnowned && owner == "":
		return nil
	}
	const share = "to share it with its owner, annotate it in the manifest with " + v1alpha1.AnnotationOwnership + ": " + string(v1alpha1.OwnershipShare)
	switch {
	case owner == "" && app.Spec.Adoption != v1alpha1.AdoptIfUnowned:
		return problemf(v1alpha1.ReasonResourceConflict,
			"%s already exists, and this Application does not own it: to adopt it, set spec.adoption to IfUnowned; %s; or use another name", id, share)
	case strings.HasPrefix(owner, thisApplication):
		return problemf(v1alpha1.ReasonResourceConflict, "%s already exists, and belongs to %s: use another name, or set spec.adoption to Always", id, owner)
	}
	return problemf(v1alpha1.ReasonResourceConflict,
		"%s already exists, and belongs to %s: %s; to adopt it, set spec.adoption to Always; or use another name", id, owner, share)
}

// ownership returns a test that the object still has the tracking label of the Application, so that no other
// Application has adopted it. It returns nil for an object without the label.
func (p *Plan) ownership(res *resource) []delta.Op {
	uid := p.in.Application.UID
	if uid == "" || manifest.NestedString(res.live, "metadata", "labels", v1alpha1.LabelApplicationUID) != string(uid) {
		return nil
	}
	path := (*observer.Path)(nil).Field("metadata").Field("labels").Field(v1alpha1.LabelApplicationUID)
	return []delta.Op{{Op: "test", Path: path.Pointer(), Value: string(uid)}}
}

// deferTracking reports whether tracking metadata of an object that is about to be adopted is deferred. The
// API server rejected it, or the metadata is contested because another client removes it again and again; then
// there is a Problem. Adopting an object is writing the tracking metadata, so nothing else is written first.
func (p *Plan) deferTracking(res *resource) (waits bool, problem *Problem) {
	for _, d := range res.compared.Differences {
		if !d.HeldBack || !isTrackingPath(d.Path) {
			continue
		}
		if f := p.in.Memory.Contests[Leaf{res.object.ID, d.Path}]; f != nil {
			problem = &Problem{
				Reason:     v1alpha1.ReasonContested,
				Message:    fmt.Sprintf("%s is adopted repeatedly: it belongs to %s", res.object.ID, ownerOf(p.in.Application, res.live)),
				RetryAfter: max(f.Next.Sub(p.in.Now), time.Millisecond),
			}
		}
		return true, problem
	}
	return false, nil
}

// formerTracking returns the removals of tracking metadata that no longer fits the policy: the object was
// owned and is shared now, or it was shared, is owned now, and no other Application shares it.
func formerTracking(app *v1alpha1.Application, of policy, live map[string]any) []delta.Difference {
	switch {
	case !of.claims && isNamed(app, live) && !isHeldByOthers(app, live):
		return removals(live, sharedMarkKeys)
	case of.claims && app.UID != "" && manifest.NestedString(live, "metadata", "labels", v1alpha1.LabelApplicationUID) == string(app.UID):
		return removals(live, trackingKeys)
	}
	return nil
}

// marks returns the number of held leaves that are tracking metadata. An adopted object has one more.
func (p *Plan) marks() int {
	if p.in.Application.UID == "" {
		return 0
	}
	return 2
}

// terminatingProblem returns the Problem of an object that another client deletes.
func (p *Plan) terminatingProblem(of policy, id manifest.ID, live map[string]any) *Problem {
	message := id.String() + " is being deleted"
	if finalizers := finalizersOf(live); len(finalizers) > 0 {
		message += ", held by the finalizers " + strings.Join(finalizers, ", ")
	}
	if id.Group == "" && id.Kind == "Namespace" {
		message += NamespaceRemains(live)
	}
	problem := &Problem{Reason: v1alpha1.ReasonWaiting, Message: message}
	if !of.claims && manifest.NestedString(live, "metadata", "labels", v1alpha1.LabelApplicationUID) != string(p.in.Application.UID) && !p.IsObserveOnly() {
		problem.RetryAfter = recheckAfter // no watch reports its deletion
	}
	return problem
}

// NamespaceRemains returns ": " and the condition messages of a namespace about what delays its deletion, or
// "" if there are none.
func NamespaceRemains(live map[string]any) string {
	var says []string
	for _, c := range manifest.NestedMaps(live, "status", "conditions") {
		if manifest.NestedString(c, "status") == "True" {
			says = append(says, manifest.NestedString(c, "message"))
		}
	}
	if len(says) == 0 {
		return ""
	}
	return ": " + shorten(strings.Join(says, "; "), 1024)
}

// recheckAfter is the delay before an object that is in no watch is read again.
const recheckAfter = 10 * time.Second

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

// withLive returns the policy for an object with a live object, and the Problem if it may not be written. The
// Problem is nil if it may.
func (p *Plan) withLive(before policy, id manifest.ID, live map[string]any) (now policy, problem *Problem) {
	app, status := p.in.Application, p.statuses[id]
	if before.claims || live == nil {
		return before, nil
	}
	if isOwned(app, id, status, live) {
		if wasAdopted(app, status, live) {
			return policyFor(app, adopted), nil
		}
		return policyFor(app, created), nil
	}
	reclaimed := isFromRestoredCluster(app, id, live)
	switch problem = adoptionProblem(app, id, live); {
	case problem == nil && reclaimed && !isMarkedAdopted(live):
		now = policyFor(app, created)
	case problem == nil:
		now = policyFor(app, adopted)
	default:
		return policyFor(app, foreign), problem
	}
	now.begins, now.reclaimed = true, reclaimed
	return now, nil
}

// policyOnRecord returns the policy for an object that is no longer desired. An object that was shared, or that
// the current spec shares, is never deleted.
func (p *Plan) policyOnRecord(id manifest.ID, status v1alpha1.ResourceStatus) policy {
	app := p.in.Application
	switch {
	case status.Ownership == v1alpha1.OwnershipShare, Shared(p.in)[id],
		status.Ownership == "" && app.Spec.Ownership == v1alpha1.OwnershipShare:
		return policyFor(app, shared)
	}
	return policyFor(app, created)
}
