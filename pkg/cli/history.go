package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const historyLong = `Show changes of held fields and objects: who changed a value, from and to which value,
how long it lasted, and the outcome. It shows the last 20 entries of each Application,
and up to 1,000 more from its ApplicationSlices.

Without NAME it shows all Applications in the namespace. With -A it shows a table of
the clients that change most, in the whole cluster; with -A and --by, the changes of
one client. A client is a field manager, such as kubectl-edit. The API server rarely
knows who removed a field. With the controller's audit webhook, users are named, too.
Values of Secrets are masked.`

const historyExample = `
  # Who has changed resources of web?
  PROGRAM history web

  # Only the replicas of its Deployment, and new changes
  PROGRAM history web deploy/web spec.replicas -w

  # Which clients change most, and what one of them did in the last hour
  PROGRAM history -A
  PROGRAM history -A --by kubectl-edit --since 1h
`

// historyOptions are the options of `history`.
//
//	arguments          entries
//	none               of all Applications in the namespace
//	web                of one Application
//	web deploy/web     of one object
//	-A                 a table of the writers in all namespaces
//	-A --by kubectl    of one writer in all namespaces
type historyOptions struct {
	streams    Streams
	connection connection.Flags
	// since is 0 without --since. run sets filter.Since from it, with the clock of the streams.
	since  time.Duration
	all    bool
	watch  bool
	output string
	name   string
	filter report.HistoryFilter
	print  terminal.Printer // nil: text output
}

func newHistoryCommand(name string, streams Streams) *cobra.Command {
	o := &historyOptions{streams: streams, connection: connection.NewFlags()}
	return command.Spec{
		Use: "history [NAME [KIND/NAME [PATH]]]", Short: "Show who changed which fields, and the outcome",
		Long: historyLong, Example: historyExample, Statuses: []string{"shown, also if there are no changes"},
		Args: command.AtMost(3), Flags: o.add, Options: o.options, Complete: o.connection.ResourceOf, Connection: o.connection,
	}.Build(name)
}

func (o *historyOptions) add(flags *pflag.FlagSet) {
	flags.StringVar(&o.filter.By, "by", "", "`NAME`: only changes of this field manager or user")
	flags.DurationVar(&o.since, "since", 0, "`DURATION`: only changes within this time, for example 30m or 24h")
	flags.BoolVarP(&o.all, "all-namespaces", "A", false, "all namespaces: which clients change most")
	connection.AddWatch(flags, &o.watch)
	flags.StringVarP(&o.output, "output", "o", "", "`yaml|json`: print for programs")
}

// options validates the flags and the arguments. A filter with an invalid path is an error before any request.
func (o *historyOptions) options(args []string) (_ command.Run, err error) {
	if len(args) > 0 {
		o.name = args[0]
		if err := files.ValidName(o.name); err != nil {
			return o.run, err
		}
	}
	if len(args) > 1 {
		o.filter.Resource = args[1]
	}
	if len(args) > 2 {
		o.filter.Path = args[2]
	}
	switch {
	case o.all && o.name != "":
		return nil, errors.New("an Application is named in one namespace: omit -A or the name")
	case o.since < 0:
		return nil, fmt.Errorf("--since needs a duration such as 30m or 24h, not %s", o.since)
	case o.filter.Resource != "" && !strings.Contains(o.filter.Resource, "/"):
		return nil, fmt.Errorf("%q is not KIND/NAME, as deployment/web is", o.filter.Resource)
	}
	if _, err = o.filter.Select(nil); err == nil {
		o.print, err = terminal.OptionalPrinter(o.output)
	}
	return o.run, err
}

// run reads a named Application before it is watched, because a watch of an unknown name has no events, and no error.
// Entries of several Applications are sorted by time, the newest first. With -w, the oldest is first, so that new ones
// follow.
func (o *historyOptions) run(ctx context.Context) error {
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	if o.since > 0 {
		o.filter.Since = o.streams.Now().Add(-o.since)
	}
	if o.all {
		c.Namespace = metav1.NamespaceAll
	}
	options := metav1.ListOptions{}
	var named files.Subject
	if o.name != "" {
		if named, err = c.Application(ctx, o.name); err != nil {
			return err
		}
		options.FieldSelector = "metadata.name=" + o.name
	}
	if o.watch {
		return o.follow(ctx, c, options)
	}
	apps := []*v1alpha1.Application{named.Application}
	if o.name == "" {
		if apps, err = listed(ctx, c); err != nil {
			return err
		}
	}
	var entries []report.EntryView
	for _, app := range apps {
		more, err := o.entries(ctx, c, app)
		if err != nil {
			return err
		}
		entries = append(entries, more...)
	}
	report.SortHistory(entries)
	return o.show(entries)
}

// listed returns the Applications in the namespace of c.
func listed(ctx context.Context, c *connection.Cluster) ([]*v1alpha1.Application, error) {
	list, err := c.ListApplications(ctx, c.Namespace, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	apps := make([]*v1alpha1.Application, len(list.Items))
	for i := range list.Items {
		if apps[i], err = connection.DecodeApplication(&list.Items[i]); err != nil {
			return nil, err
		}
	}
	return apps, nil
}

// entries returns the history entries of one Application that match the filter. With a cluster, it includes those in
// ApplicationSlices, if they can be read. c is nil to leave these out. Slices that cannot be read are a message and
// no error: the newest entries are in the status.
func (o *historyOptions) entries(ctx context.Context, c *connection.Cluster, app *v1alpha1.Application) ([]report.EntryView, error) {
	history := app.Status.History
	// Slices have only older entries. They are not read if the oldest one in the status is already too old.
	if n := len(history); c != nil && n > 0 && !history[n-1].Time.Time.Before(o.filter.Since) {
		older, err := c.OlderHistory(ctx, app)
		if err != nil {
			fmt.Fprintln(o.streams.Err, err)
		}
		app.Status.History = slices.Concat(history, older)
	}
	return o.filter.Select(report.HistoryOf(app))
}

// follow prints the existing history entries, the oldest first, and then new ones. It ends with an interrupt.
func (o *historyOptions) follow(ctx context.Context, c *connection.Cluster, options metav1.ListOptions) error {
	// seen records the entries of the last version of each Application. Entries that leave the status are
	// forgotten.
	seen := map[types.UID]map[string]bool{}
	return c.Watch(ctx, c.Namespace, options, func(u *unstructured.Unstructured, gone bool) error {
		older := c
		if gone || seen[u.GetUID()] != nil {
			older = nil // the older entries are already printed
		}
		app, err := connection.DecodeApplication(u)
		if err != nil {
			return err
		}
		entries, err := o.entries(ctx, older, app)
		if gone || err != nil {
			delete(seen, u.GetUID())
			return err
		}
		now := map[string]bool{}
		for _, e := range slices.Backward(entries) {
			// The line without ages is the same in all versions, unless the entry was updated.
			key := e.Time + " " + e.Line(time.Time{}, false)
			if now[key] = true; seen[u.GetUID()][key] {
				continue
			}
			if err := o.showOne(e); err != nil {
				return err
			}
		}
		seen[u.GetUID()] = now
		return nil
	})
}

// showOne prints an entry at once, because -w never ends. With -o json, each entry is one document, so that a
// program can read them as a stream.
func (o *historyOptions) showOne(e report.EntryView) error {
	if o.print != nil {
		return o.print(o.streams.Out, e)
	}
	return terminal.WriteLines(o.streams.Out, []string{e.Time + "  " + e.Line(o.streams.Now(), o.name == "")})
}

// show prints the entries in the chosen format.
func (o *historyOptions) show(entries []report.EntryView) error {
	switch {
	case o.print != nil:
		return o.print(o.streams.Out, report.HistoryView{Type: report.Type{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ApplicationHistory"}, Entries: entries})
	case len(entries) == 0:
		fmt.Fprintln(o.streams.Err, "No matching changes are recorded.")
		return nil
	case o.all && o.filter.By == "":
		return o.table(report.SummarizeWriters(entries))
	}
	now := o.streams.Now()
	var rows [][]string
	for _, e := range entries {
		rows = append(rows, []string{e.Ago(now), e.Line(now, o.name == "")})
	}
	return terminal.WriteLines(o.streams.Out, terminal.Aligned(rows))
}

// table prints the writers with the most changes.
func (o *historyOptions) table(sums []*report.WriterSummary) error {
	now := o.streams.Now()
	rows := [][]string{{"WRITER", "CHANGES", "FIELDS", "CONTESTED", "APPLICATIONS", "LONGEST", "LAST"}}
	for _, s := range sums {
		rows = append(rows, []string{
			cmp.Or(terminal.Visible(s.Manager), "(not known)"), strconv.Itoa(s.Changes), strconv.Itoa(s.Fields), strconv.Itoa(s.Contested), strconv.Itoa(s.Applications), s.Longest.String(), terminal.Ago(now, s.Last),
		})
	}
	return terminal.WriteLines(o.streams.Out, terminal.Aligned(rows))
}
