package plan

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// containerLists are the lists in which an element with a mistyped name adds a container to the workload of
// another owner.
var containerLists = []string{"containers", "initContainers", "ephemeralContainers"}

// newElement is a list element that a shared object lacks and that the next patch would add. A mistyped name of an
// existing element looks the same.
type newElement struct {
	path *observer.Path
	name string
	// names are the names of the elements that the list has. near suggests the most similar one, as the end of
	// a message; empty if none is similar.
	names []string
	near  string
}

// newElementOf returns the element that the correction of a difference would add. It returns false for any
// other difference, for an element without the key name, and for a list that has no elements.
func newElementOf(live map[string]any, d delta.Difference) (e newElement, is bool) {
	e.path = d.LivePath()
	if d.Reason != delta.Missing || !e.path.IsElement() || !strings.HasPrefix(e.path.Label(), "[name=") {
		return e, false
	}
	element, _ := d.Desired.Any.(map[string]any)
	elements, _ := e.path.Parent().Live(live).([]any)
	for _, item := range elements {
		other, _ := item.(map[string]any)
		e.names = append(e.names, manifest.NestedString(other, "name"))
	}
	e.name = manifest.NestedString(element, "name")
	e.near = suggest.DidYouMean(e.name, e.names)
	// A list without elements has no element whose name could be mistyped.
	return e, len(e.names) > 0
}

// isContainer reports whether the element runs in the Pods of the object.
func (e newElement) isContainer() bool {
	return slices.Contains(containerLists, e.path.Parent().Name())
}

// isDeferred reports whether the element is deferred until spec.fields names it: it is a container whose
// name is similar to the name of another container.
// Source: docs/semantics.md, "Elements that a shared object lacks".
func (e newElement) isDeferred(res *resource) bool {
	return !res.policy.Creates && e.near != "" && e.isContainer() && !res.entry.NamesInFields(e.path.String())
}

// isDeferred reports whether the correction of a difference would add a deferred element.
func (res *resource) isDeferred(live map[string]any, d delta.Difference) bool {
	e, is := newElementOf(live, d)
	return is && e.isDeferred(res)
}

func (e newElement) String() string {
	if e.near != "" {
		return fmt.Sprintf("%s has no element %s%s", e.path.Parent(), e.name, e.near)
	}
	return fmt.Sprintf("%s has no element %s, which is added; it has %s", e.path.Parent(), e.name, intent.FirstNames(e.names))
}

// newElementWarnings returns warnings about list elements that would be added to a shared object: containers,
// and elements whose name is similar to the name of another element. Only the plan lists the warnings. The
// status reports the Problem of a deferred element, and nothing about an added one.
func (res *resource) newElementWarnings() (warnings []string) {
	if res.policy.Creates {
		return nil
	}
	for _, d := range res.drift {
		if e, is := newElementOf(res.live, d); is && (e.near != "" || e.isContainer()) {
			warnings = append(warnings, fmt.Sprintf("%s: %s", res.object.ID, e))
		}
	}
	return warnings
}

// newElementProblem returns the Problem of the first deferred list element of a shared object, or nil. The Problem is
// partial: the other fields of the object are held.
func (res *resource) newElementProblem(live map[string]any, compared delta.Comparison) *Problem {
	for _, d := range compared.Differences {
		if e, is := newElementOf(live, d); is && e.isDeferred(res) {
			return &Problem{
				Reason: v1alpha1.ReasonWaiting, As: v1alpha1.DispositionEdit, Partial: true, Path: e.path, FromComparison: true,
				Message: fmt.Sprintf("%s: %s", res.object.ID, e),
				Remedy: v1alpha1.Remedy{Text: fmt.Sprintf(
					"Correct the name in the manifest. To add another container, name it in spec.fields: hold: [\"*\", %q]", e.path)},
			}
		}
	}
	return nil
}
