package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/manifest"
)

// The names that the objects of the controller have in every way to install.
const (
	controllerName  = "holdfast-controller"
	definitionsName = "holdfast-definitions"
	aggregatedName  = "holdfast-kinds"
)

// The resources of an installation, and those that the checks of a cluster read or create.
var (
	clusterRoleBindings = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
	roleBindings        = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
	deployments         = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	pods                = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	namespaces          = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	serviceAccounts     = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	configMaps          = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	leases              = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	policies            = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	policyBindings      = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}
	reviews             = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}
	ownReviews          = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}
	definitions         = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// installation describes what is installed in a cluster, and how. Objects that the user may not read count as missing.
//
//	installed by                  release  variant     ours  upgrade
//	holdfast install              ""       default     yes   holdfast install --force
//	kubectl apply -f              ""       default     no    kubectl apply -f deploy/install.yaml
//	kubectl apply -k deploy/ha    ""       ha          no    kubectl apply -k deploy/ha
//	helm install                  set      any         no    helm upgrade
//	nothing                       ""       default     no    holdfast install
type installation struct {
	namespace  string                     // of the controller
	bound      string                     // the namespace in the binding of the definitions; empty if there is none
	deployment *unstructured.Unstructured // of the controller, or of the first of several; nil if there is none
	deployed   []deployedController       // all controllers of the cluster; the first one can be outside the cluster
	release    string                     // of Helm; empty if Helm is not used
	releasedIn string                     // the namespace of the release
	variant    string                     // directory below deploy
	ours       bool                       // `holdfast install` has applied the Deployment
}

// findInstallation looks for an installation. If namespace is set, it looks only there for the controller. Otherwise,
// it looks in the namespace that the binding of the definitions names, or else in the default namespace.
//
//	object                                    field
//	ClusterRoleBinding holdfast-definitions   namespace, bound, release
//	ClusterRoleBinding holdfast-controller    variant: without it, the controller has rights in some namespaces
//	Deployment holdfast-controller            deployment, variant, release, ours
//	Deployments of all controllers            deployed, variant
func findInstallation(ctx context.Context, c *connection.Cluster, namespace string) (installation, error) {
	bindings := c.Own.Resource(clusterRoleBindings)
	definitions, err := readable(ctx, bindings, definitionsName)
	if err != nil {
		return installation{}, c.Explained(err, "get", "ClusterRoleBinding "+definitionsName)
	}
	everywhere, err := readable(ctx, bindings, controllerName)
	if err != nil {
		return installation{}, c.Explained(err, "get", "ClusterRoleBinding "+controllerName)
	}
	found := installation{namespace: cmp.Or(namespace, subjectNamespace(definitions), deploy.Namespace), bound: subjectNamespace(definitions)}
	found.deployment, err = readable(ctx, c.Own.Resource(deployments).Namespace(found.namespace), controllerName)
	if err != nil {
		return installation{}, c.Explained(err, "get", "Deployment "+found.namespace+"/"+controllerName)
	}
	if found.deployed, err = deployedControllers(ctx, c, found.deployment); err != nil {
		return installation{}, err
	}
	found.variant = found.variantOf(everywhere != nil || found.bound == "")
	for _, object := range []*unstructured.Unstructured{definitions, found.deployment} {
		if object != nil {
			found.release = cmp.Or(found.release, object.GetAnnotations()["meta.helm.sh/release-name"])
			found.releasedIn = cmp.Or(found.releasedIn, object.GetAnnotations()["meta.helm.sh/release-namespace"])
		}
	}
	found.ours = connection.Wrote(found.deployment)
	return found, nil
}

// user returns the user of the controller.
func (i installation) user() string {
	return "system:serviceaccount:" + i.namespace + ":" + controllerName
}

// subjectNamespace returns the namespace of the first subject of a binding that has one, or "".
func subjectNamespace(binding *unstructured.Unstructured) string {
	if binding == nil {
		return ""
	}
	for _, subject := range manifest.NestedMaps(binding.Object, "subjects") {
		if namespace := manifest.NestedString(subject, "namespace"); namespace != "" {
			return namespace
		}
	}
	return ""
}

// readable returns an object, or nil if it does not exist or the user may not read it.
func readable(ctx context.Context, client dynamic.ResourceInterface, name string) (*unstructured.Unstructured, error) {
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	return object, err
}

// variantOf returns the directory below deploy that matches the Deployment, also without one, if the controller runs
// outside the cluster. everywhere is true if the controller has its rights in all namespaces.
//
//	found                     variant
//	several controllers       split
//	a priorityClassName       ha
//	no ClusterRoleBinding     namespaced
//	any other                 default
func (i installation) variantOf(everywhere bool) string {
	switch {
	case len(i.deployed) > 1:
		return "split"
	case i.deployment != nil && manifest.NestedString(i.deployment.Object, "spec", "template", "spec", "priorityClassName") != "":
		return "ha"
	case !everywhere:
		return "namespaced"
	}
	return "default"
}

// applier returns the ServiceAccount of Applications that do not name one.
func (i installation) applier() string {
	return cmp.Or(deployedController{i.deployment}.argument("default-service-account"), connection.ApplierName)
}

// upgrade returns the command that upgrades the installation in the way that it was installed. Without an
// installation, it returns the command that installs one. The commands with deploy/ are for a checkout.
// --reset-then-reuse-values keeps the values of a Helm release, and adds new defaults of the chart.
func (i installation) upgrade() string {
	switch {
	case i.release != "":
		return fmt.Sprintf("helm upgrade %s deploy/helm/holdfast -n %s --reset-then-reuse-values", i.release, i.releasedIn)
	case i.variant != "default":
		return "kubectl apply --server-side -k deploy/" + i.variant
	case i.deployment != nil && !i.ours:
		return "kubectl apply --server-side -f deploy/install.yaml"
	}
	command := "holdfast install"
	if i.namespace != deploy.Namespace {
		command += " -n " + i.namespace
	}
	if i.deployment != nil {
		command += " --force"
	}
	return command
}

// grant returns the remedy for rights that the controller lacks in a namespace. An upgrade alone gives a controller of
// single namespaces no others.
func (i installation) grant() string {
	if i.variant == "namespaced" {
		return "Add the namespace to your installation (docs/operations.md), and run: `" + i.upgrade() + "`"
	}
	return "To grant its rights again, run: `" + i.upgrade() + "`"
}

// refuseToReplace returns an error if the objects would replace another version, an installation that was made in
// another way, or changes of another client. It writes nothing. An apply with force would silently remove changes of
// an administrator, for example a memory limit or an image.
func (o *installOptions) refuseToReplace(ctx context.Context, c *connection.Cluster, found installation, objects []*unstructured.Unstructured) error {
	if o.force || found.deployment == nil {
		return nil
	}
	why, err := o.replaced(ctx, c, found, objects)
	if err != nil || why == "" {
		return err
	}
	return found.notReplaced(why)
}

// notReplaced returns the error about an installation that is kept for a reason, with the remedies.
func (i installation) notReplaced(why string) error {
	upgrade, replace := i.upgrade(), ". To replace it with the objects of this program, add --force"
	if strings.HasSuffix(upgrade, " --force") {
		replace = "" // the same command
	}
	return fmt.Errorf("nothing was installed: %s. To upgrade it, run: %s%s", why, upgrade, replace)
}

// replaced returns the first thing that the objects would replace, or "". It sends dry runs. The image is compared
// last: a release of this program has another image than an earlier one, and a user who built an image must name it
// again.
func (o *installOptions) replaced(ctx context.Context, c *connection.Cluster, found installation, objects []*unstructured.Unstructured) (string, error) {
	switch {
	case found.release != "":
		return "the Helm release " + found.release + " is installed in the namespace " + found.releasedIn, nil
	case found.variant != "default":
		return "deploy/" + found.variant + " is installed in the namespace " + found.namespace, nil
	}
	for _, object := range objects {
		client, err := c.Kinds.ClientFor(ctx, object)
		if err != nil {
			return "", c.Explained(err, "find", object.GetKind()+" "+object.GetName())
		}
		why, err := conflict(ctx, c, client, object)
		if err != nil || why != "" {
			return why, err
		}
	}
	if image := imageOf([]*unstructured.Unstructured{found.deployment}); o.image == "" && image != imageOf(objects) {
		return "the controller has the image " + image + ", and this program would replace it with " + imageOf(objects) + ": to keep it, give --image " + image, nil
	}
	return "", nil
}

// conflict returns what an apply of an object would replace: fields of other clients, or a definition of another
// version. The API server finds the fields: a dry run of an apply without force is rejected with 409 if another
// manager has set one of them to another value.
func conflict(ctx context.Context, c *connection.Cluster, client dynamic.ResourceInterface, object *unstructured.Unstructured) (string, error) {
	name := object.GetKind() + " " + object.GetName()
	live, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", c.Explained(err, "get", name)
	case object.GetKind() == "CustomResourceDefinition" && !sameSchemas(object, live):
		return "the " + name + " has another version than this program", nil
	}
	_, err = connection.ApplyOne(ctx, client, object.GetName(), object.Object, connection.DryRunServer, false)
	fields := conflicts(err)
	// kubectl scale with 0 replicas leaves no manager: the API server omits the 0 from the scale subresource.
	if want, got := replicas(object), replicas(live); err == nil && want != got {
		fields = []string{".spec.replicas"}
	}
	if len(fields) > 0 {
		return "other clients have changed the " + name + ": " + strings.Join(fields, ", "), nil
	}
	return "", c.Explained(err, "patch", name)
}

// replicas returns the number of replicas of a Deployment; 0 for other objects.
func replicas(object *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
	return n
}

// conflicts returns the fields that another field manager owns, from an error of a server-side apply.
func conflicts(err error) (fields []string) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

// sameSchemas reports whether two definitions have the same versions with the same schemas. Other fields are not
// compared, because the API server adds to them. A definition with another number of versions, or with a version
// that is not served, differs.
func sameSchemas(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(schemasOf(a), schemasOf(b))
}

// schemasOf returns the schema of each version of a definition, by the name of the version and whether it is served.
func schemasOf(definition *unstructured.Unstructured) map[string]any {
	all := map[string]any{}
	for _, version := range manifest.NestedMaps(definition.Object, "spec", "versions") {
		all[fmt.Sprint(version["name"], " ", version["served"])] = version["schema"]
	}
	return all
}
