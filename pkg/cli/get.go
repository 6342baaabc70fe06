package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
)

const getLong = `List Applications, one line each.

It prints the same columns as "kubectl get hfapp". READY is True if every held
field has its value and every resource is healthy; docs/status.md explains the
values of REASON. With -o wide, CONTESTED is the number of fields that another client
keeps changing back, and MESSAGE is the message of the condition Ready. Values of
Secrets in the manifests are masked unless --show-secrets is given.`

const getExample = `
  # The Applications of the namespace
  PROGRAM get

  # All of the cluster, with their messages
  PROGRAM get -A -o wide

  # Some of them
  PROGRAM get web shop

  # With columns of your own
  PROGRAM get -o custom-columns=NAME:.metadata.name,AS:.spec.adoption

  # One, as it is stored
  PROGRAM get web -o yaml

  # One with all that it records, where the status has it packed
  PROGRAM get web -o yaml --full
`

// getOptions are the options of `get`.
//
//	-o                      printed by
//	"" or wide              table
//	custom-columns=         customTable
//	yaml, json, name, ...   object, the printer of kubectl
type getOptions struct {
	streams     Streams
	connection  connection.Flags
	output      string
	selector    string
	all         bool
	noHeaders   bool
	showSecrets bool
	full        bool // unpack status.record
	watch       bool
	// names are the names in the arguments, without duplicates; empty for all Applications.
	names []string
	// object prints objects for programs; nil: a table is printed.
	object printers.ResourcePrinter
	// columns are the columns of -o custom-columns.
	columns []customColumn
}

func newGetCommand(name string, streams Streams) *cobra.Command {
	o := &getOptions{streams: streams, connection: connection.NewFlags()}
	return command.Spec{
		Use: "get [NAME...]", Short: "List Applications",
		Long: getLong, Example: getExample, Statuses: []string{"listed, even if there is none"},
		Flags: o.add, Options: o.options, Complete: o.connection.CompleteMore, Connection: o.connection,
		CompleteFlags: map[string]command.Completer{"output": command.OneOf("wide", "yaml", "json", "name", "jsonpath=", "custom-columns=")},
	}.Build(name)
}

func (o *getOptions) add(flags *pflag.FlagSet) {
	flags.StringVarP(&o.output, "output", "o", "", "`FORMAT`: output format: wide, yaml, json, name, jsonpath=..., custom-columns=..., go-template=...")
	flags.StringVarP(&o.selector, "selector", "l", "", "`LABELS`: only Applications with these labels, for example app=web")
	flags.BoolVarP(&o.all, "all-namespaces", "A", false, "of all namespaces")
	flags.BoolVar(&o.noHeaders, "no-headers", false, "omit the column headings")
	flags.BoolVar(&o.full, "full", false, "with -o yaml or json: unpack status.record")
	connection.AddWatch(flags, &o.watch)
	terminal.AddShowSecrets(flags, &o.showSecrets)
}

// options validates the flags and the names, and selects the printer. -l with names is an error, because kubectl
// rejects it, too: a name selects the Application already.
func (o *getOptions) options(args []string) (_ command.Run, err error) {
	o.names = files.Unique(args)
	switch {
	case len(o.names) > 0 && o.all:
		return nil, errors.New("an Application is named in one namespace: omit -A or the name")
	case len(o.names) > 0 && o.selector != "":
		return nil, errors.New("-l selects among all Applications: omit -l or the name")
	}
	for _, name := range o.names {
		if err := files.ValidName(name); err != nil {
			return o.run, err
		}
	}
	if _, err := labels.Parse(o.selector); err != nil {
		return nil, fmt.Errorf("-l %s is not a label selector: %w", o.selector, err)
	}
	if o.output == "" || o.output == "wide" {
		if o.full {
			return nil, errors.New("--full needs -o yaml or json: a table does not show status.record")
		}
		return o.run, nil
	}
	if spec, is := strings.CutPrefix(o.output, "custom-columns="); is {
		o.columns, err = customColumns(spec)
		return o.run, err
	}
	o.object, err = terminal.ObjectPrinter(o.output, "wide", "custom-columns=SPEC")
	return o.run, err
}

// run prints the Applications that exist, even if others are missing, and returns the error about the missing ones.
//
//	get web nothing   prints web, then the error about nothing: status 2
//	get nothing       only the error: status 2
//	get               prints no row if there is none: status 0
func (o *getOptions) run(ctx context.Context) error {
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	if o.all {
		c.Namespace = metav1.NamespaceAll
	}
	if o.watch {
		return o.follow(ctx, c)
	}
	list, err := o.list(ctx, c)
	if err != nil && (list == nil || len(list.Items) == 0) {
		return err
	}
	return errors.Join(o.print(ctx, c, list), err)
}

// follow returns an error if a named Application does not exist, because it would wait for a mistyped name forever.
// Otherwise, it prints the Applications, and prints each of them again when it changes. A deleted Application prints
// nothing. The headings are printed once, before the first row.
func (o *getOptions) follow(ctx context.Context, c *connection.Cluster) error {
	if len(o.names) > 0 {
		if _, err := o.list(ctx, c); err != nil {
			return err
		}
	}
	return c.Watch(ctx, c.Namespace, metav1.ListOptions{LabelSelector: o.selector}, func(u *unstructured.Unstructured, gone bool) error {
		if gone || len(o.names) > 0 && !slices.Contains(o.names, u.GetName()) {
			return nil
		}
		err := o.print(ctx, c, &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*u}})
		o.noHeaders = true
		return err
	})
}

// print prints Applications in the chosen format. It changes list: it joins slices if the format shows them, and masks
// values of Secrets.
//
//	-o             slices joined  record unpacked  Secrets masked
//	table, wide    no             no               not shown
//	name           no             no               not shown
//	columns        yes            with --full      yes
//	yaml, json...  yes            with --full      yes
func (o *getOptions) print(ctx context.Context, c *connection.Cluster, list *unstructured.UnstructuredList) error {
	for i := range list.Items {
		if (o.object != nil && o.output != "name") || o.columns != nil {
			if err := c.JoinObject(ctx, &list.Items[i]); err != nil {
				terminal.Warn(o.streams.Err, err.Error())
			}
		}
		if o.full {
			if err := files.UnpackRecord(list.Items[i].Object); err != nil {
				return err
			}
		}
		if !o.showSecrets {
			files.MaskApplication(list.Items[i].Object)
		}
	}
	switch {
	case o.object != nil:
		return o.printObjects(list)
	case len(list.Items) == 0:
		fmt.Fprintln(o.streams.Err, o.none(c))
		return nil
	}
	table, err := o.table(list), error(nil)
	if o.columns != nil {
		table, err = customTable(o.columns, list)
	}
	if err != nil {
		return err
	}
	return printTable(o.streams.Out, table, o.noHeaders)
}

// none returns the message that there are no Applications, and where.
func (o *getOptions) none(c *connection.Cluster) string {
	which := ""
	if o.selector != "" {
		which = " with the labels " + o.selector
	}
	if o.all {
		return "There are no Applications" + which + "."
	}
	return fmt.Sprintf("There are no Applications%s in the namespace %s.", which, c.Namespace)
}

// list returns the Applications that exist. The error is about the missing ones; with it, the list can still have
// others. One request per name keeps the order of the arguments, and needs no right to list.
func (o *getOptions) list(ctx context.Context, c *connection.Cluster) (*unstructured.UnstructuredList, error) {
	if len(o.names) == 0 {
		return c.ListApplications(ctx, c.Namespace, metav1.ListOptions{LabelSelector: o.selector})
	}
	list, missing := &unstructured.UnstructuredList{}, []error{}
	for _, name := range o.names {
		one, err := c.Own.Resource(connection.Applications).Namespace(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			missing = append(missing, c.NoSuchApplication(ctx, c.Namespace, name, err))
			continue
		}
		list.Items = append(list.Items, *one)
	}
	return list, errors.Join(missing...)
}

// printObjects prints one object as it is stored, and several objects as a List. kubectl does the same: for one name
// it prints the object, and otherwise a List.
func (o *getOptions) printObjects(list *unstructured.UnstructuredList) error {
	var object runtime.Object = list
	switch {
	case len(o.names) == 1, o.watch:
		object = &list.Items[0]
	case strings.HasPrefix(o.output, "name"):
		for i := range list.Items {
			if err := o.object.PrintObj(&list.Items[i], o.streams.Out); err != nil {
				return err
			}
		}
		return nil
	default:
		list.SetAPIVersion("v1")
		list.SetKind("List")
	}
	return o.object.PrintObj(object, o.streams.Out)
}

// table returns the table that `get` prints. The definition lists the columns in additionalPrinterColumns, so
// that kubectl prints the same.
func (o *getOptions) table(list *unstructured.UnstructuredList) *metav1.Table {
	columns := []string{"Name", "Ready", "Reason", "Resources", "Age"}
	if o.all {
		columns = slices.Insert(columns, 0, "Namespace")
	}
	if o.output == "wide" {
		columns = append(columns, "Contested", "Message")
	}
	table := newTable(columns)
	for i := range list.Items {
		table.Rows = append(table.Rows, metav1.TableRow{Cells: o.cells(&list.Items[i])})
	}
	return table
}

// newTable returns a table without rows.
func newTable(columns []string) *metav1.Table {
	table := &metav1.Table{}
	for _, name := range columns {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string"})
	}
	return table
}

// cells returns the row of an Application, in the order of the columns in table.
//
//	NAME  READY  REASON   RESOURCES  AGE
//	web   False  Drifted  3/4        5m
func (o *getOptions) cells(u *unstructured.Unstructured) []any {
	ready := connection.ReadyOf(u.Object)
	var cells []any
	if o.all {
		cells = append(cells, u.GetNamespace())
	}
	cells = append(cells, u.GetName(), ready.Status, ready.Reason, cmp.Or(manifest.NestedString(u.Object, "status", "summary"), "-"),
		terminal.Span(o.streams.Now().Sub(u.GetCreationTimestamp().Time)))
	if o.output == "wide" {
		contested, _, _ := unstructured.NestedSlice(u.Object, "status", "contested")
		cells = append(cells, len(contested), terminal.Visible(strings.ReplaceAll(ready.Message, "\n", " ")))
	}
	return cells
}

// printTable prints a table with the printer of kubectl, so that scripts can parse both in the same way.
func printTable(w io.Writer, table *metav1.Table, noHeaders bool) error {
	tabs := printers.GetNewTabWriter(w)
	if err := printers.NewTablePrinter(printers.PrintOptions{NoHeaders: noHeaders, Wide: true}).PrintObj(table, tabs); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return tabs.Flush()
}
