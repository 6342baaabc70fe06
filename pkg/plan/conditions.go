package plan

import (
	"fmt"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/truncate"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
)

// verdict is a condition without its transition time.
type verdict struct {
	status  metav1.ConditionStatus
	reason  string
	message string
	// stalled is true if only a user can help. The condition Stalled then has the same reason.
	stalled bool
}

func trueVerdict(reason, message string) verdict {
	return verdict{status: metav1.ConditionTrue, reason: reason, message: message}
}

func falseVerdict(reason, message string, stalled bool) verdict {
	return verdict{status: metav1.ConditionFalse, reason: reason, message: message, stalled: stalled}
}

// conditions sets the conditions. The first of these decides Ready: invalid, observe-only, suspended, not
// held, not healthy. All conditions record the generation that was decided.
func (c conditionWriter) conditions() {
	if c.plan.retiring {
		c.deleting()
		return
	}
	rendered, held, healthy := c.rendered(), c.heldVerdict(), c.healthy()
	ready := trueVerdict(v1alpha1.ReasonReady, fmt.Sprintf("%s, %s in sync",
		count(len(c.plan.resources), "resource"), count(c.held, "held field")))
	switch {
	case rendered.status != metav1.ConditionTrue:
		ready = rendered
	case c.plan.IsObserveOnly():
		ready = c.observing()
	case c.plan.Suspended():
		message := "suspended: nothing is corrected until spec.suspend is unset"
		if len(c.waits) > 0 {
			message += fmt.Sprintf("; %d of %s have drifted", len(c.waits), count(len(c.plan.resources), "resource"))
		}
		ready = falseVerdict(v1alpha1.ReasonSuspended, message, false)
	case held.status != metav1.ConditionTrue:
		ready = held
	case healthy.status != metav1.ConditionTrue:
		ready = healthy
	}
	c.set(v1alpha1.ConditionReady, ready)
	c.set(v1alpha1.ConditionRendered, rendered)
	switch {
	// While the spec is invalid, Held and Healthy of the last valid spec remain.
	case c.plan.Invalid == nil:
		c.set(v1alpha1.ConditionHeld, held)
		c.set(v1alpha1.ConditionHealthy, healthy)
	case len(c.plan.in.StaleKinds) > 0: // otherwise the last-applied state is still held
		c.set(v1alpha1.ConditionHeld, staleVerdict(c.plan.in.StaleKinds))
	}
	// kstatus: at most one of Reconciling and Stalled is present. A plan that is not executed has neither.
	working := ready.status != metav1.ConditionTrue && !c.plan.IsNoOp()
	stuck := rendered.stalled || held.stalled
	c.setWhile(v1alpha1.ConditionReconciling, working && !stuck, ready)
	c.setWhile(v1alpha1.ConditionStalled, working && stuck, ready)
}

// completed sets the condition Completed if the workload has reported that its work is done. It removes the condition
// when spec.hooks no longer requests it.
func (c conditionWriter) completed() {
	app := c.plan.in.Application
	at, said := app.Annotations[v1alpha1.AnnotationCompleted]
	if !said || app.Spec.Hooks == nil || app.Spec.Hooks.Complete == nil {
		apimeta.RemoveStatusCondition(&c.result.Status.Conditions, v1alpha1.ConditionCompleted)
		return
	}
	v := trueVerdict(v1alpha1.ReasonCompleted, "the workload said at "+at+" that its work is done")
	// Reported by an event once.
	if apimeta.FindStatusCondition(app.Status.Conditions, v1alpha1.ConditionCompleted) == nil {
		c.notes = append(c.notes, v.message)
	}
	c.set(v1alpha1.ConditionCompleted, v)
}

// deleting sets the conditions of an Application that is being deleted. Held, Healthy and Rendered keep their last
// values.
func (c conditionWriter) deleting() {
	ready := falseVerdict(v1alpha1.ReasonDeleting, "being deleted", false)
	if len(c.problems) > 0 {
		ready = c.heldVerdict()
		ready.message = "being deleted: " + ready.message
	}
	c.setUnready(ready)
}

// setUnready sets the conditions of an Application that is not ready because it is being deleted.
func (c conditionWriter) setUnready(v verdict) {
	c.set(v1alpha1.ConditionReady, v)
	c.setWhile(v1alpha1.ConditionReconciling, !v.stalled, v)
	c.setWhile(v1alpha1.ConditionStalled, v.stalled, v)
}

// rendered returns the verdict on the input: whether the spec is valid, and its template could be translated.
func (c conditionWriter) rendered() verdict {
	if p := c.plan.Invalid; p != nil {
		return falseVerdict(p.Reason, p.Error(), p.Stalled())
	}
	// The manifests of the last translation are decided, so the plan is not invalid.
	if source := c.plan.in.Source; source != nil && source.Problem != nil {
		p := source.Problem
		return falseVerdict(p.Reason, p.Error()+"; the manifests of the last translation remain in use", p.Stalled())
	}
	message := count(len(c.plan.resources), "resource")
	if n := len(c.plan.Warnings); n > 0 {
		message += "; " + count(n, "warning") + ": " + list(c.plan.Warnings)
	}
	return trueVerdict(v1alpha1.ReasonRendered, truncate.String(message, 4096))
}

// staleVerdict returns the verdict while the state of the cluster is not known.
func staleVerdict(why []*Problem) verdict {
	messages := make([]string, len(why))
	for i, p := range why {
		messages[i] = p.Error()
	}
	message := truncate.String("the state of the cluster is not known: "+list(messages), 4096)
	return verdict{status: metav1.ConditionUnknown, reason: why[0].Reason, message: message, stalled: why[0].Stalled()}
}

// contestedVerdict returns the verdict while leaves are contested. Its message has no values, which may be secret.
func contestedVerdict(contested []v1alpha1.ContestedField) verdict {
	messages := make([]string, len(contested))
	for i, f := range contested {
		if f.Path == "" {
			messages[i] = fmt.Sprintf("%s %s is deleted repeatedly", f.Resource.Kind, f.Resource.Name)
			continue
		}
		messages[i] = fmt.Sprintf("%s of %s %s is repeatedly changed back%s", f.Path, f.Resource.Kind, f.Resource.Name, bySuffix(f.Manager))
	}
	return falseVerdict(v1alpha1.ReasonContested, truncate.String(list(messages), 4096), false)
}

// heldVerdict returns the verdict on whether all held fields are in sync. Problems of resources have precedence, then
// stalled watches, contests, and the mode. The first stalled problem decides the reason, or else the first.
func (c conditionWriter) heldVerdict() verdict {
	if len(c.problems) > 0 {
		worst := c.problems[0]
		messages, remedies := make([]string, len(c.problems)), []string(nil)
		for i, p := range c.problems {
			messages[i] = p.Message
			// Many resources often have the same remedy, which is listed once, at the end.
			if remedy := p.Remedy.String(); remedy != "" && !slices.Contains(remedies, remedy) {
				remedies = append(remedies, remedy)
			}
			if p.Stalled() && !worst.Stalled() {
				worst = p
			}
		}
		message := intent.JoinSentences(list(slices.Concat(messages, c.waits)), remedies...)
		return falseVerdict(worst.Reason, truncate.String(message, 4096), worst.Stalled())
	}
	if len(c.plan.in.StaleKinds) > 0 {
		return staleVerdict(c.plan.in.StaleKinds)
	}
	if contested := c.result.Status.Contested; len(contested) > 0 {
		return contestedVerdict(contested)
	}
	if c.plan.IsObserveOnly() {
		return c.differing()
	}
	if c.plan.Suspended() && c.plan.HasWork() {
		waits := c.waits
		if len(waits) == 0 {
			waits = []string{"objects are not deleted while the Application is suspended"}
		}
		return falseVerdict(v1alpha1.ReasonSuspended, truncate.String(list(waits), 4096), false)
	}
	return trueVerdict(v1alpha1.ReasonHeld, count(c.held, "field")+" in sync")
}

// healthy returns the verdict on whether all resources are current. It never stalls, because the health of an
// object changes without a change of the Application. A resource that has failed decides the reason: all of these have
// the same one.
func (c conditionWriter) healthy() verdict {
	if len(c.unhealthy) == 0 {
		return trueVerdict(v1alpha1.ReasonHealthy, count(len(c.plan.resources), "resource")+" current")
	}
	worst := c.unhealthy[0]
	messages := make([]string, len(c.unhealthy))
	for i, p := range c.unhealthy {
		messages[i] = p.id.String() + ": " + p.Message
		if p.Disposition() != v1alpha1.DispositionWait {
			worst = p
		}
	}
	return falseVerdict(worst.Reason, truncate.String(list(messages), 4096), false)
}

// set sets a condition. Its transition time changes only if its status does.
func (c conditionWriter) set(kind string, v verdict) {
	apimeta.SetStatusCondition(&c.result.Status.Conditions, metav1.Condition{
		Type: kind, Status: v.status, Reason: v.reason, Message: v.message,
		ObservedGeneration: c.plan.in.Application.Generation, LastTransitionTime: c.now,
	})
}

// setWhile sets a condition while holds is true, and removes it otherwise.
func (c conditionWriter) setWhile(kind string, holds bool, v verdict) {
	if !holds {
		apimeta.RemoveStatusCondition(&c.result.Status.Conditions, kind)
		return
	}
	// Both are conditions of which True is the abnormal state, with the reason of Ready.
	v.status = metav1.ConditionTrue
	c.set(kind, v)
}
