package reconcile

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// ProblemOf converts an API server's error to the problem of a resource. It uses the status of the error, and its text
// only to wait instead of asking for a grant. user is the user that sent the request, for the command in the remedy.
//
//	status                         meaning
//	403, namespace terminating     wait
//	403, definition terminating    wait
//	403                            grant: rights, a quota or a policy
//	404                            wait: the namespace is missing
//	400, 405, 413, 422             stall: the API server rejects the object
//	everything else                retry
//
// Source: docs/semantics.md#what-the-api-server-refuses.
func ProblemOf(err error, at cluster.Location, verb, user string) *plan.Problem {
	id, what := at.ID, whatOf(at)
	message := errorText(err, id)
	switch {
	// This is a 403, too, and is not about rights.
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &plan.Problem{
			Reason: v1alpha1.ReasonWaiting, Message: fmt.Sprintf("%s: its namespace is being deleted", id), RetryAfter: 10 * time.Second, Namespace: id.Namespace,
		}
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), definitionTerminating):
		return &plan.Problem{
			Reason: v1alpha1.ReasonWaiting, Message: fmt.Sprintf("%s: its CustomResourceDefinition is being deleted", id), RetryAfter: 10 * time.Second,
		}
	case apierrors.IsForbidden(err):
		remedy := v1alpha1.Remedy{Text: "If the ServiceAccount lacks the right, grant it", Command: grant(at, user)}
		if deniedByAdmission(err) {
			remedy = v1alpha1.Remedy{Text: "The right exists, but a quota, a policy or the RBAC escalation check denies the request: change the object, or ask an administrator. The controller retries automatically"}
		}
		return &plan.Problem{Reason: v1alpha1.ReasonForbidden, Message: fmt.Sprintf("may not %s %s: %s", verb, what, message), Remedy: remedy}
	case apierrors.IsNotFound(err):
		problem := &plan.Problem{Reason: v1alpha1.ReasonWaiting, Message: fmt.Sprintf("cannot %s %s: %s", verb, what, message), RetryAfter: time.Second}
		// All objects of the namespace wait together: see State.missing.
		if verb == "create" && isMissingNamespace(err, id.Namespace) {
			problem.Namespace = id.Namespace
			problem.Remedy = v1alpha1.Remedy{Text: "Create it", Command: "kubectl create namespace " + id.Namespace}
		}
		return problem
	case refused(err):
		problem := &plan.Problem{Reason: v1alpha1.ReasonRejected, Message: fmt.Sprintf("the API server rejects the request to %s %s: %s", verb, what, message)}
		if verb == "patch" {
			problem.Remedy = immutableRemedy(at)
		}
		return problem
	}
	problem := &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: fmt.Sprintf("cannot %s %s now: %s", verb, what, message)}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		problem.RetryAfter = time.Duration(seconds) * time.Second
	}
	return problem
}

// definitionTerminating is the message for a create while the CustomResourceDefinition is being deleted. The status has
// no cause for it. With another message, the problem is Forbidden, and is retried, too.
// Source: forbidCreateAdmission in k8s.io/apiextensions-apiserver/pkg/apiserver.
const definitionTerminating = "create not allowed while custom resource definition is terminating"

// whatOf returns the name of the object at a location, or, without a name, of all objects of its kind there.
func whatOf(at cluster.Location) string {
	switch {
	case at.ID.Name != "":
		return at.ID.String()
	case at.ID.Namespace != "":
		return at.Mapping.Resource.GroupResource().String() + " in namespace " + at.ID.Namespace
	case at.Mapping.Namespaced:
		return at.Mapping.Resource.GroupResource().String() + " in all namespaces"
	}
	return at.Mapping.Resource.GroupResource().String()
}

// isMissingNamespace reports whether an API server's error means that the namespace does not exist. A 404 can also
// mean that the resource is not served, so its details must name the namespace.
func isMissingNamespace(err error, namespace string) bool {
	details := statusOf(err).Details
	return namespace != "" && apierrors.IsNotFound(err) && details != nil &&
		details.Group == "" && details.Kind == "namespaces" && details.Name == namespace
}

// deniedByAdmission reports whether a 403 is the response of an admission plugin, and does not mean that a right is
// missing. The message of an authorizer names the verb that the user cannot use; its status does not differ
// otherwise.
func deniedByAdmission(err error) bool {
	return apierrors.IsForbidden(err) && !unauthorized.MatchString(err.Error())
}

// unauthorized matches the message of an API server about a missing right.
// Source: forbiddenMessage in k8s.io/apiserver/pkg/endpoints/handlers/responsewriters.
var unauthorized = regexp.MustCompile(` cannot [a-z]+ resource `)

// refused reports whether the same request can never succeed, so that a retry needs a change of the object or the
// manifest. It excludes 403, which has several causes: see deniedByAdmission.
func refused(err error) bool {
	return slices.Contains([]int32{
		http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity,
	}, code(err))
}

// statusOf returns the status in an API server's error, or the zero value if there was no response.
func statusOf(err error) metav1.Status {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status.ErrStatus
	}
	return metav1.Status{}
}

// code returns the HTTP status of an API server's error, or 0 if there was no response.
func code(err error) int32 { return statusOf(err).Code }

// guardFailed reports whether a 422 may be the result of a test in the patch. The error then has no causes,
// whereas a validation error always has causes.
func guardFailed(err error) bool {
	status := statusOf(err)
	return status.Code == http.StatusUnprocessableEntity && (status.Details == nil || len(status.Details.Causes) == 0)
}

// errorText returns the text of an error, truncated. An API server repeats values in its messages, so the text for a
// Secret contains only the reason and the names of fields. Source: docs/semantics.md, "Secrets".
func errorText(err error, id manifest.ID) string {
	if !manifest.IsSecret(id.GroupKind()) {
		return Trimmed(err.Error())
	}
	if _, responded := errors.AsType[*apierrors.StatusError](err); !responded {
		return "the request did not succeed (details are withheld for Secrets)"
	}
	text := string(statusOf(err).Reason)
	if fields := causesOf(err); len(fields) > 0 {
		text += " (" + strings.Join(fields, ", ") + ")"
	}
	return text + "; details are withheld for Secrets"
}

// immutableRemedy returns the remedy for a field that the API server never changes. It deletes only objects
// that the controller creates again without loss, and never a shared object, because only its owner can
// decide whether it may be deleted.
func immutableRemedy(at cluster.Location) v1alpha1.Remedy {
	kind := at.ID.GroupKind()
	isStatefulSet := kind == schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	switch {
	case at.Shared:
		return v1alpha1.Remedy{Text: "If the field is immutable, stop holding it: another client owns the object"}
	case kind.Group == "" && (kind.Kind == "ConfigMap" || kind.Kind == "Secret"):
		return v1alpha1.Remedy{Text: "If the field is immutable, set its old value in the manifest, or give the object a new name in all manifests"}
	case !isStatefulSet && !slices.Contains(recreatable[kind.Group], kind.Kind):
		return v1alpha1.Remedy{Text: "If the field is immutable, set its old value in the manifest. To use a new object, give it another name; " +
			"to keep the data of the old one, first annotate it with " + v1alpha1.AnnotationDeletionPolicy + ": " + string(v1alpha1.DeletionOrphan)}
	}
	command := fmt.Sprintf("kubectl delete %s %s", at.Mapping.Resource.GroupResource(), at.ID.Name)
	if at.Mapping.Namespaced {
		command += " -n " + at.ID.Namespace
	}
	if isStatefulSet {
		return v1alpha1.Remedy{
			Text:    "If the field is immutable, delete the StatefulSet, but not its Pods and claims: the controller creates it again from the manifest",
			Command: command + " --cascade=orphan",
		}
	}
	return v1alpha1.Remedy{Text: "If the field is immutable, delete the object: the controller creates it again from the manifest", Command: command}
}

// recreatable are the kinds, by group, that have immutable fields and hold no data.
var recreatable = map[string][]string{
	"":                          {"Pod", "ReplicationController", "Service"},
	"apps":                      {"DaemonSet", "Deployment", "ReplicaSet"},
	"batch":                     {"Job"},
	"discovery.k8s.io":          {"EndpointSlice"},
	"networking.k8s.io":         {"IngressClass"},
	"node.k8s.io":               {"RuntimeClass"},
	"policy":                    {"PodDisruptionBudget"},
	"rbac.authorization.k8s.io": {"ClusterRoleBinding", "RoleBinding"},
	"scheduling.k8s.io":         {"PriorityClass"},
	"storage.k8s.io":            {"CSIDriver", "StorageClass", "VolumeAttributesClass"},
}

// grant returns the command that grants a ServiceAccount the missing rights, and as few others as possible. A new
// Role or ClusterRole grants the rights for one resource only. For built-in kinds of workloads, it binds the
// ClusterRole edit instead, which a namespace administrator may do.
func grant(at cluster.Location, user string) string {
	account := strings.TrimPrefix(user, "system:serviceaccount:")
	_, name, _ := strings.Cut(account, ":")
	verbs := "get,create,patch,delete"
	switch {
	case at.ReadOnly:
		verbs = "get"
	case at.Shared:
		verbs = "get,list,watch,patch"
	}
	// One binding then covers all usual kinds of the namespace.
	if !at.Shared && !at.ReadOnly && at.Mapping.Namespaced && slices.Contains(editable, at.ID.Group) {
		return fmt.Sprintf("kubectl create rolebinding %s -n %s --clusterrole=edit --serviceaccount=%s", name, at.ID.Namespace, account)
	}
	return createRole(name+"-"+at.Mapping.Resource.Resource, at.ID.Namespace, verbs, at.Mapping.Resource.GroupResource(), account)
}

// createRole returns the command that creates a Role and its binding, or a ClusterRole if the namespace is empty.
func createRole(name, namespace, verbs string, resource schema.GroupResource, account string) string {
	kind, where := "clusterrole", ""
	if namespace != "" {
		kind, where = "role", " -n "+namespace
	}
	return fmt.Sprintf("kubectl create %[1]s %[2]s%[3]s --verb=%[6]s --resource=%[4]s && "+
		"kubectl create %[1]sbinding %[2]s%[3]s --%[1]s=%[2]s --serviceaccount=%[5]s", kind, name, where, resource, account, verbs)
}

// editable lists the groups whose namespaced kinds the ClusterRole edit covers.
var editable = []string{"", "apps", "autoscaling", "batch", "networking.k8s.io", "policy"}

// watchProblem returns the problem of objects whose kind cannot be watched. Unlike in ProblemOf, the missing
// permission is the controller's, not the ServiceAccount's.
//
// For a controller of single namespaces, the remedy is holdfast check, which knows the ServiceAccount of the controller.
func watchProblem(app *v1alpha1.Application, gk schema.GroupKind, resource schema.GroupVersionResource, err error) *plan.Problem {
	if apierrors.IsForbidden(err) {
		message := fmt.Sprintf("the controller may not list and watch %s", resource.GroupResource())
		remedy := v1alpha1.Remedy{Text: "Grant it", Command: GrantWatch(resource.GroupResource())}
		if restricted, ok := errors.AsType[*cluster.RestrictedError](err); ok {
			if restricted.Namespace != "" {
				message += " in the namespace " + restricted.Namespace
			}
			remedy = v1alpha1.Remedy{
				Text:    "Grant it. For the command, run",
				Command: fmt.Sprintf("holdfast check %s -n %s", app.Name, app.Namespace),
			}
		}
		return &plan.Problem{Reason: v1alpha1.ReasonForbidden, Message: message, Remedy: remedy}
	}
	return &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: fmt.Sprintf("cannot watch %s now: %s", gk, Trimmed(err.Error()))}
}

// GrantWatch returns the command that lets a controller of all namespaces watch a resource.
func GrantWatch(resource schema.GroupResource) string {
	return fmt.Sprintf("kubectl create clusterrole holdfast-kinds-%[1]s --verb=list,watch --resource=%[2]s && "+
		"kubectl label clusterrole holdfast-kinds-%[1]s holdfast.dev/aggregate-to-controller=true", resource.Resource, resource)
}

// GrantRestrictedWatch returns the command that lets the user of a controller of single namespaces watch a resource in a
// namespace, or in the cluster if it is empty.
func GrantRestrictedWatch(resource schema.GroupResource, namespace, user string) string {
	return createRole("holdfast-kinds-"+resource.Resource, namespace, "list,watch", resource, strings.TrimPrefix(user, "system:serviceaccount:"))
}

// Trimmed returns a message of an API server or of a workload, shortened to 1 KiB. It keeps both ends: an API server
// repeats an object that it cannot decode, and the reason follows the object.
func Trimmed(text string) string {
	const end = 512
	if len(text) > 2*end {
		return strings.ToValidUTF8(text[:end], "") + "…" + strings.ToValidUTF8(text[len(text)-end:], "")
	}
	return text
}

// causesOf returns the fields that an API server names in an error.
func causesOf(err error) (fields []string) {
	details := statusOf(err).Details
	if details == nil {
		return nil
	}
	for _, cause := range details.Causes {
		if cause.Field != "" {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}
