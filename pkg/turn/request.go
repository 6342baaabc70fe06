package turn

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

// freeing are the waits between tries to create an object with what was learned. An API
// server tells everybody that a Service is gone a moment before it frees its address.
var freeing = []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 450 * time.Millisecond}

// send sends the request of a change. again asks to decide anew with the object
// of the outcome, which is what the cluster really has; nil if it has none.
func (a *executor) send(ctx context.Context, at cluster.Location, change plan.Change) (outcome plan.Outcome, again bool) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if change.Shared { // whatever has been decided
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

func (a *executor) create(ctx context.Context, at cluster.Location, change plan.Change) (plan.Outcome, bool) {
	outcome := plan.Outcome{Action: plan.Create}
	body, err := a.preCreate(at, change.Manifest)
	if err != nil {
		outcome.Problem = plan.HookProblem(err)
		return outcome, false
	}
	object, err := a.createIn(at.ID.Namespace, func() (map[string]any, error) { return a.target.Create(ctx, at, body) })
	refusesLearned := func() bool { return change.Fallback != nil && code(err) == http.StatusUnprocessableEntity }
	for i := 0; i < len(freeing) && refusesLearned(); i++ {
		if err := a.turns.sleep(ctx, freeing[i]); err != nil {
			break
		}
		object, err = a.target.Create(ctx, at, body)
	}
	if refusesLearned() {
		// Another client has the address: without it, then.
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
		// An API server judges a body, and rights, before it looks whether the name is
		// taken: a part of a manifest may be all that is wanted of an object that exists.
		if fresh, read := a.reread(ctx, at, change); read && fresh.Object != nil {
			return fresh, true
		}
	}
	outcome.WithoutLearned = a.noteUnanswered(at.ID, err) && outcome.WithoutLearned
	outcome.Problem = a.target.Problem(err, at, "create")
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		outcome.Problem.Message += a.namespaceRemains(ctx, at.ID.Namespace)
	}
	return outcome, false
}

// namespaceRemains is what a namespace that is being deleted says of that, once for all
// that is to be created in it; nothing, if the ServiceAccount may not read it.
func (a *executor) namespaceRemains(ctx context.Context, name string) string {
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

// logWrite logs a write that was done: of what is held, the paths. What has failed is in the
// status; who has changed what, and to what, logHistory tells.
func logWrite(ctx context.Context, verb string, change plan.Change) {
	values := []any{"verb", verb, "object", change.ID.String()}
	if verb == "patch" {
		fields := []string{}
		for _, d := range change.Fields {
			if !d.HeldBack {
				fields = append(fields, d.Path)
			}
		}
		values = append(values, "fields", fields) // none: only our marks
	}
	klog.FromContext(ctx).Info("Wrote", values...)
}

// noteUnanswered remembers an object that may have been created all the same, and reports
// whether it may: the answer was lost, or is that of a server that stumbled.
func (a *executor) noteUnanswered(id manifest.ID, err error) bool {
	if !isLost(err) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	put(&a.s.memory.unanswered, id, true)
	return true
}

// isLost reports whether what was asked for may have been done, though the answer is an
// error.
func isLost(err error) bool {
	status := code(err)
	return status == 0 || status >= http.StatusInternalServerError
}

func (a *executor) update(ctx context.Context, at cluster.Location, change plan.Change) (plan.Outcome, bool) {
	outcome := plan.Outcome{Action: plan.Update}
	if err := a.turns.Hooks.ResourcePreUpdate.Run(a.changing(at.ID)); err != nil {
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
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return a.reread(ctx, at, change)
	case guardFailed(err):
		fresh, again := a.reread(ctx, at, change)
		if again && fresh.Object != nil && applies(ops, fresh.Object) {
			break // the guards hold: it is the change itself that is refused
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

func (a *executor) delete(ctx context.Context, at cluster.Location, change plan.Change) (plan.Outcome, bool) {
	outcome := plan.Outcome{Action: plan.Delete}
	if err := a.turns.Hooks.ResourcePreDelete.Run(a.changing(at.ID)); err != nil {
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

// reread reads what the cluster really has.
func (a *executor) reread(ctx context.Context, at cluster.Location, change plan.Change) (plan.Outcome, bool) {
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

// applies reports whether a patch, guards included, fits an object.
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
