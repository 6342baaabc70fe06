package connection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// errTimeIsOver is the cause of a context that ends with the timeout, in contrast to an interrupt.
var errTimeIsOver = errors.New("the timeout has expired")

// AddTime adds only --timeout, for a command that always waits.
func (f *WaitFlags) AddTime(flags *pflag.FlagSet) {
	f.Wait, f.set = true, flags
	flags.DurationVar(&f.timeout, "timeout", 5*time.Minute, "`DURATION`: maximum time to wait; 0: no limit")
}

// Until calls ask immediately and then every half second until it returns true or an error, or until the
// timeout. If ask takes longer, the next call follows it immediately. late returns the error for a timeout, which
// becomes the exit status StatusDifferent. An interrupt is an error, too.
//
//	ask returns     the context          Until returns
//	true, nil       any                  nil
//	any, an error   active               the error
//	false, nil      active               calls ask again
//	any             after the timeout    late, with StatusDifferent
//	any             interrupted          StatusInterrupted
//
// ask may block, for example in a watch: it must return when its context ends.
func (f WaitFlags) Until(ctx context.Context, late func() error, ask func(context.Context) (bool, error)) error {
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, errTimeIsOver)
		defer cancel()
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := ask(ctx)
		// After the end of the context, an error of ask is only a consequence of it.
		if done && err == nil || err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errTimeIsOver) {
				return &terminal.Exit{Status: terminal.StatusDifferent, Err: fmt.Errorf("after %s: %w", f.timeout, late())}
			}
			return terminal.Interrupted("the operation continues in the cluster")
		}
	}
}

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
