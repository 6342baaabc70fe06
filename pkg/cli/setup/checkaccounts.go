package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/cli/connection"
)

// accounts returns the ServiceAccounts that the Applications of the namespace name, sorted. It also reports whether
// the default one is needed: by an Application, or because there is no Application yet. An Application without
// spec.serviceAccountName uses the default account of the controller.
func (c checker) accounts(ctx context.Context) (named []string, needsDefault bool, err error) {
	list, err := c.Own.Resource(connection.Applications).Namespace(c.Namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) { // another check reports the missing definitions
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	for _, app := range list.Items {
		if account, _, _ := unstructured.NestedString(app.Object, "spec", "serviceAccountName"); account != "" {
			named = append(named, account)
			continue
		}
		needsDefault = true
	}
	slices.Sort(named)
	return slices.Compact(named), needsDefault || len(list.Items) == 0, nil
}

// applier checks the ServiceAccounts that Applications of the namespace use. The permissions that they need depend
// on the Applications, so it checks only whether the default one can write at all. It stops at the first account
// with a problem: its remedy is usually the same for the others. In a missing namespace, no ServiceAccount can be
// created.
func (c checker) applier(ctx context.Context) (message, remedy string, err error) {
	// A user without the right to read the namespace gets the result for its ServiceAccounts.
	if _, err := c.Own.Resource(namespaces).Get(ctx, c.Namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return "the namespace " + c.Namespace + " does not exist", fmt.Sprintf("Run: `kubectl create namespace %[1]s`, and then `holdfast check -n %[1]s` again", c.Namespace), nil
	}
	named, needsDefault, err := c.accounts(ctx)
	if err != nil {
		return "", "", err
	}
	used := named
	if needsDefault && !slices.Contains(used, c.found.applier()) {
		used = append([]string{c.found.applier()}, used...)
	}
	for _, account := range used {
		if message, remedy, err = c.account(ctx, account, account == c.found.applier()); err != nil || remedy != "" {
			return message, remedy, err
		}
	}
	for i, account := range used {
		used[i] = c.Namespace + "/" + account
	}
	if needsDefault {
		return strings.Join(used, ", ") + ": exists, and may write", "", nil
	}
	return strings.Join(used, ", ") + ": exist. Applications of the namespace use them", "", nil
}

// account checks one ServiceAccount. An empty remedy means that the check has succeeded. isDefault also checks
// whether it may write.
//
//	account              message                                        remedy
//	exists, may write    -                                              -
//	does not exist       shop/holdfast-applier does not exist           create it, and bind a role
//	exists, may not      shop/holdfast-applier may not create configmaps  bind a role
//
// The remedy grants the ClusterRole edit of Kubernetes. `check NAME -o yaml` prints a smaller role.
func (c checker) account(ctx context.Context, name string, isDefault bool) (message, remedy string, err error) {
	at := c.Namespace + "/" + name
	create := fmt.Sprintf("`kubectl create serviceaccount %s -n %s` and ", name, c.Namespace)
	bind := fmt.Sprintf("`kubectl create rolebinding %[2]s -n %[1]s --clusterrole=edit --serviceaccount=%[1]s:%[2]s`", c.Namespace, name)
	if isDefault {
		bind += ", unless the Applications set spec.serviceAccountName"
	}
	_, err = c.Own.Resource(serviceAccounts).Namespace(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && isDefault:
		return at + " does not exist", "Run: " + create + bind, nil
	case apierrors.IsNotFound(err):
		return at + ", which an Application uses, does not exist", "Run: " + create + bind, nil
	case err != nil || !isDefault:
		return "", "", err
	}
	// A ConfigMap represents all objects: an account without this right usually has none.
	allowed, err := isAllowed(ctx, c.Cluster, "system:serviceaccount:"+c.Namespace+":"+name, access{verb: "create", resource: "configmaps", namespace: c.Namespace})
	if err != nil || allowed {
		return "", "", err
	}
	return at + " may not create configmaps", "Run: " + bind, nil
}
