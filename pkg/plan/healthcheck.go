package plan

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/expression"
	"holdfast.dev/holdfast/pkg/manifest"
)

// healthCheck has the expressions for one object.
type healthCheck struct {
	v1alpha1.HealthCheck
	// path is the path of the item in the Application, with a dot; empty if it is built in.
	path string
	// secret is true for a Secret, whose values the messages must not have.
	secret bool
}

// checkFor returns the expressions for an object: those for its kind, those for its group, or the built-in ones. It
// returns nil if there are none.
func checkFor(app *v1alpha1.Application, gk schema.GroupKind, live map[string]any) (check *healthCheck) {
	for i, item := range app.Spec.HealthCheckExprs {
		isForKind := item.Kind == gk.Kind
		if groupIn(item.APIVersion) == gk.Group && (isForKind || item.Kind == "" && check == nil) {
			check = &healthCheck{item, fmt.Sprintf("spec.healthCheckExprs[%d].", i), manifest.IsSecret(gk)}
			if isForKind {
				return check
			}
		}
	}
	if known, ok := builtinCheck(gk, live); ok && check == nil {
		return &healthCheck{HealthCheck: known}
	}
	return check
}

func groupIn(apiVersion string) string {
	group, _, hasGroup := strings.Cut(apiVersion, "/")
	if !hasGroup {
		return ""
	}
	return group
}

// evaluate returns the health of a live object, and the reason if it is not current.
func (c *healthCheck) evaluate(live map[string]any) (health status.Status, message string) {
	generation, _, _ := unstructured.NestedInt64(live, "metadata", "generation")
	if seen, ok, err := unstructured.NestedInt64(live, "status", "observedGeneration"); ok && err == nil && generation != 0 && seen != generation {
		return status.InProgressStatus, fmt.Sprintf("its status describes generation %d, but the object has generation %d", seen, generation)
	}
	for _, e := range []struct {
		name, text string
		means      status.Status
	}{
		{"inProgress", c.InProgress, status.InProgressStatus},
		{"failed", c.Failed, status.FailedStatus},
		{"current", c.Current, status.CurrentStatus},
	} {
		if e.text == "" {
			continue
		}
		holds, err := expression.Holds(e.text, live)
		switch {
		case err != nil && c.secret:
			return status.InProgressStatus, c.path + e.name + " has no result"
		case err != nil:
			return status.InProgressStatus, c.describe(live, e.name+" has no result: "+shorten(err.Error(), 256), e.text, true)
		case holds:
			return e.means, c.describe(live, e.name+" is true", e.text, false)
		}
	}
	return status.InProgressStatus, c.describe(live, "current is false", c.Current, true)
}

// describe returns the result of an expression, after what the object itself reports. isExpected is true if the
// object would be current with a condition that is True.
func (c *healthCheck) describe(live map[string]any, result, text string, isExpected bool) string {
	if c.secret {
		return c.path + result
	}
	result = c.path + result + ": " + shorten(strings.Join(strings.Fields(text), " "), 256)
	if reported := cmp.Or(nativeMessage(live), reportedMessage(live, text, isExpected)); reported != "" {
		return fmt.Sprintf("%s (%s)", shorten(reported, 512), result)
	}
	return result
}

// reportedMessage returns the reason and message of the first condition that an expression names, or of the condition
// Ready, unless it is True and should be, or else the phase and the message of the status. It returns "" if the
// status has none of them.
func reportedMessage(live map[string]any, text string, isExpected bool) string {
	tells := func(condition map[string]any) bool {
		return condition["reason"] != nil && (!isExpected || condition["status"] != "True")
	}
	condition := conditionOf(live, "Ready")
	for _, named := range manifest.NestedMaps(live, "status", "conditions") {
		if tells(named) && strings.Contains(text, "'"+manifest.NestedString(named, "type")+"'") {
			condition = named
			break
		}
	}
	parts := []string{manifest.NestedString(condition, "reason"), manifest.NestedString(condition, "message")}
	if !tells(condition) {
		parts = []string{manifest.NestedString(live, "status", "phase"), manifest.NestedString(live, "status", "message")}
	}
	return strings.Trim(strings.Join(parts, ": "), ": \n")
}

var kindName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// healthCheckFaults returns the validation errors of spec.healthCheckExprs.
func healthCheckFaults(app *v1alpha1.Application) (faults []error) {
	position := map[schema.GroupKind]int{}
	for i, item := range app.Spec.HealthCheckExprs {
		fault := func(field, format string, args ...any) {
			faults = append(faults, fmt.Errorf("spec.healthCheckExprs[%d].%s: %w", i, field, fmt.Errorf(format, args...)))
		}
		gv, err := schema.ParseGroupVersion(item.APIVersion)
		if err != nil || gv.Version == "" {
			fault("apiVersion", "%q is no group and version: write it as in a manifest, for example apps/v1", shorten(item.APIVersion, 64))
		}
		if item.Kind != "" && !kindName.MatchString(item.Kind) {
			fault("kind", "%q is no kind: write it as in a manifest, for example Deployment", shorten(item.Kind, 64))
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

// healthCheckProblem returns the Problem of an Application whose spec.healthCheckExprs is invalid.
func healthCheckProblem(app *v1alpha1.Application) *Problem {
	if faults := healthCheckFaults(app); len(faults) > 0 {
		return problemf(v1alpha1.ReasonHealthCheckInvalid, "%s", Summary(errors.Join(faults...)))
	}
	return nil
}
