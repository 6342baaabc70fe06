package health

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/truncate"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/expression"
	"holdfast.dev/holdfast/pkg/manifest"
)

// kindCheck lists the expressions for one object.
type kindCheck struct {
	v1alpha1.HealthCheck
	// path is the path of the item in the Application, with a dot; empty if it is built in.
	path string
	// secret is true for a Secret, whose values the messages must not have.
	secret bool
}

// HasExpressions reports whether spec.healthCheckExprs decides the health of a kind.
func HasExpressions(app *v1alpha1.Application, gk schema.GroupKind) bool {
	return writtenCheck(app, gk) != nil
}

// writtenCheck returns the expressions of spec.healthCheckExprs for a kind, or else for its group. It returns nil if
// there are none.
func writtenCheck(app *v1alpha1.Application, gk schema.GroupKind) (check *kindCheck) {
	for i, item := range app.Spec.HealthCheckExprs {
		// The version has no effect on expressions.
		gv, _ := schema.ParseGroupVersion(item.APIVersion)
		isForKind := item.Kind == gk.Kind
		if gv.Group == gk.Group && (isForKind || item.Kind == "" && check == nil) {
			check = &kindCheck{item, fmt.Sprintf("spec.healthCheckExprs[%d].", i), manifest.IsSecret(gk)}
			// An item without a kind only applies if no later item names the kind.
			if isForKind {
				return check
			}
		}
	}
	return check
}

// evaluate returns the health of a live object, with a message. The first of inProgress, failed and current that is
// true decides. An expression without a result ends the evaluation as in progress.
// Source: docs/status.md, "Health".
func (c *kindCheck) evaluate(live map[string]any) (health status.Status, message string) {
	// Before the expressions: a status of an earlier generation would show the health of the earlier spec.
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
			return status.InProgressStatus, c.describe(live, e.name+" has no result: "+truncate.String(err.Error(), 256), e.text, true)
		case holds:
			return e.means, c.describe(live, e.name+" is true", e.text, false)
		}
	}
	return status.InProgressStatus, c.describe(live, "current is false", c.Current, true)
}

// describe returns the result of an expression, after what the object itself reports. isExpected is true if the
// object would be current with a condition that is True. For example:
//
//	NotReady: no endpoints (spec.healthCheckExprs[0].current is false: status.ready)
//
// For a Secret, it returns neither the expression nor anything from the object.
func (c *kindCheck) describe(live map[string]any, result, text string, isExpected bool) string {
	if c.secret {
		return c.path + result
	}
	result = c.path + result + ": " + truncate.String(strings.Join(strings.Fields(text), " "), 256)
	if reported := cmp.Or(nativeMessage(live), reportedMessage(live, text, isExpected)); reported != "" {
		return fmt.Sprintf("%s (%s)", truncate.String(reported, 512), result)
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
	condition := Condition(live, "Ready")
	// The expression names a condition in quotes, as isTrue does.
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
