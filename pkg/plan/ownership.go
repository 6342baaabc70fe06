package plan

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/truncate"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// conflictProblem returns the Problem of an object that the Application does not own and may not adopt. Its message
// names the owner, if the metadata of the object shows one, and how to solve the conflict.
func conflictProblem(app *v1alpha1.Application, id manifest.ID, live map[string]any) *Problem {
	const share = "to share it with its owner, annotate it in the manifest with " + v1alpha1.AnnotationOwnership + ": " + string(v1alpha1.OwnershipShare)
	owner := claim.Owner(app, live)
	switch {
	case isTokenSecret(app, id):
		return intent.Problemf(v1alpha1.ReasonResourceConflict,
			"%s already exists, and spec.hooks needs that name for its tokens: rename the Application", id)
	case owner == "":
		return intent.Problemf(v1alpha1.ReasonResourceConflict,
			"%s already exists, and this Application does not own it: to adopt it, set spec.adoption to IfUnowned; %s; or use another name", id, share)
	case strings.HasPrefix(owner, claim.ThisApplication):
		return intent.Problemf(v1alpha1.ReasonResourceConflict, "%s already exists, and belongs to %s: use another name, or set spec.adoption to Always", id, owner)
	}
	return intent.Problemf(v1alpha1.ReasonResourceConflict,
		"%s already exists, and belongs to %s: %s; to adopt it, set spec.adoption to Always; or use another name", id, owner, share)
}

// isTokenSecret reports whether an object is the Secret with the tokens of spec.hooks. It is never adopted: the
// client that created it would know the tokens.
func isTokenSecret(app *v1alpha1.Application, id manifest.ID) bool {
	return id.Kind == "Secret" && id.Group == "" && id.Name == hooks.SecretName(app) && len(hooks.Purposes(app)) > 0
}

// ownership returns a test that the object still has the tracking label of the Application, so that no other
// Application has adopted it. It returns nil for an object without the label, because the patch adds it then.
func (p decider) ownership(res *resource) []delta.Op {
	uid := p.in.Application.UID
	if uid == "" || manifest.NestedString(res.live, "metadata", "labels", v1alpha1.LabelApplicationUID) != string(uid) {
		return nil
	}
	path := (*observer.Path)(nil).Field("metadata").Field("labels").Field(v1alpha1.LabelApplicationUID)
	return []delta.Op{{Op: "test", Path: path.Pointer(), Value: string(uid)}}
}

// deferTracking reports whether tracking metadata of an object that is about to be adopted is deferred, and why. The
// API server rejected it, or the metadata is contested because another client removes it again and again; then
// there is a Problem. Adopting an object is writing the tracking metadata, so nothing else is written first.
func (p decider) deferTracking(res *resource) (waits bool, problem *Problem) {
	for _, d := range res.compared.Differences {
		if !d.HeldBack || !claim.IsTrackingPath(d.Path) {
			continue
		}
		// A rejection has its own Problem: see refusal.
		if f := p.in.Memory.Contests[Leaf{res.object.ID, d.Path}]; f != nil {
			problem = &Problem{
				Reason:     v1alpha1.ReasonContested,
				Message:    fmt.Sprintf("%s is adopted repeatedly: it belongs to %s", res.object.ID, claim.Owner(p.in.Application, res.live)),
				RetryAfter: max(f.Next.Sub(p.in.Now), time.Millisecond),
			}
		}
		return true, problem
	}
	return false, nil
}

// formerTracking returns the removals of tracking metadata that no longer fits the policy: the object was
// owned and is shared now, or it was shared, is owned now, and no other Application shares it.
func formerTracking(app *v1alpha1.Application, of claim.Policy, live map[string]any) []delta.Difference {
	switch {
	case !of.Claims && claim.IsHolder(app, live) && !claim.IsHeldByOthers(app, live):
		return claim.Removals(live, claim.SharedTrackingKeys)
	case of.Claims && app.UID != "" && manifest.NestedString(live, "metadata", "labels", v1alpha1.LabelApplicationUID) == string(app.UID):
		return claim.Removals(live, claim.TrackingKeys)
	}
	return nil
}

// terminatingProblem returns the Problem of an object that is being deleted, by any client. It waits for a watch
// event, or for a time if no watch of the Application has the object.
func (f *facts) terminatingProblem(of claim.Policy, id manifest.ID, live map[string]any) *Problem {
	message := id.String() + " is being deleted"
	finalizers, _, _ := unstructured.NestedStringSlice(live, "metadata", "finalizers")
	switch len(finalizers) {
	case 0:
	case 1:
		message += ", held by the finalizer " + finalizers[0]
	default:
		message += ", held by the finalizers " + strings.Join(finalizers, ", ")
	}
	if id.Group == "" && id.Kind == "Namespace" {
		message += NamespaceRemains(live)
	}
	problem := &Problem{Reason: v1alpha1.ReasonWaiting, Message: message}
	if !of.Claims && manifest.NestedString(live, "metadata", "labels", v1alpha1.LabelApplicationUID) != string(f.in.Application.UID) && !f.IsObserveOnly() {
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
	return ": " + truncate.String(strings.Join(says, "; "), 1024)
}

// recheckAfter is the delay before an object that is in no watch is read again. Watches select by the tracking label.
const recheckAfter = 10 * time.Second

// withLive returns the policy for an object with a live object, and the Problem if it may not be written. The
// Problem is nil if it may. before is the policy of the spec; live can be nil.
func (p decider) withLive(before claim.Policy, id manifest.ID, live map[string]any) (now claim.Policy, problem *Problem) {
	app := p.in.Application
	now = before.WithLive(app, id, p.statuses[id], live)
	if now.Adopts() && isTokenSecret(app, id) {
		now = claim.PolicyFor(app, claim.Foreign)
	}
	if !now.Writes {
		problem = conflictProblem(app, id, live)
	}
	return now, problem
}

// policyOnRecord returns the policy for an object that is no longer desired. An object that was shared, or that
// the current spec shares, is never deleted.
func (p *pruner) policyOnRecord(id manifest.ID, status v1alpha1.ResourceStatus) claim.Policy {
	app := p.in.Application
	if intent.Shared(p.in.Intent())[id] || claim.DesiredPolicy(app, status.Ownership).Claims {
		return claim.PolicyFor(app, claim.Shared)
	}
	return claim.PolicyFor(app, claim.Created)
}
