package callback

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// Keep refreshes certificates until the context ends, and waits for patience() in between, also before the first
// refresh. An error that persists is logged only once.
func Keep(ctx context.Context, refresh func(context.Context) error, patience func() time.Duration) {
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(patience()):
		}
		err := refresh(ctx)
		switch {
		// The error follows from the end.
		case ctx.Err() != nil:
		case err == nil:
			logged = ""
		case err.Error() != logged:
			logged = err.Error()
			klog.FromContext(ctx).Error(err, "Keeping the previous certificates of a server")
		}
	}
}
