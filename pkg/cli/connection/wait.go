package connection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/cluster"
)

// WaitFlags contains the flags that decide whether and how long to wait. With the zero value, Follow waits
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

// Check returns an error if the flags are invalid. A --timeout without --wait is an error, because the user expects
// the command to wait.
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

// Follow calls visit with the current Application, and after each change of it, until visit is done or until the
// timeout. late returns the error for a timeout, which becomes the exit status StatusDifferent. If the API server
// ends the watch, Follow starts again with a list, so visit can get the same Application twice. It sends one list
// and one watch for the one Application, and one request for each of its slices after a change.
func (f WaitFlags) Follow(ctx context.Context, c *Cluster, namespace, name string, late func() error, visit Visitor) error {
	one := metav1.ListOptions{FieldSelector: "metadata.name=" + name}
	return f.Until(ctx, late, func(ctx context.Context) (bool, error) {
		return c.listAndWatch(ctx, namespace, one, "Application "+namespace+"/"+name, func(items []unstructured.Unstructured, gone bool) (bool, error) {
			if len(items) == 0 || gone {
				return visit(nil)
			}
			app, err := DecodeApplication(&items[0])
			if err == nil {
				app, err = c.join(ctx, app)
			}
			if err != nil {
				return false, err
			}
			return visit(app)
		})
	})
}

// DecodeApplication returns a typed Application, without the content of its slices.
func DecodeApplication(u *unstructured.Unstructured) (*v1alpha1.Application, error) {
	raw, err := u.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("reading an Application: %w", err)
	}
	return cluster.DecodeApplication(raw)
}

// Ready waits until an Application is ready, or only a user can help. It shows the progress. The error has
// the exit status StatusDifferent unless the API server rejected a request.
func (f WaitFlags) Ready(ctx context.Context, c *Cluster, streams terminal.Streams, namespace, name string) error {
	late, visit := untilReady(NewProgress(streams), namespace, name)
	return f.Follow(ctx, c, namespace, name, late, visit)
}

// untilReady returns the functions for a wait for readiness. They share the last observed readiness, which is in the
// error at the timeout.
//
//	the Application                        visit returns
//	deleted                                an error, StatusDifferent
//	the status is of another generation    waits, without output
//	Ready is True                          done
//	Stalled, suspended or observe-only     an error, StatusDifferent
//	any other                              waits, and shows the progress
func untilReady(shown *Progress, namespace, name string) (late func() error, visit Visitor) {
	last := pending("it")
	late = func() error {
		return fmt.Errorf("%[1]s/%[2]s is not ready: %[3]s: %[4]s. For details, run: holdfast status %[2]s -n %[1]s", namespace, name, last.Reason, last.Message)
	}
	visit = func(app *v1alpha1.Application) (done bool, err error) {
		if app == nil {
			return true, &terminal.Exit{Status: terminal.StatusDifferent, Err: fmt.Errorf("%s/%s was deleted during the wait", namespace, name)}
		}
		if last = ReadyIn(app); last.Pending {
			last.Message = MissingStep(app)
		}
		if app.Status.ObservedGeneration != app.Generation {
			return false, nil // the status is about an older generation
		}
		shown.Show(app)
		switch {
		case last.Status == "True":
			shown.WriteLine("ready: " + last.Message)
			return true, nil
		case apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionStalled), app.Spec.Suspend, app.Spec.Mode == v1alpha1.ModeObserve:
			return true, &terminal.Exit{Status: terminal.StatusDifferent, Err: fmt.Errorf("%s/%s is not ready, and needs your action: %s: %s", namespace, name, last.Reason, last.Message)}
		}
		return false, nil
	}
	return late, visit
}
