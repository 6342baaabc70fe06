package reconcile

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// freeing lists the waits between the attempts to create an object with learned values. An API server reports the
// deletion of a Service a moment before it frees the address of the Service.
// Source: docs/semantics.md, "Desired state".
var freeing = []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 450 * time.Millisecond}

// send sends the request of a change. If again is true, the caller must decide again with the object of the outcome,
// which is the current object; nil if it does not exist. Otherwise, the outcome is final, with the object of the
// response or a problem. A shared object is only ever patched.
func (a *sender) send(ctx context.Context, at cluster.Location, change plan.Change) (outcome plan.Outcome, again bool) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if change.Shared { // for every action
		return a.update(ctx, at, change)
	}
	switch change.Action {
	case plan.Create:
		return a.create(ctx, at, change)
	case plan.Update:
		return a.update(ctx, at, change)
	default:
		return a.delete(ctx, at, change)
	}
}

// create creates an object. It does not ask before whether the object exists: AlreadyExists is the response if it
// does, and again is then true. If validation rejects learned values, it repeats the request for half a second, and
// then creates the object without them.
func (a *sender) create(ctx context.Context, at cluster.Location, change plan.Change) (plan.Outcome, bool) {
	outcome := plan.Outcome{Action: plan.Create}
	body, err := a.preCreate(at, change.Manifest)
	if err != nil {
		outcome.Problem = plan.HookProblem(err)
		return outcome, false
	}
	object, err := a.createIn(at.ID.Namespace, func() (map[string]any, error) { return a.target.Create(ctx, at, body) })
	refusesLearned := func() bool { return change.Fallback != nil && code(err) == http.StatusUnprocessableEntity }
	for i := 0; i < len(freeing) && refusesLearned(); i++ {
		if err := a.reconciler.sleep(ctx, freeing[i]); err != nil {
			break
		}
		object, err = a.target.Create(ctx, at, body)
	}
	if refusesLearned() {
		// Another object has the address, so this one is created without it.
		if body, err = a.preCreate(at, change.Fallback); err != nil {
			outcome.Problem = plan.HookProblem(err)
			return outcome, false
		}
		outcome.WithoutLearned = true
		object, err = a.target.Create(ctx, at, body)
	}
	switch {
	case err == nil:
		a.recordWrite(at, object)
		logWrite(ctx, "create", change)
		outcome.Object = object
		return outcome, false
	case apierrors.IsAlreadyExists(err):
		return a.reread(ctx, at, change)
	case refused(err), apierrors.IsForbidden(err):
		// An API server checks a body, and rights, before it checks whether the name exists. A partial
		// manifest may be sufficient for an object that exists.
		if fresh, read := a.reread(ctx, at, change); read && fresh.Object != nil {
			return fresh, true
		}
	}
	// If the request certainly failed, the object does not exist, and the learned values are kept for the next
	// attempt.
	outcome.WithoutLearned = a.noteUnanswered(at.ID, err) && outcome.WithoutLearned
	outcome.Problem = a.target.Problem(err, at, "create")
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		outcome.Problem.Message += a.namespaceRemains(ctx, at.ID.Namespace)
	}
	return outcome, false
}

// namespaceRemains returns why a namespace is still being deleted, or "" if the ServiceAccount may not read it. It
// reads the namespace only once per plan: other goroutines wait for the first one.
func (a *sender) namespaceRemains(ctx context.Context, name string) string {
	read, _ := a.ending.LoadOrStore(name, sync.OnceValue(func() string {
		namespaces := cluster.Mapping{Resource: corev1.SchemeGroupVersion.WithResource("namespaces")}
		live, err := a.target.Get(ctx, cluster.Location{ID: manifest.ID{Kind: "Namespace", Name: name}, Mapping: namespaces})
		if err != nil {
			return ""
		}
		return plan.NamespaceRemains(live)
	}))
	return read.(func() string)()
}

// logWrite logs a successful write, with the paths of the held fields. Errors are in the status. logHistory
// logs which client changed which values.
func logWrite(ctx context.Context, verb string, change plan.Change) {
	values := []any{"verb", verb, "object", change.ID.String()}
	if verb == "patch" {
		fields := []string{}
		for _, d := range change.Fields {
			if !d.HeldBack {
				fields = append(fields, d.Path)
			}
		}
		values = append(values, "fields", fields) // empty if only tracking metadata was written
	}
	klog.FromContext(ctx).Info("Wrote", values...)
}

// noteUnanswered records an object that may have been created despite an error, and reports whether that is
// possible: the response was lost, or the server failed.
func (a *outcomeRecorder) noteUnanswered(id manifest.ID, err error) bool {
	if !isLost(err) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	put(&a.s.memory.unanswered, id, true)
	return true
}

// isLost reports whether a request may have succeeded although it returned an error: there is no response (code 0),
// or the API server failed.
func isLost(err error) bool {
	status := code(err)
	return status == 0 || status >= http.StatusInternalServerError
}

// update sends the patch of a change after its guards. If another client was faster, it reads the object, and again
// is true. If the API server rejects the values of the patch, refuse finds out which ones.
func (a *sender) update(ctx context.Context, at cluster.Location, change plan.Change) (plan.Outcome, bool) {
	outcome := plan.Outcome{Action: plan.Update}
	if err := a.reconciler.Hooks.ResourcePreUpdate.Run(a.changing(at.ID)); err != nil {
		outcome.Problem = plan.HookProblem(err)
		return outcome, false
	}
	ops := slices.Concat(change.Guards, change.Patch)
	object, err := a.target.Patch(ctx, at, ops)
	switch {
	case err == nil:
		a.recordWrite(at, object)
		logWrite(ctx, "patch", change)
		outcome.Object = object
		return outcome, a.clear(change, object)
	// A conflict is a 409: a resourceVersion or UID in the patch differs.
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return a.reread(ctx, at, change)
	// A failed guard and a validation error are both a 422. Only the current object shows which of them it is.
	case guardFailed(err):
		fresh, again := a.reread(ctx, at, change)
		if again && fresh.Object != nil && applies(ops, fresh.Object) {
			break // the guards hold, so the API server rejects the change itself
		}
		return fresh, again
	}
	if isLost(err) {
		a.mu.Lock()
		put(&a.s.memory.unsure, at.ID, a.s.Input.Application.Generation)
		a.mu.Unlock()
	}
	outcome.Problem = a.target.Problem(err, at, "patch")
	if !refused(err) && !deniedByAdmission(err) {
		return outcome, false
	}
	return a.refuse(ctx, at, change, err, outcome.Problem)
}

// delete deletes an object with the UID and the resourceVersion for which it was decided. If the object has
// finalizers, the outcome contains the remaining object, and Gone is false. A conflict means that the object has
// changed, or that another one has its name: it is read and decided again.
func (a *sender) delete(ctx context.Context, at cluster.Location, change plan.Change) (plan.Outcome, bool) {
	outcome := plan.Outcome{Action: plan.Delete}
	if err := a.reconciler.Hooks.ResourcePreDelete.Run(a.changing(at.ID)); err != nil {
		outcome.Problem = plan.HookProblem(err)
		return outcome, false
	}
	remaining, err := a.target.Delete(ctx, at, change.UID, change.ResourceVersion)
	if err == nil {
		logWrite(ctx, "delete", change)
	}
	switch {
	case err == nil && remaining == nil:
		a.recordDeletion(at, change.UID)
		outcome.Gone, outcome.Problem = true, a.postDelete(at.ID)
		return outcome, false
	case err == nil:
		a.recordWrite(at, remaining)
		outcome.Object = remaining
		return outcome, false
	case apierrors.IsConflict(err):
		fresh, again := a.reread(ctx, at, change)
		if !again || fresh.Object != nil {
			return fresh, again // another object has the name now
		}
		outcome.Gone, outcome.Problem = true, a.postDelete(at.ID)
		return outcome, false
	}
	outcome.Problem = a.target.Problem(err, at, "delete")
	return outcome, false
}

// reread reads the current object from the cluster. If again is true, the outcome contains the object, or nil if it
// does not exist. If the read fails, again is false and the outcome contains the problem.
func (a *sender) reread(ctx context.Context, at cluster.Location, change plan.Change) (plan.Outcome, bool) {
	object, err := a.target.Get(ctx, at)
	switch {
	case err == nil:
		a.recordRead(at, object)
		return plan.Outcome{Object: object}, true
	case apierrors.IsNotFound(err):
		a.recordDeletion(at, change.UID)
		return plan.Outcome{}, true
	}
	return plan.Outcome{Action: change.Action, Problem: a.target.Problem(err, at, "get")}, false
}

// applies reports whether a patch, including its guards, can be applied to an object. It applies the patch as the API
// server does, with the same library, and drops the result.
func applies(ops []delta.Op, object map[string]any) bool {
	raw, err := json.Marshal(ops)
	if err != nil {
		return false
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		return false
	}
	document, err := json.Marshal(object)
	if err != nil {
		return false
	}
	_, err = patch.Apply(document)
	return err == nil
}
