package cluster

import (
	"bufio"
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// eventClient opens watches with a REST client.
type eventClient struct{ rest.Interface }

// watcher returns a function that opens a watch of a resource in a namespace, or in all of them if it is empty.
// Unlike client-go, it returns an error if the connection ends before the response, so that the outage is noticed.
// The events contain a streamedObject. The dynamic client decodes each event completely, and reads its text ten times
// in the process; with many objects, this takes more time than everything else.
func (c eventClient) watcher(resource schema.GroupVersionResource, namespace string) func(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.Watch = true
		body, err := c.Get().AbsPath(apiPath(resource.GroupVersion())).
			NamespaceIfScoped(namespace, namespace != "").Resource(resource.Resource).
			VersionedParams(&options, metav1.ParameterCodec).Stream(ctx)
		if err != nil {
			return nil, err
		}
		reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")
		return watch.NewStreamWatcher(&eventDecoder{body: body, lines: bufio.NewReaderSize(body, 64<<10)}, reporter), nil
	}
}
