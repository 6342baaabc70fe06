package mysql

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "holdfast.dev/holdfast/pkg/api/mysql/v1"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/template"
)

// Status implements template.Template. Conditions about objects are computed from the live objects. If these are
// unknown, the previous conditions are kept. It is a function of seen only, so an unchanged cluster gives an unchanged
// status. Validation errors of the spec are in the verdict, not in the result of Status.
func (Template) Status(seen template.Seen) (map[string]any, error) {
	object, _, err := decode(seen.Object)
	if err != nil {
		return nil, err
	}
	d := identity{object.Name, object.Namespace}
	status := v1.MysqlStatus{
		ObservedGeneration: object.Generation,
		Connection:         &v1.Connection{Host: d.host(), Port: port, SecretName: d.name},
	}
	conditions := d.conditions(seen.Live)
	if seen.Live == nil {
		conditions = slices.DeleteFunc(slices.Clone(object.Status.Conditions), func(c v1.Condition) bool {
			return c.Type == v1.ConditionReady || c.Type == v1.ConditionStalled
		})
	}
	// Clients can work if all three objects are available.
	status.Ready = len(conditions) == 3 && !slices.ContainsFunc(conditions, func(c v1.Condition) bool { return c.Status != v1.Available })
	status.Version = cmp.Or(d.acceptingVersion(status.Ready, seen.Live), object.Status.Version)
	conditions = append(conditions, readyConditions(seen.Verdict(), status.Ready, d.waitingFor(conditions, seen.Live))...)
	status.Conditions = withTransitionTimes(object.Status.Conditions, conditions, seen.Now)
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
}

// conditions returns the three conditions about objects. An object that is not in live is missing.
func (i identity) conditions(live template.Live) []v1.Condition {
	return []v1.Condition{
		availableCondition(live[manifest.ID{Group: "apps", Kind: "StatefulSet", Namespace: i.namespace, Name: i.name}]),
		existsCondition(v1.ConditionService, live[manifest.ID{Kind: "Service", Namespace: i.namespace, Name: i.name}]),
		existsCondition(v1.ConditionSecret, live[manifest.ID{Kind: "Secret", Namespace: i.namespace, Name: i.name}]),
	}
}

// availableCondition returns AVAILABLE if the only replica of the current spec is ready. A status of an older
// generation does not count.
//
//	StatefulSet                                                  condition
//	does not exist, or is being deleted                          MISSING
//	has an older observedGeneration, or not one ready replica    CREATING
//	otherwise                                                    AVAILABLE
func availableCondition(set values) v1.Condition {
	condition := existsCondition(v1.ConditionStatefulSet, set)
	if condition.Status == v1.Missing {
		return condition
	}
	seen := integerAt(set, "status", "observedGeneration") >= integerAt(set, "metadata", "generation")
	ready, all := integerAt(set, "status", "readyReplicas"), integerAt(set, "status", "replicas")
	// During an update, the old Pod can still be ready.
	if !seen || ready != 1 || all != 1 {
		condition.Status = v1.Creating
	}
	return condition
}

// existsCondition returns the condition of an object that is usable as soon as it exists.
func existsCondition(kind string, object values) v1.Condition {
	condition := v1.Condition{Type: kind, Status: v1.Available}
	if object == nil || manifest.NestedString(object, "metadata", "deletionTimestamp") != "" {
		condition.Status = v1.Missing
	}
	return condition
}

// acceptingVersion returns the version of the server that accepts connections, or "" if it is unknown. While
// the Pod of an earlier version still runs, it is unknown.
func (i identity) acceptingVersion(usable bool, live template.Live) string {
	set := live[manifest.ID{Group: "apps", Kind: "StatefulSet", Namespace: i.namespace, Name: i.name}]
	if !usable || integerAt(set, "status", "updatedReplicas") != 1 {
		return ""
	}
	containers, _, _ := unstructured.NestedFieldNoCopy(set, "spec", "template", "spec", "containers")
	all, _ := containers.(list)
	for _, one := range all {
		if container, _ := one.(values); manifest.NestedString(container, "name") == containerName {
			_, tag, _ := strings.Cut(manifest.NestedString(container, "image"), image+":")
			return tag
		}
	}
	return ""
}

// readyConditions returns Ready and, if it applies, Stalled. The database is ready if it is usable and
// matches the spec.
//
//	verdict          usable    Ready    reason                   Stalled
//	ready            yes       True     that of the verdict      none
//	ready            no        False    Progressing              none
//	progressing      any       False    Progressing              none
//	stalled          any       False    that of the verdict      True
//	any other        any       False    that of the verdict      none
func readyConditions(verdict template.Verdict, usable bool, waiting string) []v1.Condition {
	ready := v1.Condition{Type: v1.ConditionReady, Status: v1.False, Reason: verdict.Reason, Message: verdict.Message}
	switch {
	case verdict.Ready && usable:
		ready.Status, ready.Message = v1.True, "accepts connections"
	case verdict.Ready, v1alpha1.InfoForReason(verdict.Reason).Progressing():
		ready.Reason, ready.Message = v1alpha1.ReasonProgressing, waiting
	case verdict.Stalled:
		return []v1.Condition{ready, {Type: v1.ConditionStalled, Status: v1.True, Reason: verdict.Reason, Message: verdict.Message}}
	}
	return []v1.Condition{ready}
}

// waitingFor describes the first object that is not ready, or the obstacle that it waits for. The objects are in the
// order of conditions, so the StatefulSet is first.
func (i identity) waitingFor(objects []v1.Condition, live template.Live) string {
	claim := live[manifest.ID{Kind: "PersistentVolumeClaim", Namespace: i.namespace, Name: i.volumeName()}]
	for _, condition := range objects {
		switch condition.Status {
		case v1.Missing:
			return fmt.Sprintf("waiting for the %s to be created", condition.Type)
		case v1.Creating:
			if manifest.NestedString(claim, "status", "phase") == "Pending" {
				return fmt.Sprintf("waiting for the PersistentVolumeClaim %s to be bound to a volume", i.volumeName())
			}
			return fmt.Sprintf("waiting for the Pod of the %s to be ready", condition.Type)
		}
	}
	return "waiting for the controller to apply the current spec to its Application"
}

// withTransitionTimes sets the time of each condition's last transition, and sorts the conditions, in place. The time
// is now if the status has changed.
func withTransitionTimes(before, conditions []v1.Condition, now metav1.Time) []v1.Condition {
	for i := range conditions {
		condition := &conditions[i]
		condition.LastTransitionTime = now
		at := slices.IndexFunc(before, func(c v1.Condition) bool { return c.Type == condition.Type })
		if at >= 0 && before[at].Status == condition.Status && !before[at].LastTransitionTime.IsZero() {
			condition.LastTransitionTime = before[at].LastTransitionTime
		}
	}
	slices.SortFunc(conditions, func(a, b v1.Condition) int { return cmp.Compare(order(a), order(b)) })
	return conditions
}

// order sorts Ready first, because users read it first.
func order(c v1.Condition) int {
	return slices.Index([]string{v1.ConditionReady, v1.ConditionStalled, v1.ConditionService, v1.ConditionSecret, v1.ConditionStatefulSet}, c.Type)
}
