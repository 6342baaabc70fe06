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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/pkg/builtin"
	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
)

const installLong = `Install or update Holdfast in a cluster: its CRDs, its namespace, and the objects of
its controller. The objects are part of this program. It uses server-side apply, so
other fields that you have set are kept.

If Holdfast is installed in another way, such as Helm or a kustomization, or in
another version, or if other clients have changed its objects, it changes nothing
and prints the command that upgrades Holdfast. --force replaces the objects.

With --export it prints the objects, and uses no cluster. With --wait it ends when
the controller reconciles Applications: its Pods are ready, and one is the leader.
After the timeout it reports why not.

There is no public image of the controller: build one, push it to your registry
("make push IMAGE=..." in a checkout), and set it with --image.`

const installExample = `
  # Into the cluster of the current context
  PROGRAM install --image registry.example.com/holdfast:1 --wait

  # Print the objects, to read them or to keep them in Git
  PROGRAM install --export > holdfast.yaml
`

// installOptions are the options of `install`.
//
//	flags                       objects are
//	none                        applied, with force, unless refuseToReplace finds a reason
//	--force                     applied, with force
//	--export, --dry-run=client  printed
//	--dry-run=server            sent as dry runs
type installOptions struct {
	streams    terminal.Streams
	connection connection.Flags
	wait       connection.WaitFlags
	write      connection.WriteFlags
	// export is also set by --dry-run=client, which prints the same objects.
	export bool
	force  bool
	// without contains the flag of each built-in template, by template.Kind.Option.
	without map[string]*bool
	image   string
}

func newInstallCommand(name string, streams terminal.Streams) *cobra.Command {
	o := &installOptions{streams: streams, connection: connection.NewFlags(), without: map[string]*bool{}}
	return command.Spec{
		Use: "install [--image IMAGE]", Short: "Install Holdfast into a cluster",
		Long: installLong, Example: installExample,
		Statuses: []string{"installed, or printed; with --wait: also ready", "with --wait: not ready in time"},
		Args:     command.AtMost(0), Flags: o.add, Options: o.options, Connection: o.connection,
	}.Build(name)
}

func (o *installOptions) add(flags *pflag.FlagSet) {
	flags.BoolVar(&o.export, "export", false, "print the objects, and install nothing")
	flags.StringVar(&o.image, "image", "", "`IMAGE`: image of the controller; default: the image in the built-in objects")
	flags.BoolVar(&o.force, "force", false, "replace an installation of another kind or version")
	for _, kind := range builtin.Kinds() {
		o.without[kind.Option()] = flags.Bool("without-"+kind.Option(), false, "do not install the CRD of the kind "+kind.Kind)
	}
	o.write.Add(flags, "the objects")
	o.wait.Add(flags, "until the controller is ready")
	// Here -n is not the namespace of the context, so the flag is not listed with those of the connection.
	namespace := flags.Lookup("namespace")
	namespace.Usage, namespace.Annotations = "`NAMESPACE`: namespace to install into; default: "+deploy.Namespace, nil
}

// options validates the flags. -n is validated here, because --export does not send it to an API server.
func (o *installOptions) options([]string) (command.Run, error) {
	if err := errors.Join(o.wait.Check(), o.write.Parse(), o.write.Waitable(o.wait)); err != nil {
		return nil, err
	}
	if o.wait.Wait && o.export {
		return nil, errors.New("--export installs nothing, so --wait has no effect: use one of the two")
	}
	o.export = o.export || o.write.DryRun == connection.DryRunClient
	if namespace := *o.connection.Namespace; namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		return nil, fmt.Errorf("-n %q is not a valid namespace: use lower-case letters, digits and '-'", namespace)
	}
	return o.run, nil
}

// run changes the built-in objects before it selects between --export and the cluster, so that --export prints the
// objects that would be applied.
//
//	--image          replaces the image of all containers of the Deployment
//	--without-mysql  omits the definition of Mysql
//	-n               moves the objects: see moveTo
func (o *installOptions) run(ctx context.Context) error {
	objects, err := installed(cmp.Or(*o.connection.Namespace, deploy.Namespace))
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool { return ptr.Deref(o.without[optionOf(object)], false) })
	if o.image != "" {
		for _, object := range objects {
			for _, container := range containersOf(object.Object) {
				container["image"] = o.image
			}
		}
	}
	if o.export && o.write.Printer != nil {
		for _, object := range objects {
			if err := o.write.Printer.PrintObj(object, o.streams.Out); err != nil {
				return err
			}
		}
		return nil
	}
	if o.export {
		contents := make([]map[string]any, len(objects))
		for i, object := range objects {
			contents[i] = object.Object
		}
		return terminal.PrintObjects(o.streams.Out, contents...)
	}
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	return o.install(ctx, c, objects)
}

// installed returns new copies of the built-in objects in the order in which they are applied. namespace is
// the namespace of the controller.
func installed(namespace string) ([]*unstructured.Unstructured, error) {
	documents, err := manifest.Read("install.yaml", deploy.Install())
	if err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, len(documents))
	for i, document := range documents {
		objects[i] = &unstructured.Unstructured{Object: document.Value}
		moveTo(document.Value, namespace)
	}
	return objects, nil
}

// moveTo moves an object from the default namespace of the controller to another namespace: its own namespace, and
// that of the subjects of a binding. It changes object. Only the default namespace is replaced: objects and subjects
// in other namespaces keep theirs.
func moveTo(object map[string]any, namespace string) {
	u := unstructured.Unstructured{Object: object}
	if u.GetKind() == "Namespace" && u.GetName() == deploy.Namespace {
		u.SetName(namespace)
	}
	if u.GetNamespace() == deploy.Namespace {
		u.SetNamespace(namespace)
	}
	for _, subject := range manifest.NestedMaps(object, "subjects") {
		if subject["namespace"] == deploy.Namespace {
			subject["namespace"] = namespace
		}
	}
}

// containersOf returns the containers of a Deployment, or nil for other objects.
func containersOf(object map[string]any) []map[string]any {
	if object["kind"] != "Deployment" {
		return nil
	}
	return manifest.NestedMaps(object, "spec", "template", "spec", "containers")
}

// imageOf returns the image of the first container of a Deployment among the objects; "" if there is none.
func imageOf(objects []*unstructured.Unstructured) string {
	for _, object := range objects {
		for _, container := range containersOf(object.Object) {
			return manifest.NestedString(container, "image")
		}
	}
	return ""
}

// install applies the objects. Before the first write, it checks that no other installation would break.
//
//  1. refuse a second controller in another namespace
//  2. refuse to replace another installation, with dry runs
//  3. apply the objects in the order of deploy/install.yaml: the namespace and the definitions are first
//  4. wait until Applications are served, and with --wait also for the controller
//
// The command can be repeated after any error.
func (o *installOptions) install(ctx context.Context, c *connection.Cluster, objects []*unstructured.Unstructured) error {
	found, err := findInstallation(ctx, c, "")
	if err != nil {
		return err
	}
	if err := o.elsewhere(found); err != nil {
		return err
	}
	if err := o.refuseToReplace(ctx, c, found, objects); err != nil {
		return err
	}
	for _, object := range objects {
		if err := o.apply(ctx, c, object); err != nil {
			return err
		}
	}
	if o.write.IsDry() {
		return nil
	}
	if err := c.AwaitServed(ctx); err != nil {
		return err
	}
	if o.image == "" && strings.HasPrefix(imageOf(objects), "holdfast.dev/") {
		terminal.Warn(o.streams.Err, "the image of the controller, "+imageOf(objects)+", is not in a public registry: set your image with --image, unless the nodes have this one")
	}
	if o.wait.Wait {
		if err := o.awaitController(ctx, c); err != nil {
			return err
		}
	}
	fmt.Fprint(o.streams.Err, afterInstall)
	return nil
}

// apply applies one object, and prints the result. Force takes fields from other managers, for example from kubectl.
// Without --force, refuseToReplace has found none.
func (o *installOptions) apply(ctx context.Context, c *connection.Cluster, object *unstructured.Unstructured) error {
	name := object.GetKind() + " " + object.GetName()
	client, err := c.Kinds.ClientFor(ctx, object)
	if err != nil {
		return c.Explained(err, "find", name)
	}
	applied, err := connection.ApplyOne(ctx, client, object.GetName(), object.Object, o.write.DryRun, true)
	switch {
	case apierrors.IsNotFound(err) && o.write.IsDry():
		fmt.Fprintf(o.streams.Err, "note: %s was not validated: its namespace does not exist yet\n", name)
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: you need the rights of an administrator to install: %w", name, err)
	case err != nil:
		return c.Explained(err, "patch", name)
	case o.write.Printer != nil:
		return o.write.Printer.PrintObj(applied, o.streams.Out)
	}
	_, err = fmt.Fprintln(o.streams.Out, name+" applied"+o.write.Note())
	return err
}

// elsewhere returns an error if another namespace already has a controller, because the two controllers
// would work against each other.
func (o *installOptions) elsewhere(found installation) error {
	wanted := cmp.Or(*o.connection.Namespace, deploy.Namespace)
	if found.bound == "" || found.namespace == wanted {
		return nil
	}
	return fmt.Errorf("the namespace %[1]s already has a controller, and a second one in %[2]s would conflict with it: "+
		"`%[3]s` updates it; to move it, `kubectl delete namespace %[1]s` and `kubectl delete clusterrolebinding %[4]s %[5]s` first",
		found.namespace, wanted, found.upgrade(), controllerName, definitionsName)
}

// optionOf returns the template.Kind.Option of an object that is the definition of a built-in template, such as Mysql,
// and "" for other objects. The controller works without such a definition.
func optionOf(u *unstructured.Unstructured) string { return u.GetLabels()["holdfast.dev/optional"] }

// afterInstall describes the next steps. Without them, no Application can write.
const afterInstall = `
Applications write with the rights of a ServiceAccount in their namespace. To
grant these rights in the namespace default, run:

  kubectl create serviceaccount holdfast-applier
  kubectl create rolebinding holdfast-applier --clusterrole=edit \
    --serviceaccount=default:holdfast-applier
`
