package setup

import (
	"context"
	"fmt"
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
	"holdfast.dev/holdfast/pkg/manifest"
)

// checker checks a cluster with the permissions of the user. Its checks return a remedy if they fail. The checks are
// independent, except that they use found. They are run one after the other, in the order in which a failure
// explains later ones.
type checker struct {
	*connection.Cluster

	now   time.Time    // with which Leases are compared
	apps  []rights     // of the given Applications; none if only the namespace is checked
	found installation // set by all
}

// oldest is the oldest version of Kubernetes that Holdfast supports: the first one with ValidatingAdmissionPolicy v1.
const oldest = "1.30"

// admissionObjects is the name of the admission policy and of its binding. They are cluster-scoped, and have the same
// name in all ways to install.
const admissionObjects = "holdfast-service-accounts"

// all returns the results of all checks. An error means that the checks could not be completed.
func (c checker) all(ctx context.Context) ([]CheckResult, error) {
	kubernetes, err := c.kubernetes()
	if err != nil {
		return nil, err
	}
	if c.found, err = findInstallation(ctx, c.Cluster, ""); err != nil {
		return nil, err
	}
	findings := []CheckResult{kubernetes}
	for _, check := range []struct {
		name string
		run  func(context.Context) (message, remedy string, err error)
	}{
		{"definitions", c.definitions},
		{"controller", c.controller},
		{"its rights", c.controllerRights},
		{"admission policy", c.admission},
		{"your rights", c.ownRights},
		{"ServiceAccount", c.applier},
	} {
		message, remedy, err := check.run(ctx)
		finding, err := c.result(check.name, message, remedy, err)
		if err != nil {
			return nil, err
		}
		findings = append(findings, finding)
	}
	return findings, nil
}

// result returns the result of a check, which has failed if there is a remedy. A missing right of the user is no error:
// the result is then unknown.
//
//	err          remedy   result
//	403          any      unknown, with the text of the API server
//	another one  any      no result: the command ends with the error
//	nil          set      failed
//	nil          ""       ok
func (c checker) result(check, message, remedy string, err error) (CheckResult, error) {
	switch {
	case apierrors.IsForbidden(err):
		return CheckResult{check, checkUnknown, "you may not check this: " + err.Error(), ""}, nil
	case err != nil:
		return CheckResult{}, c.Explained(err, "check", check)
	case remedy != "":
		return CheckResult{check, checkFailed, message, remedy}, nil
	}
	return CheckResult{check, checkOK, message, ""}, nil
}

// kubernetes checks the version of the API server. A version that cannot be parsed is accepted. Versions of
// distributions, such as v1.36.0-gke.100 or v1.36.0+k3s1, are compared without their suffix.
func (c checker) kubernetes() (CheckResult, error) {
	info, err := c.Discovery.ServerVersion()
	if err != nil {
		return CheckResult{}, c.Explained(err, "get", "the version")
	}
	found, err := version.ParseGeneric(info.GitVersion)
	if err == nil && found.LessThan(version.MustParseGeneric(oldest)) {
		return CheckResult{"Kubernetes", checkFailed, info.GitVersion, "Upgrade the cluster: Holdfast needs Kubernetes " + oldest + " or newer"}, nil
	}
	return CheckResult{"Kubernetes", checkOK, info.GitVersion, ""}, nil
}

// definitions compares the installed definitions with those in this program. Optional ones can be missing.
//
//	the definition            result
//	equal schemas             its name in the message
//	other schemas             failed: the cluster or this program is older
//	does not exist, optional  skipped
//	does not exist            failed: install
func (c checker) definitions(ctx context.Context) (message, remedy string, err error) {
	install := "To install it, run: `" + c.found.upgrade() + "`"
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
		case apierrors.IsNotFound(err) && optionOf(built) != "":
			continue
		case apierrors.IsNotFound(err):
			return built.GetName() + " does not exist", install, nil
		case err != nil:
			return "", "", err
		case !sameSchemas(built, found):
			return built.GetName() + " differs from the one in this program: one of them is older", "If the one in the cluster is older, run: `" + c.found.upgrade() + "`", nil
		}
		names = append(names, built.GetName())
	}
	return strings.Join(names, ", ") + ", same as in this program", "", nil
}

// controller returns when each controller was last active. With --leader-elect=false, there is no Lease: the check then
// fails, and its remedy names this case.
func (c checker) controller(ctx context.Context) (message, remedy string, err error) {
	var holders []string
	for _, d := range c.found.deployed {
		at, name := d.namespace(c.found.namespace), d.lease()
		start := fmt.Sprintf("Run `kubectl get deploy,pods,leases -n %s`, and read the log of the controller. With --leader-elect=false, the controller has no Lease", at)
		lease, err := c.Own.Resource(leases).Namespace(at).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "no controller found: there is no Lease " + at + "/" + name, start, nil
		}
		if err != nil {
			return "", "", err
		}
		holder, trouble := c.holderOf(lease)
		if trouble != "" {
			return trouble, start, nil
		}
		holders = append(holders, holder)
	}
	if message, remedy, err = c.unselected(ctx); err != nil || message != "" {
		return message, remedy, err
	}
	return strings.Join(holders, "; "), "", nil
}

// holderOf describes the holder of a Lease, or returns the reason why there is none as trouble. One of them is
// empty. A holder counts until its lease has expired by the clock of this machine.
//
//	holderIdentity  renewTime        result
//	pod-1           2 s ago          holder, "active 2s"
//	pod-1           expired          trouble
//	""              any              trouble: it ended
//	any             not a time       trouble
//
// A clock that is behind makes ago 0, and one that is ahead can report a running controller as inactive.
func (c checker) holderOf(lease *unstructured.Unstructured) (holder, trouble string) {
	name := "Lease " + lease.GetNamespace() + "/" + lease.GetName()
	identity := manifest.NestedString(lease.Object, "spec", "holderIdentity")
	seconds, _, _ := unstructured.NestedInt64(lease.Object, "spec", "leaseDurationSeconds")
	last, err := time.Parse(time.RFC3339, manifest.NestedString(lease.Object, "spec", "renewTime"))
	if err != nil {
		return "", name + " was never renewed"
	}
	ago := max(c.now.Sub(last), 0).Round(time.Second)
	switch {
	case identity == "":
		return "", fmt.Sprintf("the last controller ended %s ago", ago)
	case ago > time.Duration(seconds)*time.Second:
		return "", fmt.Sprintf("%s was last active %s ago, and is no longer the leader", identity, ago)
	}
	return fmt.Sprintf("%s is the leader, active %s ago", identity, ago), ""
}

// access is an operation that a user may be allowed to perform. namespace is empty for cluster-scoped objects, and for
// all namespaces.
type access struct{ verb, group, resource, subresource, name, namespace string }

// String returns the operation for a message, for example patch applications.holdfast.dev/status in the namespace a.
func (a access) String() string {
	text := a.verb + " " + schema.GroupResource{Group: a.group, Resource: a.resource}.String()
	if a.subresource != "" {
		text += "/" + a.subresource
	}
	text = strings.TrimSuffix(text+" "+a.name, " ")
	if a.namespace != "" {
		text += " in the namespace " + a.namespace
	}
	return text
}

// controllerRights checks whether the controller has the permissions that it needs in the namespace. The list is a
// sample: "watch deployments" represents all kinds of objects that Applications have.
func (c checker) controllerRights(ctx context.Context) (message, remedy string, err error) {
	user := c.found.user()
	for _, needed := range []access{
		{"watch", "holdfast.dev", "applications", "", "", c.Namespace}, {"patch", "holdfast.dev", "applications", "status", "", c.Namespace},
		{"impersonate", "", "serviceaccounts", "", c.found.applier(), c.Namespace}, {"watch", "apps", "deployments", "", "", c.Namespace},
	} {
		allowed, err := isAllowed(ctx, c.Cluster, user, needed)
		if err != nil {
			return "", "", err
		}
		if !allowed {
			return fmt.Sprintf("%s may not %s", user, needed), c.found.grant(), nil
		}
	}
	return user + " has the required rights in the namespace " + c.Namespace, "", nil
}

// isAllowed reports whether the API server allows an operation to a ServiceAccount, or to the caller if user is empty.
// The groups are those that the API server gives to a ServiceAccount, because roles can be bound to them. The review
// itself needs the right to create it, and is no write.
func isAllowed(ctx context.Context, c *connection.Cluster, user string, a access) (bool, error) {
	attributes := &authorizationv1.ResourceAttributes{
		Namespace: a.namespace, Verb: a.verb, Group: a.group, Resource: a.resource, Subresource: a.subresource, Name: a.name,
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

// admission looks for the admission policy that keeps authors of Applications from using ServiceAccounts that they
// may not impersonate. It only checks that the objects exist. Their content can have been changed by an
// administrator.
func (c checker) admission(ctx context.Context) (message, remedy string, err error) {
	for _, resource := range []schema.GroupVersionResource{policies, policyBindings} {
		_, err := c.Own.Resource(resource).Get(ctx, admissionObjects, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return resource.Resource + "/" + admissionObjects + " does not exist: users who may write Applications can act as any ServiceAccount of the namespace",
				"Run: `" + c.found.upgrade() + "`. See docs/security.md", nil
		}
		if err != nil {
			return "", "", err
		}
	}
	return "users of an Application must be allowed to impersonate its ServiceAccount", "", nil
}

// ownRights checks whether the user can submit Applications to the namespace. It asks in the namespace of -n or of
// the context. The right to impersonate is the one that the admission policy requires.
func (c checker) ownRights(ctx context.Context) (message, remedy string, err error) {
	for _, needed := range []access{
		{"create", "holdfast.dev", "applications", "", "", c.Namespace}, {"impersonate", "", "serviceaccounts", "", c.found.applier(), c.Namespace},
	} {
		allowed, err := isAllowed(ctx, c.Cluster, "", needed)
		if err != nil {
			return "", "", err
		}
		if !allowed {
			return fmt.Sprintf("you may not %s", needed), "Ask for that right, or use another --context, --as or -n", nil
		}
	}
	return "you may submit Applications to the namespace " + c.Namespace, "", nil
}
