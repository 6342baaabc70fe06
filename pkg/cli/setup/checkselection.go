package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cluster"
)

// selector is a controller with its selection.
type selector struct {
	deployedController
	cluster.Selection

	configuration string
}

// hasNamespace reports whether the controller selects Applications of a namespace.
func (s selector) hasNamespace(name string) bool {
	return len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, name)
}

// has reports whether the controller selects an Application with these labels in a namespace.
func (s selector) has(namespace string, set labels.Set) bool {
	return s.hasNamespace(namespace) && s.Labels.Matches(set)
}

// String returns the selection for a message.
//
//	holdfast-controller selects all Applications
//	holdfast-controller selects the labels !holdfast.dev/controller in the namespaces shop, blog
func (s selector) String() string {
	text := s.name() + " selects "
	if s.Labels.Empty() {
		text += "all Applications"
	} else {
		text += "the labels " + s.Labels.String()
	}
	if len(s.Namespaces) > 0 {
		text += " in the namespaces " + strings.Join(s.Namespaces, ", ")
	}
	return text
}

// unselected returns a message and a remedy if no controller, or more than one, selects the given Applications, or
// without any those of the namespace. Both are empty if one controller selects each of them. The remedy is for the
// first of these Applications.
func (c checker) unselected(ctx context.Context) (message, remedy string, err error) {
	var all []selector
	for _, d := range c.found.deployed {
		one := selector{deployedController: d}
		if one.configuration, err = d.configuration(ctx, c.Cluster); err != nil {
			return "", "", err
		}
		if one.Selection, err = d.selection(one.configuration); err != nil {
			return "the selection of " + d.name() + " is invalid: " + err.Error(), one.edit("selector", "selector"), nil //nolint:nilerr // the error is the finding
		}
		all = append(all, one)
	}
	if len(c.apps) == 0 && !slices.ContainsFunc(all, func(s selector) bool { return s.hasNamespace(c.Namespace) }) {
		return "no controller selects the namespace " + c.Namespace + ": " + selections(all), all[0].edit("watch-namespaces", "watchNamespaces"), nil
	}
	apps, err := c.selectable(ctx)
	if err != nil {
		return "", "", err
	}
	var none, several []metav1.Object
	for _, app := range apps {
		switch n := len(selecting(all, app.GetNamespace(), app.GetLabels())); {
		case n == 0:
			none = append(none, app)
		case n > 1:
			several = append(several, app)
		}
	}
	switch {
	case len(none) > 0:
		return "no controller selects " + firstNames(len(none), func(i int) metav1.Object { return none[i] }) + ": " + selections(all), c.selectRemedy(all, none[0]), nil
	case len(several) > 0:
		found := selecting(all, several[0].GetNamespace(), several[0].GetLabels())
		return "several controllers select " + firstNames(len(several), func(i int) metav1.Object { return several[i] }) + ": " + selections(found), c.selectRemedy(all, several[0]), nil
	}
	return "", "", nil
}

// selectable returns the Applications of which each needs a controller: the given ones, or else those of the namespace.
// It returns none if the user may not list them.
func (c checker) selectable(ctx context.Context) (apps []metav1.Object, err error) {
	for _, r := range c.apps {
		apps = append(apps, r.app)
	}
	if len(apps) > 0 {
		return apps, nil
	}
	list, err := c.Own.Resource(connection.Applications).Namespace(c.Namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		apps = append(apps, &list.Items[i])
	}
	return apps, nil
}

// selecting returns the controllers that select an Application.
func selecting(all []selector, namespace string, set labels.Set) (found []selector) {
	for _, one := range all {
		if one.has(namespace, set) {
			found = append(found, one)
		}
	}
	return found
}

// selections returns the selections of controllers for a message.
func selections(all []selector) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = one.String()
	}
	return strings.Join(texts, ", ")
}

// selectRemedy returns how to let exactly one controller select an Application. If labels decide, it returns a command
// for each controller that can be the one.
//
//	in the cluster  Run: `kubectl label -n blog hfapp/cart --overwrite holdfast.dev/controller-` for holdfast-controller, or ...
//	in a file       In the file, change labels: `holdfast.dev/controller-` for holdfast-controller, or ...
func (c checker) selectRemedy(all []selector, app metav1.Object) string {
	var commands []string
	for _, one := range all {
		arguments, set := matching(one.Labels, app.GetLabels())
		if found := selecting(all, app.GetNamespace(), set); len(found) != 1 || found[0].name() != one.name() {
			continue
		}
		command := "`" + labelling(app) + strings.Join(arguments, " ") + "`"
		if len(all) > 1 {
			command += " for " + one.name()
		}
		commands = append(commands, command)
	}
	switch text := strings.Join(commands, ", or "); {
	case text != "" && app.GetUID() == "":
		return "In the file, change labels: " + text
	case text != "":
		return "Run: " + text
	}
	found := selecting(all, app.GetNamespace(), app.GetLabels())
	switch {
	case len(found) > 0: // one of them must select less
		return found[len(found)-1].edit("selector", "selector")
	case !slices.ContainsFunc(all, func(s selector) bool { return s.hasNamespace(app.GetNamespace()) }):
		return all[0].edit("watch-namespaces", "watchNamespaces")
	}
	return all[0].edit("selector", "selector")
}

// labelling returns the beginning of the command that labels an Application, and the Mysql that has created it, because
// the same controller must select both. It returns "" for an Application in a file.
func labelling(app metav1.Object) string {
	if app.GetUID() == "" {
		return ""
	}
	objects := "hfapp/" + app.GetName()
	if owner := metav1.GetControllerOf(app); owner != nil {
		objects += " " + strings.ToLower(owner.Kind) + "/" + owner.Name
	}
	return "kubectl label -n " + app.GetNamespace() + " " + objects + " --overwrite "
}

// matching returns the labels with which a selector matches, changed from these, and the arguments of kubectl label for
// the change. A requirement that determines no value, such as one for any value of a label, changes nothing.
func matching(of labels.Selector, from labels.Set) (arguments []string, set labels.Set) {
	set = labels.Merge(from, nil)
	requirements, _ := of.Requirements()
	for _, r := range requirements {
		if r.Matches(set) {
			continue
		}
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			set[r.Key()] = r.Values().List()[0]
			arguments = append(arguments, r.Key()+"="+set[r.Key()])
		case selection.DoesNotExist, selection.NotEquals, selection.NotIn:
			delete(set, r.Key())
			arguments = append(arguments, r.Key()+"-")
		}
	}
	return arguments, set
}

// edit returns the command with which a user changes a part of the selection: in the ConfigMap of the controller if it
// has one that decides, and otherwise in its flags.
func (s selector) edit(flag, field string) string {
	if s.Unstructured == nil {
		return "Change --" + flag + " of the controller"
	}
	var set map[string]any
	_ = yaml.Unmarshal([]byte(s.configuration), &set) // an invalid file sets nothing
	if _, inFile := set[field]; s.configMap() != "" && (inFile || s.argument(flag) == "") {
		return fmt.Sprintf("Run `kubectl edit configmap %s -n %s`, and change %s", s.configMap(), s.GetNamespace(), field)
	}
	return fmt.Sprintf("Run `kubectl edit deployment %s -n %s`, and change --%s", s.GetName(), s.GetNamespace(), flag)
}
