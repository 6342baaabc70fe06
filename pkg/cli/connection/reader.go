package connection

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/source"
)

// clusterReader is a source.Reader with the rights of the user. The controller reads with the rights of a
// ServiceAccount, so it can have other results.
type clusterReader struct {
	*Client

	kinds     *Mapper
	namespace string
}

// Reader returns a reader of the ConfigMaps and Secrets of a namespace, with the rights of the user.
func (c *Cluster) Reader(namespace string) source.Reader {
	return clusterReader{c.Client, c.Kinds, namespace}
}

// Read implements source.Reader.
//
//	response   problem                      effect on the decision
//	404        FetchFailed                  as for the controller
//	403        files.Unread                 only this user cannot translate the template
//	other      files.Unread                 as for 403
func (r clusterReader) Read(ctx context.Context, kind, name string) (map[string]any, *plan.Problem) {
	id := manifest.ID{Kind: kind, Namespace: r.namespace, Name: name}
	mapping, err := r.kinds.Mapping(ctx, schema.GroupVersionKind{Version: "v1", Kind: kind})
	if err != nil {
		return nil, &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: err.Error()}
	}
	object, err := r.Get(ctx, cluster.Location{ID: id, Mapping: mapping})
	switch {
	case apierrors.IsNotFound(err):
		return nil, &plan.Problem{Reason: v1alpha1.ReasonFetchFailed, Message: id.String() + " does not exist"}
	case err != nil:
		return nil, files.Unread(r.Explained(err, "get", id.String()))
	}
	return object, nil
}
