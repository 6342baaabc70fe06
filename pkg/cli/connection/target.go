package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// NewTarget returns a target without an Application. Add registers the flags for files, and Parse sets the fields.
func NewTarget() Target { return Target{Connection: NewFlags()} }

// ErrNotWithFiles returns an error for an argument in addition to -f.
func ErrNotWithFiles(argument string) error {
	return fmt.Errorf("%q is not a flag, and the command takes no other arguments: give each file with -f or --live", argument)
}

// ErrNameAndFile is the error if a command has both a name and a file.
var ErrNameAndFile = errors.New("with -f the Application is in the file: omit the name")

// Target is an Application with the location of it and its live objects: one of a cluster, by its name, or one in
// files, with live objects in files. It has values of flags; nothing is read yet.
//
//	holdfast diff web                        Name
//	holdfast diff -f app.yaml --live o.yaml  Files, Live
//	holdfast diff -f app.yaml --cluster      Files, Submitting
//	holdfast diff web -f manifests/          Submitted, Submitting
type Target struct {
	files.Sources
	Submitting bool // with files: decides as if they were submitted to the cluster
	// Settling is true if dry runs find the values that differ only in their spelling. It has no effect on
	// files.
	Settling  bool
	Submitted *files.SubmittedSource // the input to submit, if it is not an Application
	// Name is the name of the Application; empty for files.
	Name       string
	Connection Flags
	// Now is the clock of decisions.
	Now func() time.Time
}

// Parse validates the flags and the arguments, and returns the arguments without the name of the Application. With
// files, there is no name, and all arguments are returned. It reads nothing.
func (t *Target) Parse(streams terminal.Streams, args []string) (rest []string, err error) {
	t.Now = streams.Now
	if t.InFiles() {
		t.Namespace = *t.Connection.Namespace
		return args, t.Check(streams)
	}
	if len(args) == 0 {
		return nil, errors.New("no Application given: give its name, or its file with -f")
	}
	t.Name = args[0]
	if slices.Contains(files.ManifestFiles, filepath.Ext(t.Name)) {
		return nil, fmt.Errorf("%q looks like a file, not like the name of an Application: give each file with -f", t.Name)
	}
	return args[1:], files.ValidName(t.Name)
}

// Decided returns the decision about the Application. c is nil if the Application is in files. Changes of
// live objects that cannot be read are blocked. The plan can be invalid; see files.NotDecided.
func (t Target) Decided(ctx context.Context) (d files.Decision, c *Cluster, err error) {
	d, c, _, err = t.decidedAndUnreadable(ctx)
	return d, c, err
}

// decidedAndUnreadable does the same as Decided, and also returns which live objects could not be read.
func (t Target) decidedAndUnreadable(ctx context.Context) (d files.Decision, c *Cluster, unreadable, err error) {
	if t.InFiles() {
		all, err := t.Decide(ctx, t.Now())
		switch {
		case err != nil:
			return files.Decision{}, nil, nil, err
		case len(all) > 1:
			return files.Decision{}, nil, nil, fmt.Errorf("the files contain %d Applications, and this command takes one: omit the others", len(all))
		}
		return all[0], nil, nil, nil
	}
	if c, err = t.Connection.Connect(); err != nil {
		return files.Decision{}, nil, nil, err
	}
	app, err := c.Application(ctx, t.Name)
	if err != nil {
		return files.Decision{}, c, nil, err
	}
	d, unreadable = c.decide(ctx, app, t.Now())
	return d, c, unreadable, nil
}

// Decided returns the decision about an Application in any namespace. Changes of live objects that cannot
// be read are blocked.
func (c *Cluster) Decided(ctx context.Context, at types.NamespacedName, now time.Time) (files.Decision, error) {
	// The copy shares the client and the cache of kinds, and has another namespace.
	there := *c
	there.Namespace = at.Namespace
	app, err := there.Application(ctx, at.Name)
	if err != nil {
		return files.Decision{}, err
	}
	d, _ := there.decide(ctx, app, now)
	return d, nil
}

// DecideAll decides about all Applications in the files, or the one in the cluster. It returns an error if a live
// object cannot be read, because the differences are not known, or if an Application is invalid. Unlike Decided, it
// fails for unreadable objects: "no difference" must not mean that the objects were not compared.
func (t Target) DecideAll(ctx context.Context) ([]files.Decision, error) {
	switch {
	case t.Submitting:
		return t.decideSubmitted(ctx)
	case t.InFiles():
		return t.Decide(ctx, t.Now())
	}
	d, c, unreadable, err := t.decidedAndUnreadable(ctx)
	if err = errors.Join(err, unreadable); err != nil {
		return nil, err
	}
	if t.Settling {
		c.settle(ctx, &d)
	}
	return []files.Decision{d}, files.NotDecided(d)
}

// decideSubmitted decides as the controller would if the files were submitted. It stops at the first
// Application about which it cannot decide.
func (t Target) decideSubmitted(ctx context.Context) ([]files.Decision, error) {
	// Without -n, the namespace of the context applies, and not the default for files.
	if *t.Connection.Namespace == "" {
		t.Namespace = ""
	}
	c, err := t.Connection.Connect()
	if err != nil {
		return nil, err
	}
	apps, err := t.submittedApplications(ctx, c)
	if err != nil {
		return nil, err
	}
	all := make([]files.Decision, len(apps))
	for i, app := range apps {
		app.Namespace = cmp.Or(app.Namespace, c.Namespace)
		if app, _, err = c.submitted(ctx, app); err != nil {
			return nil, err
		}
		d, unreadable := c.decide(ctx, app, t.Now())
		if err := errors.Join(unreadable, files.NotDecided(d)); err != nil {
			return nil, err
		}
		if t.Settling {
			c.settle(ctx, &d)
		}
		all[i] = d
	}
	return all, nil
}

// submittedApplications returns the Applications in the files, or the one that is built from the files. An
// Application without a namespace has none yet, unless it is built. It validates the files, so that their errors
// have positions in files and not in the built Application.
func (t Target) submittedApplications(ctx context.Context, c *Cluster) ([]files.Subject, error) {
	if t.Submitted == nil {
		return t.Applications(ctx)
	}
	s, err := t.Submitted.Read(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.SetNamespace(c.Namespace, *t.Connection.Namespace); err != nil {
		return nil, err
	}
	_, err = s.Check(ctx, c.View(s.App)) // its errors name the files; the decision contains the warnings
	return []files.Subject{{Application: s.App, Document: storedDocument(s.App)}}, err
}

// Named completes the name of an Application, if it is not in a file.
func (t *Target) Named(ctx context.Context, args []string, typed string) []string {
	if t.InFiles() {
		return nil
	}
	return t.Connection.Named(ctx, args, typed)
}

// ResourceOf completes NAME, and then KIND/NAME from the status of the Application. It completes nothing
// with files.
func (t *Target) ResourceOf(ctx context.Context, args []string, typed string) []string {
	if t.InFiles() {
		return nil
	}
	return t.Connection.ResourceOf(ctx, args, typed)
}

// ResourceOf completes NAME, and then KIND/NAME from the status of the Application.
func (f Flags) ResourceOf(ctx context.Context, args []string, _ string) []string {
	switch len(args) {
	case 0:
		return f.names(ctx)
	case 1:
		return f.resources(ctx, args[0])
	}
	return nil
}

// Named completes the name of an Application.
func (f Flags) Named(ctx context.Context, args []string, _ string) []string {
	if len(args) > 0 {
		return nil
	}
	return f.names(ctx)
}

// CompleteMore completes names of Applications that are not among the arguments yet.
func (f Flags) CompleteMore(ctx context.Context, args []string, _ string) []string {
	return slices.DeleteFunc(f.names(ctx), func(name string) bool { return slices.Contains(args, name) })
}

// names returns the names of all Applications in the namespace, for completion; nil if they cannot be
// listed.
func (f Flags) names(ctx context.Context) []string {
	return f.completed(ctx, func(ctx context.Context, c *Cluster) []string {
		return namesOf(ctx, c.Metadata.Resource(Applications).Namespace(c.Namespace))
	})
}
