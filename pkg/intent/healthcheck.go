package intent

import (
	"errors"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/expression"
)

// kindName matches the name of a kind, which is CamelCase by the Kubernetes API conventions. An empty kind is valid in
// an item, and is not checked with it.
var kindName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// healthCheckFaults returns the validation errors of spec.healthCheckExprs. Two items of one group and kind are an
// error, even in different versions. An item without a kind is valid, and applies to the kinds of its group that have
// no item of their own.
func healthCheckFaults(app *v1alpha1.Application) (faults []error) {
	// The index of the first item for each group and kind.
	position := map[schema.GroupKind]int{}
	for i, item := range app.Spec.HealthCheckExprs {
		fault := func(field, format string, args ...any) {
			faults = append(faults, fmt.Errorf("spec.healthCheckExprs[%d].%s: %w", i, field, fmt.Errorf(format, args...)))
		}
		gv, err := schema.ParseGroupVersion(item.APIVersion)
		if err != nil || gv.Version == "" {
			fault("apiVersion", "%q is no group and version: write it as in a manifest, for example apps/v1", item.APIVersion)
		}
		if item.Kind != "" && !kindName.MatchString(item.Kind) {
			fault("kind", "%q is no kind: write it as in a manifest, for example Deployment", item.Kind)
		}
		gk := schema.GroupKind{Group: gv.Group, Kind: item.Kind}
		if first, isDouble := position[gk]; isDouble {
			fault("kind", "spec.healthCheckExprs[%d] has the same kind: remove one of them", first)
		} else {
			position[gk] = i
		}
		if item.Current == "" {
			fault("current", "is missing: write an expression that is true when the object is ready")
		}
		for _, e := range [][2]string{{"inProgress", item.InProgress}, {"failed", item.Failed}, {"current", item.Current}} {
			if e[1] == "" {
				continue
			}
			if err := expression.CheckPredicate(e[1]); err != nil {
				fault(e[0], "%w. Write a CEL expression that is true or false, for example status.phase == 'Ready'", err)
			}
		}
	}
	return faults
}

// healthCheckProblem returns the Problem of an Application whose spec.healthCheckExprs is invalid. It is checked before
// everything else, because a wrong expression could report an unhealthy Application as Ready.
func healthCheckProblem(app *v1alpha1.Application) *Problem {
	if faults := healthCheckFaults(app); len(faults) > 0 {
		return Problemf(v1alpha1.ReasonHealthCheckInvalid, "%s", Summary(errors.Join(faults...)))
	}
	return nil
}
