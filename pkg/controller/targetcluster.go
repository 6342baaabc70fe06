package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cluster"
)

// targetCluster is a cluster with held objects. There is only one, which also has the Applications.
// Controller.targetOf returns the cluster with an Application's objects.
type targetCluster struct {
	client  *cluster.Client
	mapper  *cluster.Mapper
	watches *cluster.Watches
	// namespaces notifies Applications of namespaces that they wait for.
	namespaces *cluster.Namespaces
}

// run starts the watches. They run until the context ends.
func (t *targetCluster) run(ctx context.Context) {
	t.watches.Run(ctx)
	t.namespaces.Run(ctx)
}

// wait returns after all watches have ended.
func (t *targetCluster) wait() { t.watches.Wait() }

// narrow restricts watches to single namespaces if the selection names namespaces.
func (t *targetCluster) narrow(s cluster.Selection) {
	t.watches.RestrictNamespaces(len(s.Namespaces) > 0)
}

// drop ends the watches and waits that only this Application needs.
func (t *targetCluster) drop(app types.UID) {
	t.watches.SetInterest(app, nil, nil, nil, nil)
	t.namespaces.SetWaiting(app, nil)
}

// changed drops the cached kinds of a group, and returns the Applications that use them.
func (t *targetCluster) changed(group string) []types.UID {
	t.mapper.Forget(group)
	return t.watches.Users(group)
}
