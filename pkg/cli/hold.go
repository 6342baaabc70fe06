package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

const pathsLong = `
PATH is a path that explain and diff print, such as
spec.template.spec.containers[name=web].image, or an abbreviation of it:
spec.template.spec.containers[0].image, metadata.annotations[*.example.com/*]. The
command adds it to spec.fields of the Application, and never changes an observer schema.
If the same PATH is %s again, the Application is as before. With -f it edits the file,
and keeps the comments. --dry-run prints the edit and its effect.`

const holdLong = `Hold fields of an object, or fields that the Application NAME does not hold.

With KIND/NAME first, the fields are held at their live values: the command creates an
Application that shares the object, with the name of the object or of --application.
If an Application of the namespace has the object, that one is extended. --dry-run
prints the Application, to keep it in Git.

With NAME or -f, a field without a value in the manifest is learned: the live value is
recorded, and held. If the live value differs from the manifest, it is corrected, and
the command lists it. Flags give the fields a rule: the allowed values, or when a
value is written. Without such a flag, the field is held to one value.
`

const freeLong = `Stop holding fields of a resource. They keep their live values, and any client may
change them. With KIND/NAME first, the command finds the Application.

For shared objects, --restore restores the original values and --leave keeps the live
values, whatever spec.onRelease is: of all shared objects of the Application, of
KIND/NAME, or of single fields of it. A field keeps its value if another client has
changed it, or if its original value is not recorded; the command lists it.
`

// editOptions are the options of the commands that change which fields are held: of an Application, or of an object,
// whose Application is found. The arguments and flags select the function that runs.
//
//	command                                     function
//	hold|free web deploy/web PATH, or with -f   run
//	hold|free deploy/web PATH                   runObject
//	free web ... --restore|--leave              runRelease
type editOptions struct {
	streams   Streams
	free      bool
	release   releaseFlags
	policy    v1alpha1.ReleasePolicy // from release; "" if the values of released fields are not chosen
	target    connection.Target      // the Application; run sets its name if the first argument is an object
	write     connection.WriteFlags
	ruleFlags files.RuleFlags
	rule      v1alpha1.HeldField // from ruleFlags
	// application names the Application of object. Without it, that is the only Application with the object, or else
	// one with the name of the object.
	application string
	object      connection.LiveFlags // the first argument, if it is an object
	resource    string               // KIND/NAME
	paths       []string             // as the user typed them; "*" for all fields
}

// newHoldCommand returns the command `hold`.
func newHoldCommand(name string, streams Streams) *cobra.Command {
	o := &editOptions{streams: streams, target: connection.NewTarget()}
	return o.editing(command.Spec{
		Use: "hold [NAME | -f FILE] KIND/NAME PATH...", Short: "Hold fields of an object",
		Long:     holdLong + fmt.Sprintf(pathsLong, "freed"),
		Statuses: []string{"done, or nothing to do", "", pathError},
		Example: "  # Hold the replicas of a Deployment at the live value\n  PROGRAM hold deployment/web spec.replicas\n\n" +
			"  # Print the Application that this would create\n  PROGRAM hold deployment/web spec.replicas --dry-run=client -o yaml\n\n" +
			"  # Hold them again in the Application shop\n  PROGRAM hold shop deployment/web spec.replicas\n\n" +
			"  # An autoscaler may choose them, from 1 to 5\n  PROGRAM hold web deployment/web spec.replicas --minimum 1 --maximum 5",
	}, name)
}

// newFreeCommand returns the command `free`.
func newFreeCommand(name string, streams Streams) *cobra.Command {
	o := &editOptions{streams: streams, free: true, target: connection.NewTarget()}
	return o.editing(command.Spec{
		Use: "free [NAME | -f FILE] [KIND/NAME [PATH...]]", Short: "Stop holding fields of an object",
		Long: freeLong + fmt.Sprintf(pathsLong, "held"),
		Statuses: []string{
			"done, or nothing to do; with --wait: also released in the cluster", "with --wait: not released in time, or you have to do something", pathError,
		},
		Example: "  # An autoscaler may write the replicas\n  PROGRAM free deployment/web spec.replicas\n\n" +
			"  # In a file\n  PROGRAM free -f application.yaml deploy/web 'metadata.annotations[*]'\n\n" +
			"  # Restore the original number of replicas of a shared object\n  PROGRAM free web deployment/web spec.replicas --restore\n\n" +
			"  # What would happen to all shared objects\n  PROGRAM free web --restore --dry-run",
	}, name)
}

// pathError is the meaning of the exit status 2.
const pathError = "an error, also one in the flags or in a path"

// errWaitForFree is the error if --wait has no effect.
var errWaitForFree = errors.New("--wait is for --restore and --leave: add one of them, or omit --wait")

var errNoPath = errors.New("no path given: give PATH, for example spec.replicas")

// editing completes a command that changes which fields are held. Both commands have the same arguments, so their
// completion and validation are shared.
func (o *editOptions) editing(c command.Spec, name string) *cobra.Command {
	c.Flags = func(flags *pflag.FlagSet) {
		o.target.Add(flags)
		if o.free {
			o.release.add(flags)
		} else {
			o.ruleFlags.Add(flags)
		}
		o.write.Add(flags, "the Application")
		flags.StringVar(&o.application, "application", "", "`NAME`: Application of the object, with KIND/NAME first")
	}
	if !o.free {
		c.CompleteFlags = map[string]command.Completer{"mode": command.OneOf("hold", "push", "report", "absent"), "type": command.OneOf("set", "quantity")}
	}
	c.Options, c.Complete, c.Connection = o.options, o.complete, o.target.Connection
	return c.Build(name)
}

// options returns the function that the arguments and flags select. An object is recognized by its slash: a name of an
// Application has none. With -f, the first argument is always an object of the file.
func (o *editOptions) options(args []string) (command.Run, error) {
	isObject := len(args) > 0 && strings.Contains(args[0], "/") && !o.target.InFiles()
	switch {
	case isObject:
		return o.runObject, o.parseObject(args)
	case o.application != "":
		return nil, errors.New("--application is for an object without NAME: give KIND/NAME first, and omit NAME or -f")
	case o.release.given():
		return o.runRelease, o.parseRelease(args)
	}
	return o.run, o.parse(args)
}

// parse validates the arguments and flags of an edit of an Application.
//
//	hold                      no Application given, or its file
//	hold web                  no object given
//	hold web deploy/web       no path given
//	free --wait web cm/x a    --wait needs --restore or --leave
func (o *editOptions) parse(args []string) (err error) {
	if err := o.write.Parse(); err != nil {
		return err
	}
	if o.release.wait.Wait {
		return errWaitForFree
	}
	if args, err = o.target.Parse(o.streams, args); err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		return errors.New("no object given: give KIND/NAME, for example deployment/web")
	case len(args) == 1:
		return errNoPath
	}
	if err := o.writable(); err != nil {
		return err
	}
	o.resource, o.paths = args[0], args[1:]
	o.rule, err = o.ruleFlags.Held()
	return err
}

// writable returns an error if the Application is read from files and they are not one local file. A dry
// run does not need one.
//
//	-f                      --dry-run   allowed
//	a file, or a directory  none        yes: the file with the Application is edited
//	several, stdin, a URL   none        no
//	any                     client      yes: the edit is printed
//	any                     server, -o  no: there is no API server
func (o *editOptions) writable() error {
	switch {
	case !o.target.InFiles():
	case o.write.DryRun == connection.DryRunServer || o.write.Printer != nil:
		return errors.New("--dry-run=server and -o are for an Application in a cluster: omit them with -f")
	case !o.write.IsDry() && (len(o.target.Files) > 1 || o.target.Files[0] == files.Stdin || strings.Contains(o.target.Files[0], "://")):
		return errors.New("only one file can be changed at a time, and no directory or URL: use --dry-run to print the edit")
	}
	return nil
}

// complete completes NAME or an object, KIND/NAME, and then paths: free fields for the hold command, held fields for
// the free command.
//
//	hold <TAB>                    names of Applications
//	hold deploy/<TAB>             live objects of this kind
//	hold web <TAB>                resources of the Application
//	hold web deploy/web <TAB>     paths of its free fields
//	free -f a.yaml <TAB>          resources in the file
func (o *editOptions) complete(ctx context.Context, args []string, typed string) []string {
	given := len(args)
	if o.target.InFiles() {
		given++
	}
	switch {
	case len(args) == 0 && strings.Contains(typed, "/"):
		return o.target.Connection.Objects(ctx, nil, typed)
	case len(args) > 0 && strings.Contains(args[0], "/") && !o.target.InFiles():
		return nil
	}
	if given < 2 && !o.target.InFiles() {
		return o.target.ResourceOf(ctx, args, typed)
	}
	ctx, cancel := context.WithTimeout(ctx, connection.CompletionTimeout)
	defer cancel()
	target := o.target
	rest, err := target.Parse(o.streams, args)
	if err != nil {
		return nil
	}
	d, _, err := target.Decided(ctx)
	if err != nil || d.Invalid != nil {
		return nil
	}
	if given < 2 {
		return files.ArgumentsOf(d)
	}
	id, err := files.FindResource(rest[0], files.IDsOf(d))
	if err != nil {
		return nil
	}
	return report.PathsToEdit(d.Plan, id, o.free)
}

// decided returns the decision about an Application whose spec can be edited. The plan shows which paths exist and
// which fields are held, so that a mistyped path is an error with a suggestion.
func (o *editOptions) decided(ctx context.Context) (files.Decision, *connection.Cluster, error) {
	d, c, err := o.target.Decided(ctx)
	if err == nil && !o.target.InFiles() {
		err = report.NotEditable(d.Application)
	}
	if err == nil {
		err = files.NotDecided(d)
	}
	return d, c, err
}

// run decides about the edited Application before it writes, so that no edit makes the Application invalid.
//
//  1. decide about the Application as it is
//  2. find the object and the fields of the paths
//  3. decide about the edited Application; an invalid one is an error
//  4. write, and report which fields are corrected, learned or released
func (o *editOptions) run(ctx context.Context) error {
	d, c, err := o.decided(ctx)
	if err != nil {
		return err
	}
	id, err := files.FindResource(o.resource, files.IDsOf(d))
	if err != nil {
		return err
	}
	e, err := editOf(d, id, intent.Edit{Free: o.free, Paths: o.paths, Rule: o.rule})
	if err != nil {
		return err
	}
	return o.finish(ctx, d, c, e, len(o.paths), id)
}

// finish makes an edit unless its notes are about all paths, and prints the result and the effect on resources.
//
//	edit.notes      spec.replicas is already free
//	writeEdit       application.holdfast.dev/web changed
//	report.Edited   spec.replicas  released: live is kept
func (o *editOptions) finish(ctx context.Context, d files.Decision, c *connection.Cluster, e edit, paths int, ids ...manifest.ID) error {
	var out, messages bytes.Buffer
	told := &out
	if o.write.Printer != nil {
		told = &messages // the output is the Application
	}
	for _, note := range e.notes {
		fmt.Fprintln(told, terminal.Visible(note))
	}
	if len(e.notes) == paths {
		e.lists, ids = nil, nil
	}
	if err := o.writeEdit(ctx, &out, d, c, e); err != nil {
		return err
	}
	for _, id := range ids {
		report.Edited(told, d.Namespace, id, d.Plan, e.after)
	}
	return errors.Join(terminal.Write(o.streams.Out, out.Bytes()), terminal.Write(o.streams.Err, messages.Bytes()))
}

// edit is a change of the lists in the spec that define which fields of a resource are held.
type edit struct {
	notes []string   // one for each path that needs no change
	after *plan.Plan // the plan with the edit, for the report of its effect
	lists []connection.ListEdit
	// text returns the YAML to write. inFile returns the text of a file with the change.
	text   func() (string, error)
	inFile func(text []byte, document manifest.Document) ([]byte, error)
}

// editOf returns a change of the resource's item in spec.fields. It returns an error if the change would make the
// Application invalid. The edit itself is pure: package plan changes the list of items, and this function decides
// about the result.
func editOf(d files.Decision, id manifest.ID, change intent.Edit) (edit, error) {
	fields, notes, err := d.EditFields(id, change)
	if err != nil {
		return edit{}, err
	}
	e := fieldsEdit(d, fields, notes)
	return e, validAfter(e.after)
}

// validAfter returns an error if a plan with an edit is invalid.
func validAfter(edited *plan.Plan) error {
	if edited.Invalid == nil {
		return nil
	}
	return fmt.Errorf("this change would make the Application invalid: %w", edited.Invalid)
}

// fieldsEdit returns a change of spec.fields.
func fieldsEdit(d files.Decision, fields []v1alpha1.ResourceFields, notes []string) edit {
	return edit{
		notes: notes, after: d.WithFields(fields),
		lists: []connection.ListEdit{listEdit("fields", d.Spec.Fields, fields)},
		text:  func() (string, error) { return files.FieldsText(fields) },
		inFile: func(text []byte, document manifest.Document) ([]byte, error) {
			return files.WithFields(text, document, fields)
		},
	}
}

// writeEdit changes the Application or its file. In a dry run, it only prints the YAML to write, unless -o prints the
// Application.
//
//	cluster  --dry-run  -o   written                      printed
//	yes      none       no   each list of the edit        "changed"
//	yes      none       yes  each list of the edit        the Application
//	yes      client     no   nothing                      the lists as YAML
//	yes      server     no   nothing, the patch is sent   "changed (server dry run)"
//	no       none       no   the file                     "FILE changed"
//	no       client     no   nothing                      the lists as YAML
func (o *editOptions) writeEdit(ctx context.Context, out *bytes.Buffer, d files.Decision, c *connection.Cluster, e edit) error {
	switch {
	case len(e.lists) == 0 && o.write.Printer == nil:
		return nil
	case o.write.DryRun == connection.DryRunClient && o.write.Printer == nil:
		text, err := e.text()
		out.WriteString(text)
		return err
	case c == nil:
		return o.writeFile(ctx, out, d.Document, e)
	}
	app, err := o.send(ctx, d, c, e)
	if apierrors.IsInvalid(err) { // without causes: the test in the patch has failed
		return fmt.Errorf("another client has changed Application %s/%s: run the command again", d.Namespace, d.Name)
	}
	if err != nil {
		return err
	}
	streams := o.streams
	streams.Out = out
	return o.write.Print(streams, app, "changed")
}

// send writes the lists, and returns the changed Application. A dry run sends one patch for all lists. Otherwise the
// lists are written one after the other, each with a check that no other client has changed it. If the second write
// fails, the first one remains; the same command then completes it.
func (o *editOptions) send(ctx context.Context, d files.Decision, c *connection.Cluster, e edit) (app *unstructured.Unstructured, err error) {
	patch := []delta.Op{}
	for _, list := range e.lists {
		patch = append(patch, list.Patch...)
	}
	switch {
	case len(e.lists) == 0:
		return c.Patch(ctx, d.Name, types.JSONPatchType, patch, connection.DryRunClient)
	case o.write.IsDry():
		return c.Patch(ctx, d.Name, types.JSONPatchType, patch, o.write.DryRun)
	}
	for _, list := range e.lists {
		if app, err = c.Edit(ctx, d.Name, list); err != nil {
			return nil, err
		}
	}
	return app, nil
}

// listEdit returns a change of a list in the spec, with a JSON Patch that replaces the list if it is unchanged.
//
//	before  after  patch
//	[]      [a]    test /spec/fields null, add /spec/fields [a]
//	[a]     [a b]  test /spec/fields [a], add /spec/fields [a b]
//	[a]     []     test /spec/fields [a], remove /spec/fields
func listEdit[T any](key string, before, after []T) connection.ListEdit {
	path := "/spec/" + key
	var was any        // a test for null also succeeds if the field does not exist
	if before != nil { // an empty list in the spec is not null
		was = before
	}
	patch := []delta.Op{{Op: "test", Path: path, Value: was}}
	if len(after) == 0 {
		patch = append(patch, delta.Op{Op: "remove", Path: path})
	} else {
		patch = append(patch, delta.Op{Op: "add", Path: path, Value: after})
	}
	return connection.ListEdit{Key: key, Before: files.ToList(before), After: files.ToList(after), Patch: patch}
}

// writeFile edits the text of a file, because the decision has only the decoded document, without comments. The file
// is read again. WithFields returns an error if it has changed since the decision.
func (o *editOptions) writeFile(ctx context.Context, out *bytes.Buffer, document manifest.Document, e edit) error {
	text, err := files.ReadFile(ctx, files.Opening(document.File))
	if err != nil {
		return err
	}
	edited, err := e.inFile(text, document)
	if err != nil {
		return err
	}
	if err := files.Replace(document.File, edited); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s changed\n", document.File)
	return nil
}
