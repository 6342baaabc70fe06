package report

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// NotEditable returns an error if another object owns an Application and so renders its spec: the owner's
// controller would undo an edit. Otherwise it returns nil. A template leaves spec.suspend to users
// (docs/templates.md).
func NotEditable(app *v1alpha1.Application) error {
	return ownedBy(app, "renders its spec", "edit")
}

// NotDeletable returns an error if another object owns an Application, because its controller would create the
// Application again.
func NotDeletable(app *v1alpha1.Application) error {
	return ownedBy(app, "creates it again", "delete")
}

// ownedBy returns an error that names the owner of an Application, what the owner does, and the kubectl
// command for the owner. It returns nil if the Application has no owner.
//
//	Mysql db owns Application a/db, and renders its spec: edit the Mysql instead: kubectl edit mysql.fnjoin.com/db -n a
func ownedBy(app *v1alpha1.Application, does, verb string) error {
	owner := metav1.GetControllerOf(app)
	if owner == nil {
		return nil
	}
	kind := strings.ToLower(owner.Kind)
	if gv, err := schema.ParseGroupVersion(owner.APIVersion); err == nil && gv.Group != "" {
		kind += "." + gv.Group
	}
	return fmt.Errorf("%s %s owns Application %s/%s, and %s: %s the %s instead: `kubectl %s %s -n %s`",
		owner.Kind, owner.Name, app.Namespace, app.Name, does, verb, owner.Kind, verb, ShellPath(kind+"/"+owner.Name), app.Namespace)
}
