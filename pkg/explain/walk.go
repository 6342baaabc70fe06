package explain

import (
	"cmp"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/writer"
)

// explainer is a visitor of delta.Walk that collects fields. The patch results from the same walk, so an explanation
// cannot contradict the plan.
type explainer struct {
	plan        *plan.Plan
	in          plan.Input // the input of the plan
	id          manifest.ID
	schema      *observer.Schema // nil if it is no longer desired
	decided     plan.Inspection
	live        map[string]any
	change      plan.Change
	removals    []delta.Difference // removals that the walk does not find
	authors     *writer.Index
	claims      map[string]string // other holders, by the JSON pointer of their field
	showSecrets bool
	fields      []Field
}

// removal returns the difference in removals that removes a field, or nil.
func (e *explainer) removal(path *observer.Path) *delta.Difference {
	if len(e.removals) == 0 {
		return nil
	}
	// The removal of a map or element also removes the fields below it.
	pointer := path.Pointer() + "/"
	for i, d := range e.removals {
		if strings.HasPrefix(pointer, d.LivePath().Pointer()+"/") {
			return &e.removals[i]
		}
	}
	return nil
}

// hides reports whether a field is omitted: it identifies the object, or the API server manages it.
func hides(f delta.Field) bool {
	chain := f.Path.Chain()
	switch root := chain[0].Name(); {
	case root == "apiVersion" || root == "kind":
		return true
	case root != "metadata":
		return false
	case len(chain) == 1:
		return true
	}
	name := chain[1].Name()
	return slices.Contains(serverFields, name) || name == "namespace" && f.State == delta.StateFree
}

// serverFields are the fields of metadata that the API server sets, and the name.
var serverFields = []string{
	"name", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
	"deletionTimestamp", "deletionGracePeriodSeconds",
}

// inOrder sorts fields for display: metadata first and the status last; within a map first the fields
// without children, then by name; within a list in the desired order, then in the live order.
func inOrder(fields []Field) []Field {
	// Computed once per field, because a comparison would allocate two chains.
	chains := make(map[*observer.Path][]*observer.Path, len(fields))
	for _, f := range fields {
		chains[f.livePath] = f.livePath.Chain()
	}
	slices.SortStableFunc(fields, func(a, b Field) int {
		x, y := chains[a.livePath], chains[b.livePath]
		for i := range min(len(x), len(y)) {
			if c := compareSteps(a, b, x[i:], y[i:], i == 0); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(x), len(y))
	})
	return fields
}

// compareSteps compares the first of the remaining path elements of two fields.
func compareSteps(a, b Field, x, y []*observer.Path, root bool) int {
	switch {
	case x[0].IsElement() && y[0].IsElement():
		// As unsigned numbers, so that the index -1 of an element that is not desired is the largest.
		return cmp.Or(cmp.Compare(uint(x[0].DesiredIndex()), uint(y[0].DesiredIndex())), cmp.Compare(x[0].Index(), y[0].Index()), cmp.Compare(x[0].Label(), y[0].Label()))
	case x[0].Name() == y[0].Name():
		return 0
	case root && rank(x[0].Name()) != rank(y[0].Name()):
		return cmp.Compare(rank(x[0].Name()), rank(y[0].Name()))
	}
	return cmp.Or(cmp.Compare(a.depth(len(x)), b.depth(len(y))), cmp.Compare(x[0].Name(), y[0].Name()))
}

// rank sorts metadata before and status after all other fields.
func rank(root string) int {
	switch root {
	case "metadata":
		return 0
	case "status":
		return 2
	default:
		return 1
	}
}

// depth returns 0 if the first of the remaining path elements leads to a single value, and 1 otherwise. left is the
// number of these path elements.
func (f Field) depth(left int) int {
	if left > 1 || delta.HasChildren(f.Live.Any) || delta.HasChildren(f.Desired.Any) {
		return 1
	}
	return 0
}
