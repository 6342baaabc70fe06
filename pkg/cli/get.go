package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const getLong = `List Applications, one line each.

READY is True when every held field has its value and every resource is healthy;
STATUS says why not, in a word that docs/semantics.md explains. CONTESTED counts
the fields that somebody keeps changing back. In YAML and JSON, values of Secrets
among the manifests are masked unless --show-secrets is given.

Exit status:
  0  listed, even if there is none
  2  an error, also one in the flags`

const getExample = `
  # The Applications of the namespace
  PROGRAM get

  # All of the cluster, with what each says
  PROGRAM get -A -o wide

  # One, as it is stored
  PROGRAM get web -o yaml
`

type getFlags struct {
	connection  connection.Flags
	output      string
	selector    string
	all         bool
	noHeaders   bool
	showSecrets bool
}

type getOptions struct {
	getFlags
	streams Streams
	name    string
	// object prints objects for programs; nil: a table.
	object printers.ResourcePrinter
}

func newGetCommand(name string, streams Streams) *cobra.Command {
	f := &getFlags{connection: connection.NewFlags()}
	return command{
		use: "get [NAME]", short: "List Applications",
		long: getLong, example: getExample,
		args: atMost(1), flags: f.add,
		options:       func(args []string) (runner, error) { return f.options(streams, args) },
		complete:      f.connection.Named,
		connection:    f.connection,
		completeFlags: map[string]completer{"output": oneOf("wide", "yaml", "json", "name", "jsonpath=")},
	}.build(name)
}

func (f *getFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.output, "output", "o", "", "`FORMAT`: wide, yaml, json, name, jsonpath=..., go-template=...")
	flags.StringVarP(&f.selector, "selector", "l", "", "only those whose labels fit, such as `KEY=VALUE`")
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "of all namespaces")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "leave the names of the columns out")
	terminal.AddShowSecrets(flags, &f.showSecrets)
	f.connection.Add(flags)
}

func (f *getFlags) options(streams Streams, args []string) (runner, error) {
	o := getOptions{getFlags: *f, streams: streams}
	if len(args) == 1 {
		o.name = args[0]
	}
	switch {
	case o.name != "" && f.all:
		return o, errors.New("a name is one of a namespace: leave -A out, or the name")
	case o.name != "" && f.selector != "":
		return o, errors.New("-l chooses among all: leave it out, or the name")
	case o.name != "" && files.ValidName(o.name) != nil:
		return o, files.ValidName(o.name)
	}
	if _, err := labels.Parse(f.selector); err != nil {
		return o, fmt.Errorf("-l %s cannot be read: %w", f.selector, err)
	}
	if f.output == "" || f.output == "wide" {
		return o, nil
	}
	var err error
	o.object, err = objectPrinter(f.output, "wide")
	return o, err
}

// objectPrinter is kubectl's printer for -o, which takes more formats than it
// prints here.
func objectPrinter(output string, more ...string) (printers.ResourcePrinter, error) {
	flags := genericclioptions.NewPrintFlags("")
	flags.OutputFormat = &output
	printer, err := flags.ToPrinter()
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return nil, terminal.NoFormat(output, append(more, "yaml", "json", "name", "jsonpath=PATH", "go-template=TEXT")...)
	}
	return printer, err
}

func (o getOptions) run(ctx context.Context) error {
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	list, err := o.list(ctx, c)
	if err != nil {
		return err
	}
	if o.object != nil {
		return o.printObjects(list)
	}
	if len(list.Items) == 0 {
		fmt.Fprintln(o.streams.Err, o.none(c))
		return nil
	}
	return printTable(o.streams.Out, o.table(list), o.noHeaders)
}

// none says that nothing was found, and where.
func (o getOptions) none(c *connection.Cluster) string {
	which := ""
	if o.selector != "" {
		which = " with the labels " + o.selector
	}
	if o.all {
		return "There are no Applications" + which + "."
	}
	return fmt.Sprintf("There are no Applications%s in the namespace %s.", which, c.Namespace)
}

func (o getOptions) list(ctx context.Context, c *connection.Cluster) (*unstructured.UnstructuredList, error) {
	namespace := c.Namespace
	if o.all {
		namespace = metav1.NamespaceAll
	}
	client := c.Own.Resource(connection.Applications).Namespace(namespace)
	if o.name != "" {
		one, err := client.Get(ctx, o.name, metav1.GetOptions{})
		if err != nil {
			return nil, c.NoSuchApplication(ctx, namespace, o.name, err)
		}
		return &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*one}}, nil
	}
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: o.selector})
	if apierrors.IsNotFound(err) {
		return nil, connection.ErrNotInstalled
	}
	return list, c.Explained(err, "list", "Applications"+ofNamespace(namespace))
}

func ofNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in the namespace " + namespace
}

// printObjects prints one object as it is, and several as a List.
func (o getOptions) printObjects(list *unstructured.UnstructuredList) error {
	if !o.showSecrets {
		for i := range list.Items {
			files.MaskApplication(list.Items[i].Object)
		}
	}
	var object runtime.Object = list
	switch {
	case o.name != "":
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

// table has the columns of `get`.
func (o getOptions) table(list *unstructured.UnstructuredList) *metav1.Table {
	table := &metav1.Table{}
	column := func(name, kind string) {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: kind})
	}
	if o.all {
		column("Namespace", "string")
	}
	for _, name := range []string{"Name", "Ready", "Status", "Resources", "Contested", "Age"} {
		column(name, "string")
	}
	if o.output == "wide" {
		column("Message", "string")
	}
	for i := range list.Items {
		table.Rows = append(table.Rows, metav1.TableRow{Cells: o.cells(&list.Items[i])})
	}
	return table
}

func (o getOptions) cells(u *unstructured.Unstructured) []any {
	ready := connection.ReadyOf(u.Object)
	summary, _, _ := unstructured.NestedString(u.Object, "status", "summary")
	contested, _, _ := unstructured.NestedSlice(u.Object, "status", "contested")
	var cells []any
	if o.all {
		cells = append(cells, u.GetNamespace())
	}
	cells = append(cells, u.GetName(), ready.Status, ready.Reason, dash(summary), len(contested),
		terminal.Span(o.streams.Now().Sub(u.GetCreationTimestamp().Time)))
	if o.output == "wide" {
		cells = append(cells, terminal.Visible(strings.ReplaceAll(ready.Message, "\n", " ")))
	}
	return cells
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func printTable(w io.Writer, table *metav1.Table, noHeaders bool) error {
	tabs := printers.GetNewTabWriter(w)
	if err := printers.NewTablePrinter(printers.PrintOptions{NoHeaders: noHeaders, Wide: true}).PrintObj(table, tabs); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return tabs.Flush()
}
