package connection

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// AwaitServed waits until the API server serves Applications, so that the next command can use them. It returns an
// error after servedTimeout. A user who may not list Applications does not wait, but gets an error. A new definition
// is not served at once: the API server first accepts its names, and then installs the handler.
func (c *Client) AwaitServed(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, servedTimeout, true, func(ctx context.Context) (bool, error) {
		_, err := c.Own.Resource(Applications).Namespace("default").List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return true, c.Explained(err, "list", "Applications")
	})
	if wait.Interrupted(err) {
		return errors.New("the API server does not serve Applications yet. For details, run: kubectl describe crd applications.holdfast.dev")
	}
	return err
}

// servedTimeout is how long an API server may take to serve a new kind.
const servedTimeout = time.Minute
