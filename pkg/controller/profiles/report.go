package profiles

import (
	"context"
	"reflect"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
)

// report writes the status of a profile if it has changed. It waits for the first check of the names of a valid
// profile. The status is written without a resourceVersion, because replicas with the same view report the same.
func (p *Profiles) report(ctx context.Context, name string) error {
	p.mu.Lock()
	// All values are of one moment, and the request is sent without the lock.
	store, condition, one := p.store, p.condition(name), p.known[name]
	objects, counted := p.counts.sum[name], p.counts.sum != nil
	p.mu.Unlock()
	if store == nil || one.err == nil && !one.checked {
		return nil
	}
	object := store.Get(types.NamespacedName{Name: name})
	if object == nil {
		return nil
	}
	profile, err := cluster.DecodeProfile(object.JSON())
	if err != nil {
		return err
	}
	before := profile.Status.DeepCopy()
	condition.Type, condition.ObservedGeneration = v1alpha1.ConditionReady, profile.Generation
	condition.LastTransitionTime = metav1.NewTime(p.now().UTC().Truncate(time.Second))
	// The time of an unchanged condition is kept, so reports can be compared.
	apimeta.SetStatusCondition(&profile.Status.Conditions, condition)
	if counted {
		profile.Status.Objects = &objects
	}
	if reflect.DeepEqual(*before, profile.Status) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cluster.RequestTimeout)
	defer cancel()
	written, err := p.client.WriteObjectStatus(ctx, v1alpha1.ProfileGroupVersionResource, object, profile.Status, v1alpha1.FieldManager)
	if err == nil {
		store.Wrote(written)
	}
	return err
}

// condition returns the condition Ready of a profile. The caller holds the lock.
func (p *Profiles) condition(name string) metav1.Condition {
	one := p.known[name]
	switch {
	case one.err != nil:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha1.ProfileInvalid, Message: intent.Summary(one.err) + ". The profile has no effect"}
	case one.profile != nil && one.profile.NotSupported() != nil:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha1.ProfileNotSupported, Message: one.profile.NotSupported().Error()}
	case one.unknown != nil:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha1.ProfileUnknownNames, Message: intent.Summary(one.unknown) + "\nAll other rules and paths are in effect"}
	case one.profile != nil && one.profile.AsksForAutoscalers() && p.autoscalers != nil && p.autoscalers.refused:
		return metav1.Condition{
			Status: metav1.ConditionFalse, Reason: v1alpha1.ProfileAutoscalersForbidden,
			Message: "rules with whileTargetedBy have no effect: the controller may not list and watch horizontalpodautoscalers.autoscaling; " +
				"to grant it, create a ClusterRole with the label holdfast.dev/aggregate-to-controller: \"true\"",
		}
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: v1alpha1.ProfileInEffect, Message: "In effect"}
}
