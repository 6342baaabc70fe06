package connection

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AwaitServed waits until the API server serves Applications, so that the next command can use them. It
// returns an error after servedTimeout. A user who may not list Applications does not wait, but gets an
// error.
func (c *Client) AwaitServed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := c.Own.Resource(Applications).Namespace("default").List(ctx, metav1.ListOptions{Limit: 1})
		if !apierrors.IsNotFound(err) {
			return c.Explained(err, "list", "Applications")
		}
		select {
		case <-ctx.Done():
			return errors.New("the API server does not serve Applications yet. For details, run: kubectl describe crd applications.holdfast.dev")
		case <-tick.C:
		}
	}
}

// servedTimeout is how long an API server may take to serve a new kind.
const servedTimeout = time.Minute
