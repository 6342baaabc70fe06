package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// isDone reports whether an object that does not exist is a Job that finished and was removed for that. It
// ran with this exact manifest, and no user has requested a new run.
func (p *Plan) isDone(res *resource) bool {
	app, status := p.in.Application, p.statuses[res.object.ID]
	if status == nil || !isJob(res.object.ID) || app.Annotations[v1alpha1.AnnotationReconcile] != app.Status.ReconcileRequest {
		return false
	}
	ended := p.in.FinishedJobs[res.object.ID]
	finished := status.Job != nil && status.Job.Finished || hasFinished(ended) && isOwned(app, res.object.ID, status, ended)
	return finished && (status.Job == nil || status.Job.Manifest == res.digest())
}

// run returns the JobRun of a resource for the inventory; nil if it is not a Job.
func (res *resource) run(before *v1alpha1.ResourceStatus, o resourceResult) *v1alpha1.JobRun {
	var known *v1alpha1.JobRun
	if before != nil {
		known = before.Job
	}
	created := o.live != nil && (o.action == Create || known == nil || string(before.UID) != text(o.live, "metadata", "uid"))
	switch {
	case !res.policy.creates, !isJob(res.object.ID), o.live == nil && known == nil && !res.done:
		return nil
	case created, known == nil:
		return &v1alpha1.JobRun{Manifest: res.digest(), Finished: res.done || hasFinished(o.live)}
	}
	return &v1alpha1.JobRun{Manifest: known.Manifest, Finished: res.done || hasFinished(o.live)}
}

// healthOfDone returns the last health of a Job that is gone. The object in the deletion event has a
// deletionTimestamp, with which it would be terminating forever.
func healthOfDone(before *v1alpha1.ResourceStatus, ended map[string]any) (string, *Problem) {
	if ended != nil {
		ended = observer.CopyMap(ended)
		unstructured.RemoveNestedField(ended, "metadata", "deletionTimestamp")
		return healthOf(ended)
	}
	if m := v1alpha1.InfoForReason(before.Reason); m.Health && !m.Progressing() {
		return before.Health, &Problem{Reason: before.Reason, Message: before.Message}
	}
	return healthCurrent, nil
}

func isJob(id manifest.ID) bool { return id.Group == "batch" && id.Kind == "Job" }

// hasFinished reports whether a Job has succeeded or failed and will be removed after its TTL.
func hasFinished(job map[string]any) bool {
	if _, removed, _ := unstructured.NestedFieldNoCopy(job, "spec", "ttlSecondsAfterFinished"); !removed {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(job, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if (condition["type"] == "Complete" || condition["type"] == "Failed") && condition["status"] == "True" {
			return true
		}
	}
	return false
}

// digest returns the SHA-256 digest of the manifest, before hooks, in hexadecimal.
func (res *resource) digest() string {
	content := res.written
	if content == nil {
		content = res.object.Content
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// leaf returns the leaf that represents the object itself in a contest: another client deletes it again and
// again.
func (res *resource) leaf() Leaf { return Leaf{ID: res.object.ID} }

// recreationProblem returns the Problem of an object that does not exist and must not be created again yet.
func (p *Plan) recreationProblem(res *resource) *Problem {
	return &Problem{
		Reason:  v1alpha1.ReasonContested,
		Message: res.object.ID.String() + " is deleted again and again: it is created again when its time comes (status.contested)",
		// Positive, because the create is deferred.
		RetryAfter: max(p.in.Memory.Contests[res.leaf()].Next.Sub(p.in.Now), time.Millisecond),
	}
}
