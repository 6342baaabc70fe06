package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// TrackingID is the value of the annotation that says whose an object is and
// which one: a copy under another name does not match it.
func TrackingID(app *v1alpha1.Application, id manifest.ID) string {
	return app.Namespace + "/" + app.Name + ":" + identityOf(id)
}

func identityOf(id manifest.ID) string {
	return id.Group + "/" + id.Kind + ":" + id.Namespace + "/" + id.Name
}

// IsTrackedBy reports whether a live object carries the marks of the Application, for
// this very identity.
func IsTrackedBy(app *v1alpha1.Application, id manifest.ID, live map[string]any) bool {
	return text(live, "metadata", "labels", v1alpha1.LabelApplicationUID) == string(app.UID) &&
		text(live, "metadata", "annotations", v1alpha1.AnnotationTrackingID) == TrackingID(app, id)
}

// isCascadeOrphan reports whether whoever deleted an Application asked to leave its
// objects, in this version of it or in one before.
func isCascadeOrphan(app *v1alpha1.Application) bool {
	_, was := app.Annotations[v1alpha1.AnnotationOrphan]
	return was || slices.Contains(app.Finalizers, metav1.FinalizerOrphanDependents)
}

// adoptionProblem says why an object that is not ours may not be taken over; nil if it
// may.
func adoptionProblem(app *v1alpha1.Application, id manifest.ID, live map[string]any) *Problem {
	owner := ownerOf(app, live)
	if id.Kind == "Secret" && id.Group == "" && id.Name == hooks.SecretName(app) && len(hooks.Purposes(app)) > 0 {
		// Whoever made it knows the tokens in it.
		return problemf(v1alpha1.ReasonResourceConflict,
			"%s exists already, and spec.hooks needs that name for its tokens: rename the Application", id)
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
			"%s exists already and it is not this Application's: to take it over, set spec.adoption to IfUnowned; %s; or use another name", id, share)
	case strings.HasPrefix(owner, thisApplication):
		return problemf(v1alpha1.ReasonResourceConflict, "%s exists already and it belongs to %s: use another name, or set spec.adoption to Always", id, owner)
	}
	return problemf(v1alpha1.ReasonResourceConflict,
		"%s exists already and it belongs to %s: %s; to take it over, set spec.adoption to Always; or use another name", id, owner, share)
}

// thisApplication begins what ownerOf returns for a copy of an object of the Application.
const thisApplication = "this Application"

// Controller names who controls a live object, which would make it again; empty if nobody
// does.
func Controller(live map[string]any) string {
	for _, owner := range mapsAt(live, "metadata", "ownerReferences") {
		if owner["controller"] == true {
			return text(owner, "kind") + " " + text(owner, "name")
		}
	}
	return ""
}

// ownerOf names who claims an object, or is empty.
func ownerOf(app *v1alpha1.Application, live map[string]any) string {
	uid := text(live, "metadata", "labels", v1alpha1.LabelApplicationUID)
	name, _, _ := strings.Cut(text(live, "metadata", "annotations", v1alpha1.AnnotationTrackingID), ":")
	switch {
	case name == app.Namespace+"/"+app.Name && uid == string(app.UID):
		return thisApplication + ", as a copy of another object of it"
	case name == app.Namespace+"/"+app.Name:
		return "an earlier Application " + name
	case name != "":
		return "Application " + name
	case uid != "":
		return "the Application with UID " + uid
	}
	if owner := Controller(live); owner != "" {
		return owner
	}
	annotations := []struct{ key, who string }{
		{"meta.helm.sh/release-name", "Helm release"},
		{"argocd.argoproj.io/tracking-id", "Argo CD application"},
		{"config.k8s.io/owning-inventory", "inventory"},
	}
	for _, a := range annotations {
		if name := text(live, "metadata", "annotations", a.key); name != "" {
			return a.who + " " + name
		}
	}
	if name := text(live, "metadata", "labels", "kustomize.toolkit.fluxcd.io/name"); name != "" {
		return "Flux Kustomization " + name
	}
	return ""
}

// ownership is the test that an object with our label still has it: nobody else has
// adopted it.
func (p *Plan) ownership(res *resource) []delta.Op {
	uid := p.in.Application.UID
	if uid == "" || text(res.live, "metadata", "labels", v1alpha1.LabelApplicationUID) != string(uid) {
		return nil
	}
	path := (*observer.Path)(nil).Field("metadata").Field("labels").Field(v1alpha1.LabelApplicationUID)
	return []delta.Op{{Op: "test", Path: path.Pointer(), Value: string(uid)}}
}

// deferTracking reports whether one of our marks must wait, on an object that is to be
// adopted: it was refused, or another client keeps taking the object back, which is a
// problem of its own. To adopt is to write the marks, so nothing else is written before.
func (p *Plan) deferTracking(res *resource) (waits bool, problem *Problem) {
	for _, d := range res.compared.Differences {
		if !d.HeldBack || !isTrackingPath(d.Path) {
			continue
		}
		if f := p.in.Memory.Contests[Leaf{res.object.ID, d.Path}]; f != nil {
			problem = &Problem{
				Reason:     v1alpha1.ReasonContested,
				Message:    fmt.Sprintf("%s is taken back again and again: it belongs to %s", res.object.ID, ownerOf(p.in.Application, res.live)),
				RetryAfter: max(f.Next.Sub(p.in.Now), time.Millisecond),
			}
		}
		return true, problem
	}
	return false, nil
}

// isTrackingPath reports whether a path is that of one of our marks, or of all labels or all
// annotations.
func isTrackingPath(path string) bool {
	if isSharedMark(path) {
		return true
	}
	for _, mark := range trackingKeys {
		if observer.IsUnder(mark.path(), path) {
			return true
		}
	}
	return false
}

// trackingKeys are the fields of metadata that have our marks, and their keys.
var trackingKeys = []markKey{
	{"labels", v1alpha1.LabelApplicationUID},
	{"annotations", v1alpha1.AnnotationTrackingID},
	{"annotations", v1alpha1.AnnotationAdopted},
}

type markKey struct{ field, key string }

func (m markKey) path() string { return "metadata." + m.field + "['" + m.key + "']" }

var sharedMarkKeys = []markKey{
	{"labels", v1alpha1.LabelHeld},
	{"annotations", v1alpha1.AnnotationHolders},
}

// isSharedMark reports whether a path is that of a mark of shared objects, or of all labels
// or all annotations.
func isSharedMark(path string) bool {
	return slices.ContainsFunc(sharedMarkKeys, func(mark markKey) bool { return observer.IsUnder(mark.path(), path) })
}

// isMetadataMap reports whether a path is that of the labels or annotations, which have our
// marks too.
func isMetadataMap(path string) bool {
	return path == "metadata" || path == "metadata.labels" || path == "metadata.annotations"
}

// formerTracking returns the removals of tracking metadata that does not fit the policy any more: the
// object was owned and is shared now, or was shared and is owned, and no other Application shares it.
func formerTracking(app *v1alpha1.Application, of policy, live map[string]any) []delta.Difference {
	switch {
	case !of.claims && isNamed(app, live) && !isHeldByOthers(app, live):
		return removals(live, sharedMarkKeys)
	case of.claims && app.UID != "" && text(live, "metadata", "labels", v1alpha1.LabelApplicationUID) == string(app.UID):
		return removals(live, trackingKeys)
	}
	return nil
}

func removals(live map[string]any, marks []markKey) (fields []delta.Difference) {
	for _, mark := range marks {
		if value := text(live, "metadata", mark.field, mark.key); value != "" {
			path := (*observer.Path)(nil).Field("metadata").Field(mark.field).Field(mark.key)
			fields = append(fields, delta.Remove(path, value))
		}
	}
	return fields
}

// marks is the number of held leaves that are our own marks; one more on what was adopted.
func (p *Plan) marks() int {
	if p.in.Application.UID == "" {
		return 0
	}
	return 2
}

// withTracking adds our marks to a desired state and observes them, so that they
// are created, compared and corrected like any held field. Neither argument is
// changed.
func withTracking(app *v1alpha1.Application, entry *observer.Schema, desired map[string]any) (*observer.Schema, map[string]any) {
	if app.UID == "" {
		return entry, desired
	}
	marks := map[string]map[string]string{
		"labels":      {v1alpha1.LabelApplicationUID: string(app.UID)},
		"annotations": {v1alpha1.AnnotationTrackingID: TrackingID(app, entry.ID)},
	}
	return entry.WithMetadata(marks), observer.MarkedObject(desired, marks)
}

// terminatingProblem is the Problem of an object that another client deletes.
func (p *Plan) terminatingProblem(of policy, id manifest.ID, live map[string]any) *Problem {
	message := id.String() + " is being deleted"
	if finalizers := finalizersOf(live); len(finalizers) > 0 {
		message += ", held by the finalizers " + strings.Join(finalizers, ", ")
	}
	if id.Group == "" && id.Kind == "Namespace" {
		message += NamespaceRemains(live)
	}
	problem := &Problem{Reason: v1alpha1.ReasonWaiting, Message: message}
	if !of.claims && text(live, "metadata", "labels", v1alpha1.LabelApplicationUID) != string(p.in.Application.UID) && !p.IsObserveOnly() {
		problem.RetryAfter = recheckAfter // no watch tells that it is gone
	}
	return problem
}

// NamespaceRemains is what a namespace that is being deleted says of what holds it up, behind
// a colon; empty if it says nothing.
func NamespaceRemains(live map[string]any) string {
	var says []string
	for _, c := range mapsAt(live, "status", "conditions") {
		if text(c, "status") == "True" {
			says = append(says, text(c, "message"))
		}
	}
	if len(says) == 0 {
		return ""
	}
	return ": " + shorten(strings.Join(says, "; "), 1024)
}

// recheckAfter is when to look at an object again that is in no watch.
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
