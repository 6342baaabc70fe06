package controller

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller/profiles"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/store"
)

// targetCluster is a cluster with held objects. There is only one, which also stores the Applications. targetOf returns
// the cluster with an Application's objects. Its fields do not change, and each has its own lock.
type targetCluster struct {
	client *cluster.Client
	mapper *cluster.Mapper
	// watches contains the watches of held objects, by kind.
	watches *cluster.Watches
	// namespaces notifies Applications of namespaces that they wait for.
	namespaces *cluster.Namespaces
	// waits notifies Applications of kinds that they wait for.
	waits    *kindWaits
	profiles *profiles.Profiles
	// rights caches what ServiceAccounts may read.
	rights *cluster.ReadRights
	now    func() time.Time
	// account is the ServiceAccount for Applications without spec.serviceAccountName.
	account string
}

// narrow restricts watches to single namespaces if the selection names namespaces.
func (t *targetCluster) narrow(s cluster.Selection) {
	t.watches.RestrictNamespaces(len(s.Namespaces) > 0)
}

// drop ends the watches and waits that only this Application needs. A reconcile that runs at the same time may start
// them again: see Controller.forgetMissing.
func (t *targetCluster) drop(app types.UID) {
	t.watches.SetInterest(app, nil, nil, nil, nil)
	t.namespaces.SetWaiting(app, nil)
	t.profiles.Forget(app)
}

// changed drops the cached kinds of the group of a definition, and returns the Applications that use them or waited
// for them. The caller queues them. The cache is dropped first, so that their reconciles ask again.
func (t *targetCluster) changed(definition schema.GroupResource) (users []types.UID, waiting map[types.NamespacedName]struct{}) {
	t.mapper.Forget(definition.Group)
	t.profiles.DefinitionChanged(definition.Group)
	t.watches.DefinitionChanged(definition)
	return t.watches.Users(definition.Group), t.waits.take(definition.Group)
}

// targetOf returns the cluster with an Application's objects. It returns an error if the name of the ServiceAccount
// is invalid. It sends no request.
func (t *targetCluster) targetOf(app *v1alpha1.Application) (reconcile.Target, error) {
	writer, err := t.client.WriterFor(app.Namespace, t.accountOf(app))
	if err != nil {
		return nil, err
	}
	writer = writer.WithFieldManager(v1alpha1.FieldManagerOf(app.Namespace, app.Name))
	return target{t, writer, app.UID, func(group string) { t.waits.add(group, store.Key(app)) }}, nil
}

// viewOf returns the same cluster for reading from the stores. It has no Writer: a request with the rights of the
// ServiceAccount, such as Get, would panic.
func (t *targetCluster) viewOf(app *v1alpha1.Application) target {
	return target{targetCluster: t, app: app.UID, await: func(string) {}}
}

// accountOf returns the ServiceAccount that acts for an Application.
func (t *targetCluster) accountOf(app *v1alpha1.Application) string {
	return cmp.Or(app.Spec.ServiceAccountName, t.account)
}
