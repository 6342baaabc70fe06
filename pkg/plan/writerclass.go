package plan

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WriterClass returns the class of a writer, for metrics. It is one of:
//
//	person       kubectl, or another interactive tool
//	autoscaler   an autoscaler
//	controller   another controller, by its name
//	apply        another client that uses server-side apply
//	other        any other client with a name
//	unknown      the field manager is not known
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

// controllerNames are parts of field manager names that identify controllers, not interactive tools.
var controllerNames = []string{
	"controller", "autoscaler", "operator", "kubelet", "scheduler", "injector", "webhook", "recommender", "admission",
}
