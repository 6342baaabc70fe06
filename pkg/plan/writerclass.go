package plan

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WriterClass is what kind of client has written something, for metrics: one word of a few.
//
//	person       kubectl, or another tool that people type into or click on
//	autoscaler   one of those that follow the load
//	controller   another program that follows a cluster, by its name
//	apply        server-side apply, by whatever else
//	other        what has a name that says nothing
//	unknown      nobody knows
func WriterClass(manager string, operation metav1.ManagedFieldsOperationType) string {
	name := strings.ToLower(manager)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
	}
	switch {
	case name == "":
		return "unknown"
	case has("kubectl", "k9s", "lens", "headlamp", "dashboard", "console"):
		return "person"
	case has("autoscaler", "keda", "recommender"):
		return "autoscaler"
	case has(controllerNames...):
		return "controller"
	case operation == metav1.ManagedFieldsOperationApply:
		return "apply"
	}
	return "other"
}

// controllerNames are parts of the names of field managers that are programs
// which follow a cluster, and not people and their tools.
var controllerNames = []string{
	"controller", "autoscaler", "operator", "kubelet", "scheduler", "injector", "webhook", "recommender", "admission",
}
