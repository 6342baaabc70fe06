package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
)

// writeFlags are the flags of all commands that write: whether to write, and how to print the result.
//
//	--dry-run  -o    output
//	none       no    application.holdfast.dev/web suspended
//	client     no    application.holdfast.dev/web suspended (dry run)
//	server     no    application.holdfast.dev/web suspended (server dry run)
//	any        yaml  the Application as it is, or would be, stored
type writeFlags struct {
	dryRun connection.DryRun
	output string
	// printer prints the objects; nil: print the result as text. parse sets it.
	printer printers.ResourcePrinter
	// showSecrets prints values of Secrets. Only submit has the flag.
	showSecrets bool
}

// add registers the flags. what is written.
func (f *writeFlags) add(flags *pflag.FlagSet, what string) {
	f.dryRun = connection.Send
	flags.StringVar((*string)(&f.dryRun), "dry-run", string(connection.Send), "`MODE`: client sends nothing; server lets the API server validate the change. Nothing is stored")
	// A bare --dry-run means client, because the flag once was a boolean.
	flags.Lookup("dry-run").NoOptDefVal = string(connection.DryRunClient)
	flags.StringVarP(&f.output, "output", "o", "", "`yaml|json|name`: print "+what)
}

// parse validates the flags, and sets dryRun and printer. A value of a boolean flag is a mode, too, because
// --dry-run was one.
//
//	--dry-run, --dry-run=true  client
//	--dry-run=false            none
//	--dry-run=maybe            an error
func (f *writeFlags) parse() (err error) {
	switch f.dryRun {
	case "true":
		f.dryRun = connection.DryRunClient
	case "false":
		f.dryRun = connection.Send
	case connection.Send, connection.DryRunClient, connection.DryRunServer:
	default:
		return fmt.Errorf("--dry-run must be none, client or server, not %q", f.dryRun)
	}
	if f.output != "" {
		f.printer, err = objectPrinter(f.output)
	}
	return err
}

// isDry reports whether nothing is stored.
func (f *writeFlags) isDry() bool { return f.dryRun != connection.Send }

// waitable returns an error if the user asks to wait for a change that is not stored. A default of --wait is
// ignored. `reconcile` waits by default, so only a --wait of the user is an error there.
func (f *writeFlags) waitable(wait connection.WaitFlags) error {
	if f.isDry() && wait.IsRequested() {
		return errors.New("a dry run stores nothing, so --wait has no effect: omit one of them")
	}
	return nil
}

// note returns the suffix for the message about a change that was not stored.
func (f *writeFlags) note() string {
	switch f.dryRun {
	case connection.DryRunClient:
		return " (dry run)"
	case connection.DryRunServer:
		return " (server dry run)"
	}
	return ""
}

// print prints the result for an Application: the Application with -o, or else what was done. It masks values
// of Secrets in app.
func (f *writeFlags) print(streams Streams, app *unstructured.Unstructured, done string) error {
	if f.printer == nil {
		_, err := fmt.Fprintf(streams.Out, "application.%s/%s %s%s\n", v1alpha1.GroupVersion.Group, app.GetName(), done, f.note())
		return err
	}
	return f.printObject(streams, app)
}

// printApplication does the same as print for a typed Application.
func (f *writeFlags) printApplication(streams Streams, app *v1alpha1.Application, done string) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(app)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetAPIVersion(v1alpha1.GroupVersion.String())
	object.SetKind(v1alpha1.Kind)
	return f.print(streams, object, done)
}

// printObject prints an Application, with the values of Secrets masked unless showSecrets is set. It masks
// them in app itself.
func (f *writeFlags) printObject(streams Streams, app *unstructured.Unstructured) error {
	if !f.showSecrets && files.MaskApplication(app.Object) && f.output != "name" {
		warn(streams.Err, []string{"values of Secrets are masked in the output: use --show-secrets to print them"})
	}
	return f.printer.PrintObj(app, streams.Out)
}

// listOf converts a list to JSON values. It returns nil for a nil list, and for one that cannot be encoded. The
// result has the types of decoded JSON, in which package manifest and delta compare values.
func listOf(list any) (items []any) {
	raw, err := json.Marshal(list)
	if err != nil || utiljson.Unmarshal(raw, &items) != nil {
		return nil
	}
	return items
}
