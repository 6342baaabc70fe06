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

// TrackingID returns the value of the tracking annotation, which names the Application and the object. A copy
// of the object under another name does not match it.
func TrackingID(app *v1alpha1.Application, id manifest.ID) string {
	return app.Namespace + "/" + app.Name + ":" + identityOf(id)
}

func identityOf(id manifest.ID) string {
	return id.Group + "/" + id.Kind + ":" + id.Namespace + "/" + id.Name
}

// IsTrackedBy reports whether a live object has the tracking metadata of the Application for this identity.
func IsTrackedBy(app *v1alpha1.Application, id manifest.ID, live map[string]any) bool {
	return text(live, "metadata", "labels", v1alpha1.LabelApplicationUID) == string(app.UID) &&
		text(live, "metadata", "annotations", v1alpha1.AnnotationTrackingID) == TrackingID(app, id)
}

// isCascadeOrphan reports whether the client that deleted an Application requested to orphan its objects. The
// finalizer shows that in this version, and the annotation shows it for an earlier version.
func isCascadeOrphan(app *v1alpha1.Application) bool {
	_, was := app.Annotations[v1alpha1.AnnotationOrphan]
	return was || slices.Contains(app.Finalizers, metav1.FinalizerOrphanDependents)
}

// adoptionProblem returns the Problem of an object that the Application does not own and may not adopt. It
// returns nil if the Application may adopt it.
func adoptionProblem(app *v1alpha1.Application, id manifest.ID, live map[string]any) *Problem {
	owner := ownerOf(app, live)
	if id.Kind == "Secret" && id.Group == "" && id.Name == hooks.SecretName(app) && len(hooks.Purposes(app)) > 0 {
		// The client that created it knows the tokens in it.
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

// thisApplication is the prefix of the owner that ownerOf returns for a copy of an object of the Application.
const thisApplication = "this Application"

// Controller returns the kind and name of the controller in the owner references of a live object, or "" if
// there is none. This controller would create the object again.
func Controller(live map[string]any) string {
	for _, owner := range mapsAt(live, "metadata", "ownerReferences") {
		if owner["controller"] == true {
			return text(owner, "kind") + " " + text(owner, "name")
		}
	}
	return ""
}

// ownerOf returns the owner that the metadata of a live object names, or "" if there is none.
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

// ownership returns a test that the object still has the tracking label of the Application, so that no other
// Application has adopted it. It returns nil for an object without the label.
func (p *Plan) ownership(res *resource) []delta.Op {
	uid := p.in.Application.UID
	if uid == "" || text(res.live, "metadata", "labels", v1alpha1.LabelApplicationUID) != string(uid) {
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
				Message:    fmt.Sprintf("%s is taken back again and again: it belongs to %s", res.object.ID, ownerOf(p.in.Application, res.live)),
				RetryAfter: max(f.Next.Sub(p.in.Now), time.Millisecond),
			}
		}
		return true, problem
	}
	return false, nil
}

// isTrackingPath reports whether tracking metadata is at or below a path, such as the path of all labels.
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

// trackingKeys are the keys of the tracking metadata of owned objects, with the fields of metadata that have
// them.
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

// isSharedMark reports whether tracking metadata of shared objects is at or below a path.
func isSharedMark(path string) bool {
	return slices.ContainsFunc(sharedMarkKeys, func(mark markKey) bool { return observer.IsUnder(mark.path(), path) })
}

// isMetadataMap reports whether a path is metadata, all labels or all annotations, which have tracking
// metadata as well.
func isMetadataMap(path string) bool {
	return path == "metadata" || path == "metadata.labels" || path == "metadata.annotations"
}

// formerTracking returns the removals of tracking metadata that no longer fits the policy: the object was
// owned and is shared now, or it was shared, is owned now, and no other Application shares it.
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

// marks returns the number of held leaves that are tracking metadata. An adopted object has one more.
func (p *Plan) marks() int {
	if p.in.Application.UID == "" {
		return 0
	}
	return 2
}

// withTracking adds the tracking metadata to a schema and a desired state, so that it is created, compared
// and corrected like any held field. It does not change its arguments.
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
	if !of.claims && text(live, "metadata", "labels", v1alpha1.LabelApplicationUID) != string(p.in.Application.UID) && !p.IsObserveOnly() {
		problem.RetryAfter = recheckAfter // no watch reports its deletion
	}
	return problem
}

// NamespaceRemains returns ": " and the condition messages of a namespace about what delays its deletion, or
// "" if there are none.
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
