package callback

import (
	"context"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/hooks"
)

// Writer returns a function that records calls in the Application, with the controller's own rights. It sets the
// annotation of the purpose to the time, if the Application still has the UID. It writes no status, so it needs no
// version of the Application and has no conflict with the leader.
func Writer(client *cluster.Client, now func() time.Time) func(context.Context, *v1alpha1.Application, hooks.Purpose) error {
	return func(ctx context.Context, app *v1alpha1.Application, purpose hooks.Purpose) error {
		return client.Annotate(ctx, app, annotations[purpose], now().UTC().Format(time.RFC3339Nano))
	}
}
