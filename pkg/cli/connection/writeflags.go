package connection

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// WriteFlags are the flags of all commands that write: whether to write, and how to print the result.
//
//	--dry-run  -o    output
//	none       no    application.holdfast.dev/web suspended
//	client     no    application.holdfast.dev/web suspended (dry run)
//	server     no    application.holdfast.dev/web suspended (server dry run)
//	any        yaml  the Application as it is, or would be, stored
type WriteFlags struct {
	DryRun DryRun
	Output string
	// Printer prints the objects; nil: print the result as text. Parse sets it.
	Printer printers.ResourcePrinter
	// ShowSecrets prints values of Secrets. Only submit defines the flag.
	ShowSecrets bool
}

// Add registers the flags. what is written.
func (f *WriteFlags) Add(flags *pflag.FlagSet, what string) {
	f.DryRun = Send
	flags.StringVar((*string)(&f.DryRun), "dry-run", string(Send), "`MODE`: client sends nothing; server lets the API server validate the change. Nothing is stored")
	// A bare --dry-run means client, because the flag once was a boolean.
	flags.Lookup("dry-run").NoOptDefVal = string(DryRunClient)
	flags.StringVarP(&f.Output, "output", "o", "", "`yaml|json|name`: print "+what)
}

// Parse validates the flags, and sets DryRun and Printer. A value of a boolean flag is a mode, too, because
// --dry-run was one.
//
//	--dry-run, --dry-run=true  client
//	--dry-run=false            none
//	--dry-run=maybe            an error
func (f *WriteFlags) Parse() (err error) {
	switch f.DryRun {
	case "true":
		f.DryRun = DryRunClient
	case "false":
		f.DryRun = Send
	case Send, DryRunClient, DryRunServer:
	default:
		return fmt.Errorf("--dry-run must be none, client or server, not %q", f.DryRun)
	}
	if f.Output != "" {
		f.Printer, err = terminal.ObjectPrinter(f.Output)
	}
	return err
}

// IsDry reports whether nothing is stored.
func (f *WriteFlags) IsDry() bool { return f.DryRun != Send }

// Waitable returns an error if the user asks to wait for a change that is not stored. A default of --wait is
// ignored. `reconcile` waits by default, so only a --wait of the user is an error there.
func (f *WriteFlags) Waitable(wait WaitFlags) error {
	if f.IsDry() && wait.IsRequested() {
		return errors.New("a dry run stores nothing, so --wait has no effect: omit one of them")
	}
	return nil
}

// Note returns the suffix for the message about a change that was not stored.
func (f *WriteFlags) Note() string {
	switch f.DryRun {
	case DryRunClient:
		return " (dry run)"
	case DryRunServer:
		return " (server dry run)"
	}
	return ""
}

// Print prints the result for an Application: the Application with -o, or else what was done. It masks values
// of Secrets in app.
func (f *WriteFlags) Print(streams terminal.Streams, app *unstructured.Unstructured, done string) error {
	if f.Printer == nil {
		_, err := fmt.Fprintf(streams.Out, "application.%s/%s %s%s\n", v1alpha1.GroupVersion.Group, app.GetName(), done, f.Note())
		return err
	}
	return f.PrintObject(streams, app)
}

// PrintApplication does the same as Print for a typed Application.
func (f *WriteFlags) PrintApplication(streams terminal.Streams, app *v1alpha1.Application, done string) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(app)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetAPIVersion(v1alpha1.GroupVersion.String())
	object.SetKind(v1alpha1.Kind)
	return f.Print(streams, object, done)
}

// PrintObject prints an Application, with the values of Secrets masked unless ShowSecrets is set. It masks
// them in app itself.
func (f *WriteFlags) PrintObject(streams terminal.Streams, app *unstructured.Unstructured) error {
	if !f.ShowSecrets && files.MaskApplication(app.Object) && f.Output != "name" {
		terminal.Warn(streams.Err, "values of Secrets are masked in the output: use --show-secrets to print them")
	}
	return f.Printer.PrintObj(app, streams.Out)
}
