package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/builtin"
	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const uninstallLong = `Remove Holdfast from a cluster: all objects that "install" or a directory below deploy
has created, with the namespace of the controller and the CRDs.

It changes nothing while any namespace has Applications: without the CRD they would
be deleted, and their objects would keep the tracking metadata. Delete them first, or
use --release. It then deletes each Application, and its objects remain, without
tracking metadata. A Mysql is never released: delete it; its deletion policy decides
about the volume.

On a terminal it asks first; otherwise it needs --yes. Uninstall with Helm what Helm
has installed.`

const uninstallExample = `
  # When all Applications are deleted
  PROGRAM uninstall

  # Release all Applications first, and keep their objects
  PROGRAM uninstall --release
`

// uninstallOptions are the options of `uninstall`.
//
//	the cluster has       --release  result
//	a Mysql               any        refused
//	Applications          no         refused
//	Applications          yes        they are deleted with deletionPolicy Orphan, then Holdfast
//	neither               any        Holdfast is removed
type uninstallOptions struct {
	streams      terminal.Streams
	connection   connection.Flags
	wait         connection.WaitFlags
	write        connection.WriteFlags
	release, yes bool
}

func newUninstallCommand(name string, streams terminal.Streams) *cobra.Command {
	o := &uninstallOptions{streams: streams, connection: connection.NewFlags()}
	return command.Spec{
		Use: "uninstall", Short: "Remove Holdfast from a cluster",
		Long: uninstallLong, Example: uninstallExample,
		Statuses: []string{"uninstalled", "there are Applications, or they were not released in time; or not confirmed"},
		Args:     command.AtMost(0), Flags: o.add, Connection: o.connection,
		Options: func([]string) (command.Run, error) { return o.run, errors.Join(o.wait.Check(), o.write.Parse()) },
	}.Build(name)
}

func (o *uninstallOptions) add(flags *pflag.FlagSet) {
	flags.BoolVar(&o.release, "release", false, "release the Applications first, and keep their objects")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	o.write.Add(flags, "the objects that are deleted")
	o.wait.AddTime(flags)
	namespace := flags.Lookup("namespace")
	namespace.Usage, namespace.Annotations = "`NAMESPACE`: namespace of the controller; default: detected", nil
}

// run refuses, asks, releases the Applications, and removes Holdfast, in this order. Until the removal, the controller
// must run, because only it removes the finalizers. A dry run releases nothing.
func (o *uninstallOptions) run(ctx context.Context) error {
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	found, err := findInstallation(ctx, c, *o.connection.Namespace)
	if err != nil {
		return err
	}
	if found.release != "" {
		return fmt.Errorf("this is a Helm release: to uninstall it, run: helm uninstall %s -n %s", found.release, found.releasedIn)
	}
	if err := o.checkNamespace(found); err != nil {
		return err
	}
	at := found.namespace
	applications, err := o.releasable(ctx, c)
	if err != nil {
		return err
	}
	if err := o.confirm(at, len(applications)); err != nil {
		return err
	}
	// Another client can have submitted Applications while the user read the question.
	if applications, err = o.releasable(ctx, c); err != nil {
		return err
	}
	if !o.write.IsDry() {
		if err := o.releaseAll(ctx, c, applications); err != nil {
			return err
		}
		if err := removeSlices(ctx, c); err != nil {
			return err
		}
	}
	return o.remove(ctx, c, found)
}

// checkNamespace returns an error if -n names a namespace without the controller, because the namespace is deleted with
// all its objects. Users often give the namespace of their Applications to every command.
func (o *uninstallOptions) checkNamespace(found installation) error {
	switch named := *o.connection.Namespace; {
	case named == "", found.deployment != nil, named == cmp.Or(found.bound, deploy.Namespace):
		return nil
	case found.bound != "":
		return fmt.Errorf("nothing was uninstalled: the controller is in the namespace %s, and the namespace %s would be deleted: omit -n", found.bound, named)
	}
	return fmt.Errorf("nothing was uninstalled: the namespace %s has no controller, and would be deleted: omit -n", *o.connection.Namespace)
}

// releasable returns all Applications of the cluster, or an error if they or other objects prevent the removal of
// Holdfast.
func (o *uninstallOptions) releasable(ctx context.Context, c *connection.Cluster) ([]unstructured.Unstructured, error) {
	applications, err := existing(ctx, c, connection.Applications)
	if err != nil {
		return nil, err
	}
	for _, kind := range builtin.Kinds() {
		left, err := existing(ctx, c, kind.GroupVersionResource())
		if err != nil || len(left) > 0 {
			return nil, cmp.Or(err, refusal(kind.Kind, left, strings.TrimSpace("To delete one, run: kubectl delete "+kind.Option()+" NAME. "+kind.Kept)))
		}
	}
	if len(applications) > 0 && !o.release {
		return nil, refusal("Application", applications, "To delete one with its objects, run: holdfast delete NAME. To release all, add --release")
	}
	return applications, nil
}

// removeSlices deletes the ApplicationSlices of incomplete submissions, because nothing else will delete them. A
// conflict means that a client has just used the slice. It is left to the deletion of its definition.
func removeSlices(ctx context.Context, c *connection.Cluster) error {
	left, err := existing(ctx, c, v1alpha1.SliceGroupVersionResource)
	if err != nil {
		return err
	}
	for _, s := range left {
		at := types.NamespacedName{Namespace: s.GetNamespace(), Name: s.GetName()}
		if err := c.DeleteSlice(ctx, at, s.GetUID(), s.GetResourceVersion()); err != nil && !apierrors.IsConflict(err) {
			return c.Explained(err, "delete", "ApplicationSlice "+at.String())
		}
	}
	return nil
}

// confirm asks for confirmation if a user can answer.
//
//	terminal  --yes  result
//	any       yes    continues
//	yes       no     asks
//	no        no     an error: a script must give --yes
func (o *uninstallOptions) confirm(at string, applications int) error {
	what := "the namespace " + at + " with all its objects"
	if applications > 0 {
		what += ", and releases " + terminal.Plural(applications, "Application")
	}
	switch {
	case o.yes, o.write.IsDry():
		return nil
	case !terminal.IsPerson(o.streams.In):
		return fmt.Errorf("this removes Holdfast from the cluster, and deletes %s: to confirm, add --yes", what)
	}
	return terminal.Ask(o.streams, "This removes Holdfast from the cluster, and deletes "+what+". Continue?", "nothing was uninstalled")
}

// existing returns the objects of a kind in all namespaces, or nil if the kind is not served.
func existing(ctx context.Context, c *connection.Cluster, resource schema.GroupVersionResource) ([]unstructured.Unstructured, error) {
	list, err := c.Own.Resource(resource).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.Explained(err, "list", resource.Resource+" of all namespaces")
	}
	return list.Items, nil
}

// refusal returns an error that names the objects that prevent the removal of Holdfast.
//
//	nothing was uninstalled: the cluster still has 7 Applications: a/x, a/y, b/x, b/y, c/x, and 2 more. To delete one ...
func refusal(kind string, objects []unstructured.Unstructured, remedy string) error {
	names := firstNames(len(objects), func(i int) metav1.Object { return &objects[i] })
	return &terminal.Exit{Status: terminal.StatusDifferent, Err: fmt.Errorf("nothing was uninstalled: the cluster still has %s: %s. %s",
		terminal.Plural(len(objects), kind), names, remedy)}
}

// firstNames returns the names of the first of n objects for a message: a/x, a/y, b/x, b/y, c/x, and 2 more.
func firstNames(n int, object func(i int) metav1.Object) string {
	const most = 5
	var names []string
	for i := range min(n, most) {
		names = append(names, object(i).GetNamespace()+"/"+object(i).GetName())
	}
	if n > most {
		names = append(names, fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(names, ", ")
}

// releaseAll deletes Applications, orphans their objects, and waits until the controller has released all of them.
// All deletions are requested before the wait, so that the controller can work on them at the same time. Without
// Applications it returns at once. If the controller does not run, the finalizers remain, and the command ends at
// the timeout with everything else still installed.
func (o *uninstallOptions) releaseAll(ctx context.Context, c *connection.Cluster, applications []unstructured.Unstructured) error {
	for _, app := range applications {
		in := *c
		in.Namespace = app.GetNamespace()
		if err := in.Delete(ctx, app.GetName(), app.GetUID(), true, connection.Send); err != nil {
			return err
		}
	}
	var left []unstructured.Unstructured
	late := func() error { return refusal("Application", left, "Check that the controller runs: holdfast check") }
	return o.wait.Until(ctx, late, func(ctx context.Context) (bool, error) {
		now, err := existing(ctx, c, connection.Applications)
		if err != nil {
			return false, err // left keeps the Applications for the error at the timeout
		}
		left = now
		return len(left) == 0, nil
	})
}

// remove deletes what any variant below deploy installs. It deletes the definitions first, so that the controller
// still runs while their objects are deleted. Objects of all variants are tried, so that the command needs not know
// the installed one. Missing ones are skipped.
func (o *uninstallOptions) remove(ctx context.Context, c *connection.Cluster, found installation) error {
	at := found.namespace
	objects, err := installed(at)
	if err != nil {
		return err
	}
	bindings, err := namespacedBindings(ctx, c, at)
	if err != nil {
		return err
	}
	// The PriorityClass of deploy/ha. Its other objects are in the namespace of the controller.
	objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": controllerName},
	}})
	for _, d := range found.deployed {
		if d.namespace(at) == at {
			objects = append(objects, leaseOf(d, at))
		}
	}
	// Objects are removed in the reverse order of the installation, except those in removalOrder.
	objects = append(objects, bindings...)
	slices.Reverse(objects)
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return removalOrder(a) - removalOrder(b) })
	for _, object := range objects {
		if err := o.removeOne(ctx, c, object); err != nil {
			return err
		}
	}
	return nil
}

// leaseOf returns the Lease of a controller. The controller cannot release it: its rights are deleted before its Pods
// have ended. The next installation would wait until it expires.
func leaseOf(d deployedController, namespace string) *unstructured.Unstructured {
	lease := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}}
	lease.SetNamespace(cmp.Or(d.argument("leader-elect-resource-namespace"), namespace))
	lease.SetName(d.lease())
	return lease
}

// removeOne deletes one object, and prints that. An object that does not exist is skipped. The deletion is not
// awaited: the objects of a definition are deleted in the background.
func (o *uninstallOptions) removeOne(ctx context.Context, c *connection.Cluster, object *unstructured.Unstructured) error {
	name := object.GetKind() + " " + object.GetName()
	client, err := c.Kinds.ClientFor(ctx, object)
	if err != nil {
		return c.Explained(err, "find", name)
	}
	live, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
	if err == nil && o.write.DryRun != connection.DryRunClient {
		err = client.Delete(ctx, object.GetName(), metav1.DeleteOptions{DryRun: o.write.DryRun.Options()})
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return c.Explained(err, "delete", name)
	case o.write.Printer != nil:
		return o.write.Printer.PrintObj(live, o.streams.Out)
	}
	_, err = fmt.Fprintln(o.streams.Out, name+" deleted"+o.write.Note())
	return err
}

// namespacedBindings returns the RoleBindings of deploy/namespaced in other namespaces.
func namespacedBindings(ctx context.Context, c *connection.Cluster, at string) (found []*unstructured.Unstructured, err error) {
	all, err := existing(ctx, c, roleBindings)
	for i := range all {
		binding := &all[i]
		ours := binding.GetName() == controllerName || binding.GetName() == aggregatedName
		if ours && binding.GetNamespace() != at && subjectNamespace(binding) == at {
			found = append(found, binding)
		}
	}
	return found, err
}

// removalOrder returns the position of an object in the order of deletion: the definitions are first and the
// namespace is last. The aggregated role is deleted before its parts, because Kubernetes writes it again when
// one of them is deleted.
//
//	0  CustomResourceDefinitions
//	1  the aggregated ClusterRole
//	2  any other
//	3  the Leases, which the controllers create again as long as they have the rights
//	4  the namespace
func removalOrder(object *unstructured.Unstructured) int {
	switch {
	case object.GetKind() == "CustomResourceDefinition":
		return 0
	case object.GetKind() == "ClusterRole" && object.GetName() == aggregatedName:
		return 1
	case object.GetKind() == "Lease":
		return 3
	case object.GetKind() == "Namespace":
		return 4
	}
	return 2
}
