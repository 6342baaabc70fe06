package connection

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/cli/files"
)

// decide reads the live objects of an Application with the rights of the user, and decides about it like the
// controller. unreadable reports the objects that could not be read; their changes are blocked. If nothing could be
// read at all, the plan of the decision is invalid, and unreadable has the reason. The commands that only inspect
// show blocked changes. Those that would act on the result return unreadable as their error.
func (c *Cluster) decide(ctx context.Context, app files.Subject, now time.Time) (d files.Decision, unreadable error) {
	app, translation := app.Translated(ctx, c.Reader(app.Namespace), !app.NewSource)
	// The translated objects define kinds, too.
	v := c.view(files.WithTranslation(app.Application, translation))
	d, err := app.DecideIn(ctx, v, translation, now)
	if err != nil {
		return d, err
	}
	unlisted, unreadable := v.Unreadable()
	if len(unlisted) > 0 {
		d.Unlisted = fmt.Sprintf("you may not list %s: objects of Application %s/%s that are neither desired nor in its inventory are not shown",
			strings.Join(unlisted, ", "), app.Namespace, app.Name)
	}
	d.Unprofiled = v.unprofiled
	return d, unreadable
}
