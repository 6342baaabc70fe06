package cli

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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
)

const installLong = `Install Holdfast into a cluster, or update it: the definitions of its kinds, its
namespace, and what its controller needs. The objects are built into this program.
It is a server-side apply, so what you have set beside is left alone.

If Holdfast is installed in another way, such as Helm or a kustomization, or in
another version, or other clients have changed what is installed, it changes nothing
and names the command that upgrades it. --force replaces it.

With --export they are printed instead, and no cluster is asked. With --wait it ends
when the controller is ready, and says what its Pods wait for if that takes too long.

There is no public image of the controller: build one and push it to a registry of
yours ("make push IMAGE=..." in a checkout), and name it with --image.

Exit status:
  0  installed, or printed; with --wait: and ready
  1  with --wait: not ready in time
  2  an error, also one in the flags`

const installExample = `
  # Into the cluster of the current context
  PROGRAM install --image registry.example.com/holdfast:1 --wait

  # To look at first, or to keep in Git
  PROGRAM install --export > holdfast.yaml
`

type installFlags struct {
	connection connection.Flags
	wait       connection.WaitFlags
	export     bool
	force      bool
	noMysql    bool
	image      string
}

type installOptions struct {
	installFlags
	streams Streams
}

func newInstallCommand(name string, streams Streams) *cobra.Command {
	f := &installFlags{connection: connection.NewFlags()}
	return command{
		use: "install [--image IMAGE]", short: "Install Holdfast into a cluster",
		long: installLong, example: installExample,
		args: noArguments, flags: f.add,
		options:    func([]string) (runner, error) { return f.options(streams) },
		connection: f.connection,
	}.build(name)
}

func (f *installFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.export, "export", false, "print the objects, and install nothing")
	flags.StringVar(&f.image, "image", "", "`IMAGE` of the controller; without it, the one of the built-in objects")
	flags.BoolVar(&f.force, "force", false, "replace what is installed in another way or version")
	flags.BoolVar(&f.noMysql, "without-mysql", false, "leave out the definition of the kind Mysql")
	f.wait.Add(flags, "until the controller is ready")
	f.connection.Add(flags)
	flags.Lookup("namespace").Usage = "`NAMESPACE` to install into; without it, " + deploy.Namespace
}

func (f *installFlags) options(streams Streams) (runner, error) {
	o := installOptions{*f, streams}
	if err := f.wait.Check(); err != nil {
		return o, err
	}
	if f.wait.Wait && f.export {
		return o, errors.New("--export installs nothing to --wait for: give one of the two")
	}
	if namespace := *f.connection.Namespace; namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		return o, fmt.Errorf("-n %q is not the name of a namespace: lower-case letters, digits and '-'", namespace)
	}
	return o, nil
}

func (o installOptions) run(ctx context.Context) error {
	objects, err := installed(cmp.Or(*o.connection.Namespace, deploy.Namespace))
	if err != nil {
		return err
	}
	if o.noMysql {
		objects = slices.DeleteFunc(objects, isOptional)
	}
	if o.image != "" {
		for _, object := range objects {
			for _, container := range containersOf(object.Object) {
				container["image"] = o.image
			}
		}
	}
	if o.export {
		var text []byte
		for i, object := range objects {
			if i > 0 {
				text = append(text, "---\n"...)
			}
			text = append(text, terminal.ObjectYAML(object.Object)...)
		}
		return terminal.Write(o.streams.Out, text)
	}
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	return o.install(ctx, c, objects)
}

// installed returns the built-in objects in the order in which they are applied. namespace is the namespace
// of the controller.
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

// moveTo moves an object from the default namespace of the controller to another namespace.
func moveTo(object map[string]any, namespace string) {
	u := unstructured.Unstructured{Object: object}
	if u.GetKind() == "Namespace" && u.GetName() == deploy.Namespace {
		u.SetName(namespace)
	}
	if u.GetNamespace() == deploy.Namespace {
		u.SetNamespace(namespace)
	}
	subjects, _, _ := unstructured.NestedFieldNoCopy(object, "subjects")
	list, _ := subjects.([]any)
	for _, item := range list {
		if subject, ok := item.(map[string]any); ok && subject["namespace"] == deploy.Namespace {
			subject["namespace"] = namespace
		}
	}
}

// containersOf returns the containers of a Deployment, or nil for other objects.
func containersOf(object map[string]any) (containers []map[string]any) {
	if object["kind"] != "Deployment" {
		return nil
	}
	value, _, _ := unstructured.NestedFieldNoCopy(object, "spec", "template", "spec", "containers")
	list, _ := value.([]any)
	for _, item := range list {
		if container, ok := item.(map[string]any); ok {
			containers = append(containers, container)
		}
	}
	return containers
}

// imageOf returns the image of the controller.
func imageOf(objects []*unstructured.Unstructured) string {
	for _, object := range objects {
		for _, container := range containersOf(object.Object) {
			image, _ := container["image"].(string)
			return image
		}
	}
	return ""
}

func (o installOptions) install(ctx context.Context, c *connection.Cluster, objects []*unstructured.Unstructured) error {
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
	for _, u := range objects {
		name := u.GetKind() + " " + u.GetName()
		client, err := c.ClientFor(ctx, u)
		if err != nil {
			return c.Explained(err, "find", name)
		}
		if _, err := c.ApplyOne(ctx, client, u.GetName(), u.Object, false, true); err != nil {
			if apierrors.IsForbidden(err) {
				return fmt.Errorf("%s: installing takes the rights of an administrator: %w", name, err)
			}
			return c.Explained(err, "patch", name)
		}
		if _, err := fmt.Fprintln(o.streams.Out, name+" applied"); err != nil {
			return err
		}
	}
	if err := c.AwaitServed(ctx); err != nil {
		return err
	}
	if o.image == "" && strings.HasPrefix(imageOf(objects), "holdfast.dev/") {
		warn(o.streams.Err, []string{"the image of the controller, " + imageOf(objects) + ", is in no public registry: unless your nodes have it, name yours with --image"})
	}
	if o.wait.Wait {
		if err := o.awaitController(ctx, c); err != nil {
			return err
		}
	}
	fmt.Fprint(o.streams.Err, afterInstall)
	return nil
}

// elsewhere returns an error if another namespace already has a controller, because the two controllers
// would work against each other.
func (o installOptions) elsewhere(found installation) error {
	wanted := cmp.Or(*o.connection.Namespace, deploy.Namespace)
	if !found.bound || found.namespace == wanted {
		return nil
	}
	return fmt.Errorf("the namespace %[1]s has a controller, and a second one in %[2]s would work against it: "+
		"`%[3]s` updates it; to move it, `kubectl delete namespace %[1]s` and `kubectl delete clusterrolebinding %[4]s %[5]s` first",
		found.namespace, wanted, found.upgrade(), controllerName, definitionsName)
}

// isOptional reports whether an object is a definition that the controller works without.
func isOptional(object *unstructured.Unstructured) bool {
	return object.GetLabels()["holdfast.dev/optional"] != ""
}

var (
	clusterRoleBindings = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
	roleBindings        = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
)

// afterInstall describes the next steps. Without them, no Application can write.
const afterInstall = `
Applications write with the rights of a ServiceAccount of their namespace. To let
those of the namespace default edit it:

  kubectl create serviceaccount holdfast-applier
  kubectl create rolebinding holdfast-applier --clusterrole=edit \
    --serviceaccount=default:holdfast-applier
`
