package setup

import (
	"cmp"
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
)

// deployedController is the Deployment of a controller; nil for a controller outside the cluster.
type deployedController struct{ *unstructured.Unstructured }

// deployedControllers returns all controllers of a cluster: the given one first, then others by namespace and name. It
// returns only the given one, which can be nil, if the user may not list Deployments.
func deployedControllers(ctx context.Context, c *connection.Cluster, first *unstructured.Unstructured) ([]deployedController, error) {
	list, err := c.Own.Resource(deployments).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=holdfast"})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return []deployedController{{first}}, nil
	}
	if err != nil {
		return nil, c.Explained(err, "list", "Deployments of controllers")
	}
	var all []deployedController
	if first != nil || len(list.Items) == 0 {
		all = append(all, deployedController{first})
	}
	for i := range list.Items {
		if one := &list.Items[i]; first == nil || one.GetUID() != first.GetUID() {
			all = append(all, deployedController{one})
		}
	}
	return all, nil
}

// name returns the name of the controller for a message.
func (d deployedController) name() string {
	if d.Unstructured == nil {
		return "the controller"
	}
	return d.GetName()
}

// namespace returns the namespace of the controller, or other if it is outside the cluster.
func (d deployedController) namespace(other string) string {
	if d.Unstructured == nil {
		return other
	}
	return d.GetNamespace()
}

// argument returns the value of a flag in the form --flag=value of the controller, or "" if it is not set. The value
// of a flag in the form "--flag value" is not found: the files below deploy do not use it.
func (d deployedController) argument(flag string) string {
	if d.Unstructured == nil {
		return ""
	}
	for _, container := range containersOf(d.Object) {
		arguments, _, _ := unstructured.NestedStringSlice(container, "args")
		for _, argument := range arguments {
			if value, is := strings.CutPrefix(argument, "--"+flag+"="); is {
				return value
			}
		}
	}
	return ""
}

// lease returns the name of the Lease.
func (d deployedController) lease() string {
	return cmp.Or(d.argument("leader-elect-resource-name"), controllerName)
}

// configMap returns the name of the ConfigMap that the Deployment mounts, or "" without --config.
func (d deployedController) configMap() string {
	if d.argument("config") == "" {
		return ""
	}
	for _, volume := range manifest.NestedMaps(d.Object, "spec", "template", "spec", "volumes") {
		if name := manifest.NestedString(volume, "configMap", "name"); name != "" {
			return name
		}
	}
	return controllerName
}

// configuration returns the configuration file of the controller, or "" if it has none or the user may not read it.
func (d deployedController) configuration(ctx context.Context, c *connection.Cluster) (string, error) {
	name := d.configMap()
	if name == "" {
		return "", nil
	}
	config, err := readable(ctx, c.Own.Resource(configMaps).Namespace(d.GetNamespace()), name)
	if err != nil || config == nil {
		return "", err
	}
	return manifest.NestedString(config.Object, "data", "config.yaml"), nil
}

// selection returns which Applications the controller selects, by its flags and its configuration file. It returns all
// without a Deployment that the user may read.
func (d deployedController) selection(configuration string) (cluster.Selection, error) {
	named := func(r rune) bool { return r == ',' }
	selection, err := cluster.NewSelection(strings.FieldsFunc(d.argument("watch-namespaces"), named), d.argument("selector"))
	if err != nil || configuration == "" {
		return selection, err
	}
	return cluster.ParseConfiguration([]byte(configuration), selection)
}
