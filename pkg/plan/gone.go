package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/health"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
)

// isDone reports whether an object that does not exist is a Job that finished and was removed for that. It
// ran with this exact manifest, and no user has requested a new run.
// Source: docs/semantics.md, "Writing".
func (p decider) isDone(res *resource) bool {
	app, status := p.in.Application, p.statuses[res.object.ID]
	if status == nil || !isJob(res.object.ID) || app.Annotations[v1alpha1.AnnotationReconcile] != app.Status.ReconcileRequest {
		return false
	}
	// The Job may have finished after the last status. Then only the deletion event shows it.
	ended := p.in.FinishedJobs[res.object.ID]
	finished := status.Job != nil && status.Job.Finished || hasFinished(ended) && claim.IsOwned(app, res.object.ID, status, ended)
	// Without a recorded run, nothing shows that the finished Job was created from another manifest.
	return finished && (status.Job == nil || status.Job.Manifest == res.digest())
}

// hasFinished reports whether a Job has succeeded or failed and will be removed after its TTL. Without a TTL, another
// client must have deleted the Job, so it is created again.
func hasFinished(job map[string]any) bool {
	if _, removed, _ := unstructured.NestedFieldNoCopy(job, "spec", "ttlSecondsAfterFinished"); !removed {
		return false
	}
	isTrue := func(kind string) bool { return manifest.NestedString(health.Condition(job, kind), "status") == "True" }
	return isTrue("Complete") || isTrue("Failed")
}

// digest returns the SHA-256 digest of the manifest, before hooks, in hexadecimal. A change that only
// a hook makes is no reason to run a Job again. If a hook has added the object, it is the digest of the object.
func (res *resourceInput) digest() string {
	if res.written == nil {
		return intent.Digest(res.object.Content)
	}
	return intent.Digest(res.written)
}

// recreationProblem returns the Problem of an object that does not exist and must not be created again yet.
func (p decider) recreationProblem(res *resource) *Problem {
	return &Problem{
		Reason:  v1alpha1.ReasonContested,
		Message: res.object.ID.String() + " is deleted repeatedly: it is created again after the backoff (see status.contested)",
		// Positive, because the create is deferred.
		RetryAfter: max(p.in.Memory.Contests[res.leaf()].Next.Sub(p.in.Now), time.Millisecond),
	}
}
