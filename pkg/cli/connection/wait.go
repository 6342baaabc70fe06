package connection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/cluster"
)

// WaitFlags has the flags that decide whether and how long to wait. With the zero value, Follow waits
// without a limit.
type WaitFlags struct {
	// Wait is the value of --wait. A command can set it before Add, as the default.
	Wait bool
	// timeout is the maximum time to wait; 0 for no limit.
	timeout time.Duration
	// set distinguishes values of the user from defaults.
	set *pflag.FlagSet
}

// Add adds the flags. until is the end of the help text of --wait.
func (f *WaitFlags) Add(flags *pflag.FlagSet, until string) {
	f.set = flags
	flags.BoolVar(&f.Wait, "wait", f.Wait, "wait and show progress "+until)
	flags.DurationVar(&f.timeout, "timeout", 5*time.Minute, "`DURATION`: maximum time of --wait; 0: no limit")
}

// Check returns an error if the flags are invalid.
func (f WaitFlags) Check() error {
	switch {
	case f.timeout < 0:
		return fmt.Errorf("--timeout needs a duration such as 30s or 5m, or 0 for no limit, not %s", f.timeout)
	case !f.Wait && f.set.Changed("timeout"):
		return errors.New("--timeout needs --wait: add --wait, or omit --timeout")
	}
	return nil
}

// IsRequested reports whether the user asked to wait, and does not only get the default of the command.
func (f WaitFlags) IsRequested() bool { return f.Wait && f.set.Changed("wait") }

// Visitor is a function that receives an Application, or nil when there is none. It returns true if there is
// nothing more to wait for.
type Visitor func(app *v1alpha1.Application) (done bool, err error)

// Follow calls visit with the current Application, and after each change of it, until visit is done or
// until the timeout. late returns the error for a timeout, which becomes the exit status StatusDifferent.
// If the API server ends the watch, Follow starts again with a list, so visit can get the same Application
// twice.
func (f WaitFlags) Follow(ctx context.Context, c *Cluster, namespace, name string, late func() error, visit Visitor) error {
	return f.Until(ctx, late, applicationWatch{c.Client, namespace, name, visit}.follow)
}

// applicationWatch watches one Application.
type applicationWatch struct {
	*Client

	namespace, name string
	visitor         Visitor
}

// follow lists and watches until the visitor is done, or the stream ends. With done, err is the visitor's.
// Without, a nil error means that the caller must call it again.
func (w applicationWatch) follow(ctx context.Context) (done bool, err error) {
	client := w.Own.Resource(Applications).Namespace(w.namespace)
	what := "Application " + w.namespace + "/" + w.name
	one := metav1.ListOptions{FieldSelector: "metadata.name=" + w.name}
	list, err := client.List(ctx, one)
	if err != nil {
		return false, w.Explained(err, "list", what)
	}
	var app *v1alpha1.Application
	if len(list.Items) > 0 {
		if app, err = w.decode(ctx, &list.Items[0]); err != nil {
			return false, err
		}
	}
	if done, err = w.visitor(app); done || err != nil {
		return done, err
	}
	// The watch continues where the list ends, so no change is missed.
	one.ResourceVersion = list.GetResourceVersion()
	stream, err := client.Watch(ctx, one)
	if err != nil {
		return false, w.Explained(err, "watch", what)
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if done, err := w.visit(ctx, event); done || err != nil {
			return done, err
		}
	}
	return false, nil
}

// visit calls the visitor for an event. An expired watch is no error, because follow then lists again.
func (w applicationWatch) visit(ctx context.Context, event watch.Event) (done bool, err error) {
	switch event.Type {
	case watch.Deleted:
		return w.visitor(nil)
	case watch.Added, watch.Modified:
		u, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			return false, nil
		}
		app, err := w.decode(ctx, u)
		if err != nil {
			return false, err
		}
		return w.visitor(app)
	case watch.Error:
		if err := apierrors.FromObject(event.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return false, fmt.Errorf("watching: %w", err)
		}
	case watch.Bookmark:
	}
	return false, nil
}

// decode returns the typed Application with the content of its slices.
func (w applicationWatch) decode(ctx context.Context, u *unstructured.Unstructured) (*v1alpha1.Application, error) {
	raw, err := u.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("reading an Application: %w", err)
	}
	app, err := cluster.DecodeApplication(raw)
	if err != nil {
		return nil, err
	}
	return w.join(ctx, app)
}

// Ready waits until an Application is ready, or only a user can help. It shows the progress. The error has
// the exit status StatusDifferent unless the API server rejected a request.
func (f WaitFlags) Ready(ctx context.Context, c *Cluster, streams terminal.Streams, namespace, name string) error {
	w := &readyWait{shown: NewProgress(streams), namespace: namespace, name: name, last: pending("it")}
	return f.Follow(ctx, c, namespace, name, w.late, w.visit)
}

// readyWait is the state of a wait for readiness.
type readyWait struct {
	shown           *Progress
	namespace, name string
	// last is the last observed readiness, for the error at the timeout.
	last Readiness
}

// late returns the error for a timeout, with the last reason.
func (w *readyWait) late() error {
	return fmt.Errorf("%[1]s/%[2]s is not ready: %[3]s: %[4]s. For details, run: holdfast status %[2]s -n %[1]s", w.namespace, w.name, w.last.Reason, w.last.Message)
}

// visit implements Visitor.
func (w *readyWait) visit(app *v1alpha1.Application) (done bool, err error) {
	if app == nil {
		return true, &terminal.Exit{Status: terminal.StatusDifferent, Err: fmt.Errorf("%s/%s was deleted during the wait", w.namespace, w.name)}
	}
	if w.last = ReadyIn(app); w.last.Pending {
		w.last.Message = MissingStep(app)
	}
	if app.Status.ObservedGeneration != app.Generation {
		return false, nil // the status is about an older generation
	}
	w.shown.Show(app)
	switch {
	case w.last.Status == "True":
		w.shown.WriteLine("ready: " + w.last.Message)
		return true, nil
	case apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionStalled), app.Spec.Suspend, app.Spec.Mode == v1alpha1.ModeObserve:
		return true, &terminal.Exit{Status: terminal.StatusDifferent, Err: fmt.Errorf("%s/%s is not ready, and needs your action: %s: %s", w.namespace, w.name, w.last.Reason, w.last.Message)}
	}
	return false, nil
}
