package cli

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/pkg/cli/connection"
)

// checker looks at a cluster with the rights of the user.
type checker struct {
	*connection.Cluster

	now time.Time
}

// oldest is the version of Kubernetes that Holdfast needs: the first one with
// ValidatingAdmissionPolicy v1.
const oldest = "1.30"

// applierName is the ServiceAccount of Applications that name none, unless the
// controller has been told otherwise.
const applierName = connection.ApplierName

var (
	definitions      = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	leases           = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	serviceAccounts  = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	policies         = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	policyBindings   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}
	reviews          = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}
	ownReviews       = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}
	admissionObjects = "holdfast-service-accounts"
)

// all are the findings of all checks. An error is one that keeps everything from being
// checked.
func (c checker) all(ctx context.Context) ([]CheckResult, error) {
	kubernetes, err := c.kubernetes()
	if err != nil {
		return nil, err
	}
	at, err := c.controllerNamespace(ctx)
	if err != nil {
		return nil, err
	}
	findings := []CheckResult{kubernetes}
	for _, check := range []struct {
		name string
		run  func(context.Context) (message, remedy string, err error)
	}{
		{"definitions", c.definitions},
		{"controller", func(ctx context.Context) (string, string, error) { return c.controller(ctx, at) }},
		{"its rights", func(ctx context.Context) (string, string, error) { return c.controllerRights(ctx, at) }},
		{"admission policy", c.admission},
		{"your rights", c.ownRights},
		{"ServiceAccount", c.applier},
	} {
		message, remedy, err := check.run(ctx)
		switch {
		case apierrors.IsForbidden(err):
			findings = append(findings, CheckResult{check.name, checkUnknown, "you may not ask: " + err.Error(), ""})
		case err != nil:
			return nil, c.Explained(err, "check", check.name)
		case remedy != "":
			findings = append(findings, CheckResult{check.name, checkFailed, message, remedy})
		default:
			findings = append(findings, CheckResult{check.name, checkOK, message, ""})
		}
	}
	return findings, nil
}

func (c checker) kubernetes() (CheckResult, error) {
	info, err := c.Discovery.ServerVersion()
	if err != nil {
		return CheckResult{}, c.Explained(err, "get", "the version")
	}
	found, err := version.ParseGeneric(info.GitVersion)
	if err == nil && found.LessThan(version.MustParseGeneric(oldest)) {
		return CheckResult{"Kubernetes", checkFailed, info.GitVersion, "Holdfast needs Kubernetes " + oldest + " or newer: upgrade the cluster"}, nil
	}
	return CheckResult{"Kubernetes", checkOK, info.GitVersion, ""}, nil
}

// controllerNamespace is where the controller is installed, as far as the user may know.
func (c checker) controllerNamespace(ctx context.Context) (string, error) {
	binding, err := c.Own.Resource(clusterRoleBindings).Get(ctx, controllerName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return deploy.Namespace, nil
	}
	if err != nil {
		return "", c.Explained(err, "get", "ClusterRoleBinding "+controllerName)
	}
	return cmp.Or(subjectNamespace(binding), deploy.Namespace), nil
}

// subjectNamespace is the namespace of the first subject of a binding that has one.
func subjectNamespace(binding *unstructured.Unstructured) string {
	subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	for _, item := range subjects {
		subject, _ := item.(map[string]any)
		if namespace, _ := subject["namespace"].(string); namespace != "" {
			return namespace
		}
	}
	return ""
}

// definitions compares the definitions of the kinds with those that this program has.
func (c checker) definitions(ctx context.Context) (message, remedy string, err error) {
	const install = "`holdfast install` installs and upgrades it, as `kubectl apply --server-side -f deploy/crd` and Helm do"
	objects, err := installed(deploy.Namespace)
	if err != nil {
		return "", "", err
	}
	var names []string
	for _, built := range objects {
		if built.GetKind() != "CustomResourceDefinition" {
			continue
		}
		found, err := c.Own.Resource(definitions).Get(ctx, built.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return built.GetName() + " is not there", install, nil
		case err != nil:
			return "", "", err
		case !sameSchemas(built, found):
			return built.GetName() + " is not the one of this program: one of the two is older", install + ", if it is the cluster's", nil
		}
		names = append(names, built.GetName())
	}
	return strings.Join(names, ", ") + ", as in this program", "", nil
}

// sameSchemas reports whether two definitions have the same versions with the same
// schemas. The API server adds to the rest.
func sameSchemas(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(schemasOf(a), schemasOf(b))
}

func schemasOf(definition *unstructured.Unstructured) map[string]any {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	all := map[string]any{}
	for _, item := range versions {
		if version, ok := item.(map[string]any); ok {
			all[fmt.Sprint(version["name"], " ", version["served"])] = version["schema"]
		}
	}
	return all
}

// controller says when a controller has led last.
func (c checker) controller(ctx context.Context, at string) (message, remedy string, err error) {
	name := "Lease " + at + "/" + controllerName
	lease, err := c.Own.Resource(leases).Namespace(at).Get(ctx, controllerName, metav1.GetOptions{})
	start := fmt.Sprintf("look at `kubectl get deploy,pods -n %s`, and at the log of the controller. One that runs with --leader-elect=false has no lease", at)
	switch {
	case apierrors.IsNotFound(err):
		return "none has been seen: there is no " + name, start, nil
	case err != nil:
		return "", "", err
	}
	renewed, _, _ := unstructured.NestedString(lease.Object, "spec", "renewTime")
	holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	seconds, _, _ := unstructured.NestedInt64(lease.Object, "spec", "leaseDurationSeconds")
	last, err := time.Parse(time.RFC3339, renewed)
	if err != nil {
		return name + " was never renewed", start, nil //nolint:nilerr // which is what that means
	}
	ago := max(c.now.Sub(last), 0).Round(time.Second)
	switch {
	case holder == "":
		return fmt.Sprintf("the last one has ended, %s ago", ago), start, nil
	case ago > time.Duration(seconds)*time.Second:
		return fmt.Sprintf("%s was last seen %s ago, and leads no more", holder, ago), start, nil
	}
	return fmt.Sprintf("%s leads, seen %s ago", holder, ago), "", nil
}

// access is something that a user may do.
type access struct{ verb, group, resource, subresource, name string }

func (a access) String() string {
	text := a.verb + " " + schema.GroupResource{Group: a.group, Resource: a.resource}.String()
	if a.subresource != "" {
		text += "/" + a.subresource
	}
	return strings.TrimSuffix(text+" "+a.name, " ")
}

// controllerRights asks whether the controller may do in the namespace what it has to.
func (c checker) controllerRights(ctx context.Context, at string) (message, remedy string, err error) {
	user := "system:serviceaccount:" + at + ":" + controllerName
	for _, needed := range []access{
		{"watch", "holdfast.dev", "applications", "", ""}, {"patch", "holdfast.dev", "applications", "status", ""},
		{"impersonate", "", "serviceaccounts", "", applierName}, {"watch", "apps", "deployments", "", ""},
	} {
		allowed, err := c.allowed(ctx, user, needed)
		if err != nil {
			return "", "", err
		}
		if !allowed {
			return fmt.Sprintf("%s may not %s in the namespace %s", user, needed, c.Namespace),
				"install what gives it the rights: `holdfast install`, or list the namespace in what you have installed (docs/operations.md)", nil
		}
	}
	return user + " may watch and write what it has to in the namespace " + c.Namespace, "", nil
}

// allowed asks the API server whether a user may do something in the namespace; the
// user himself, if nobody is named.
func (c checker) allowed(ctx context.Context, user string, a access) (bool, error) {
	attributes := &authorizationv1.ResourceAttributes{
		Namespace: c.Namespace, Verb: a.verb, Group: a.group, Resource: a.resource, Subresource: a.subresource, Name: a.name,
	}
	resource, review := ownReviews, any(&authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
		Spec:     authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes},
	})
	if user != "" {
		resource, review = reviews, &authorizationv1.SubjectAccessReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
			Spec:     authorizationv1.SubjectAccessReviewSpec{User: user, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + strings.Split(user, ":")[2], "system:authenticated"}, ResourceAttributes: attributes},
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, err
	}
	answer, err := c.Own.Resource(resource).Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, nil
}

// admission looks for the policy that keeps authors from using ServiceAccounts that are
// not theirs.
func (c checker) admission(ctx context.Context) (message, remedy string, err error) {
	for _, resource := range []schema.GroupVersionResource{policies, policyBindings} {
		_, err := c.Own.Resource(resource).Get(ctx, admissionObjects, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return resource.Resource + "/" + admissionObjects + " is not there: who may write Applications acts as any ServiceAccount of his namespace",
				"`kubectl apply --server-side -k deploy/admission`, or `holdfast install`. See docs/security.md", nil
		}
		if err != nil {
			return "", "", err
		}
	}
	return "an author must be allowed to impersonate the ServiceAccount", "", nil
}

// ownRights asks whether the user may submit Applications to the namespace.
func (c checker) ownRights(ctx context.Context) (message, remedy string, err error) {
	for _, needed := range []access{{"create", "holdfast.dev", "applications", "", ""}, {"impersonate", "", "serviceaccounts", "", applierName}} {
		allowed, err := c.allowed(ctx, "", needed)
		if err != nil {
			return "", "", err
		}
		if !allowed {
			return fmt.Sprintf("you may not %s in the namespace %s", needed, c.Namespace), "ask for that right, or use another --context, --as or -n", nil
		}
	}
	return "you may submit Applications to the namespace " + c.Namespace, "", nil
}

// allNameOne reports whether there are Applications in the namespace, and all of them name a
// ServiceAccount.
func (c checker) allNameOne(ctx context.Context) (bool, error) {
	list, err := c.Own.Resource(connection.Applications).Namespace(c.Namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err): // the definitions are not there, which is another finding
		return false, nil
	case err != nil:
		return false, err
	}
	return len(list.Items) > 0 && !slices.ContainsFunc(list.Items, func(u unstructured.Unstructured) bool {
		account, _, _ := unstructured.NestedString(u.Object, "spec", "serviceAccountName")
		return account == ""
	}), nil
}

// applier looks at the ServiceAccount that Applications of the namespace use by default.
func (c checker) applier(ctx context.Context) (message, remedy string, err error) {
	grant := fmt.Sprintf("`kubectl create serviceaccount %[2]s -n %[1]s` and `kubectl create rolebinding %[2]s -n %[1]s --clusterrole=edit --serviceaccount=%[1]s:%[2]s`, "+
		"unless the Applications name another one in spec.serviceAccountName", c.Namespace, applierName)
	_, err = c.Own.Resource(serviceAccounts).Namespace(c.Namespace).Get(ctx, applierName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		named, err := c.allNameOne(ctx)
		switch {
		case err != nil:
			return "", "", err
		case named:
			return c.Namespace + "/" + applierName + " is not there, and all Applications of the namespace name another one", "", nil
		}
		return c.Namespace + "/" + applierName + " is not there", grant, nil
	case err != nil:
		return "", "", err
	}
	allowed, err := c.allowed(ctx, "system:serviceaccount:"+c.Namespace+":"+applierName, access{verb: "create", resource: "configmaps"})
	if err != nil {
		return "", "", err
	}
	if !allowed {
		return c.Namespace + "/" + applierName + " may not create configmaps", grant, nil
	}
	return c.Namespace + "/" + applierName + " is there, and may write", "", nil
}
