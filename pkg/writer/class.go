package writer

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Class returns the class of a field manager, for metrics. It is one of:
//
//	person       kubectl, or another interactive tool
//	autoscaler   an autoscaler
//	controller   another controller, by its name
//	apply        another client that uses server-side apply
//	other        any other client with a name
//	unknown      the field manager is not known
func Class(manager string, operation metav1.ManagedFieldsOperationType) string {
	// Field managers are free text, so parts of well-known names decide.
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

// appliers are parts of the names of controllers that apply manifests that users wrote.
var appliers = []string{"argocd", "kustomize-controller", "helm-controller", "fleet"}

// IsController reports whether a writer is a program that writes the field continuously. It decides by the
// field manager's name, or by a write through a subresource such as scale.
func (w Writer) IsController() bool {
	if w.Subresource != "" {
		return true
	}
	name := strings.ToLower(w.Manager)
	has := func(part string) bool { return strings.Contains(name, part) }
	if slices.ContainsFunc(appliers, has) {
		return false
	}
	return slices.ContainsFunc(controllerNames, has) || name == "manager" || name == "kube-apiserver"
}
