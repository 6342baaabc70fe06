package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cluster"
)

// targetCluster is a cluster whose objects are held. There is one, the same that has the
// Applications. Which one an Application's objects are in is what Controller.targetOf says.
type targetCluster struct {
	client  *cluster.Client
	mapper  *cluster.Mapper
	watches *cluster.Watches
	// namespaces tells of those that Applications wait for.
	namespaces *cluster.Namespaces
}

// run begins to watch, until the context ends.
func (t *targetCluster) run(ctx context.Context) {
	t.watches.Run(ctx)
	t.namespaces.Run(ctx)
}

// wait returns when no watch runs any more.
func (t *targetCluster) wait() { t.watches.Wait() }

// narrow has single namespaces watched where these are all that is selected.
func (t *targetCluster) narrow(s cluster.Selection) {
	t.watches.RestrictNamespaces(len(s.Namespaces) > 0)
}

// drop ends what an Application needs.
func (t *targetCluster) drop(app types.UID) {
	t.watches.SetInterest(app, nil, nil, nil, nil)
	t.namespaces.SetWaiting(app, nil)
}

// changed looks up the kinds of a group anew, and returns the Applications that use them.
func (t *targetCluster) changed(group string) []types.UID {
	t.mapper.Forget(group)
	return t.watches.Users(group)
}
