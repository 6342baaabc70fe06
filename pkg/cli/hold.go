package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

const pathsLong = `
PATH is a path that explain and diff print, such as
spec.template.spec.containers[name=web].image, or an abbreviation of it:
spec.template.spec.containers[0].image, metadata.annotations[*.example.com/*]. The
command adds it to spec.fields of the Application, and changes no other field of the
spec. If the same PATH is %s again, the Application is as before. With -f it edits the
file, and keeps the comments. --dry-run prints the edit and its effect, and changes
nothing. If spec.observerSchema has a schema for the resource, that is edited instead.

Exit status:
  0  done, or nothing to do
  2  an error, also one in the flags or in a path`

const holdLong = `Hold fields of a resource that were free, or that the manifest does not set. Without a
value in the manifest, the live value is learned. If the live value differs from the
manifest, it is corrected, and the command lists it. Flags give the fields a rule: the
allowed values, or when a value is written. Without such a flag, the field is held to
one value.

NAME alone ends the mode Observe of an Application (spec.mode: Hold).
`

const freeLong = `Stop holding fields of a resource. They keep their live values, and any client may
change them.
`

type editFlags struct {
	free   bool
	target connection.TargetFlags
	dryRun bool
	rule   ruleFlags
}

type editOptions struct {
	streams      Streams
	target       connection.Target
	free, dryRun bool
	rule         v1alpha1.HeldField
	resource     string
	paths        []string
}

func newHoldCommand(name string, streams Streams) *cobra.Command {
	return editing(command{
		use: "hold (NAME | -f FILE) [KIND/NAME PATH...]", short: "Hold fields of a resource, or an Application",
		long: holdLong + fmt.Sprintf(pathsLong, "freed"),
		example: "  # Hold the replicas of a Deployment again\n  PROGRAM hold web deployment/web spec.replicas\n\n" +
			"  # An autoscaler may choose them, from 1 to 5\n  PROGRAM hold web deployment/web spec.replicas --minimum 1 --maximum 5\n\n" +
			"  # Start to correct drift, after observe-only mode\n  PROGRAM hold web",
	}, false, name, streams)
}

func newFreeCommand(name string, streams Streams) *cobra.Command {
	return editing(command{
		use: "free (NAME | -f FILE) KIND/NAME PATH...", short: "Stop holding fields of a resource",
		long: freeLong + fmt.Sprintf(pathsLong, "held"),
		example: "  # An autoscaler may write the replicas\n  PROGRAM free web deployment/web spec.replicas\n\n" +
			"  # In a file\n  PROGRAM free -f application.yaml deploy/web 'metadata.annotations[*]'",
	}, true, name, streams)
}

// editing completes a command that changes which fields are held.
func editing(c command, free bool, name string, streams Streams) *cobra.Command {
	f := &editFlags{free: free, target: connection.NewTargetFlags()}
	c.flags = func(flags *pflag.FlagSet) {
		f.target.Add(flags)
		if !free {
			f.rule.add(flags)
		}
		flags.BoolVar(&f.dryRun, "dry-run", false, "print the edit and its effect, and change nothing")
	}
	c.args = func(*cobra.Command, []string) error { return nil }
	c.options = func(args []string) (runner, error) {
		o, err := f.options(streams, args)
		if len(args) == 1 && err != nil && !free && !o.target.InFiles && o.target.Name != "" {
			return f.holding(streams, args[0])
		}
		return o, err
	}
	c.complete = func(ctx context.Context, args []string, typed string) []string {
		return f.complete(ctx, streams, args, typed)
	}
	c.connection = f.target.Connection
	return c.build(name)
}

func (f *editFlags) options(streams Streams, args []string) (o editOptions, err error) {
	o = editOptions{streams: streams, free: f.free, dryRun: f.dryRun}
	if o.target, args, err = f.target.Options(streams, args); err != nil {
		return o, err
	}
	switch {
	case len(args) == 0:
		return o, errors.New("no object given: give KIND/NAME, for example deployment/web")
	case len(args) == 1:
		return o, errors.New("no path given: give PATH, for example spec.replicas")
	}
	if err := o.writable(); err != nil {
		return o, err
	}
	o.resource, o.paths = args[0], args[1:]
	o.rule, err = f.rule.held()
	return o, err
}

// writable returns an error if the Application is read from files and they are not one local file. A dry
// run does not need one.
func (o editOptions) writable() error {
	if o.target.InFiles && !o.dryRun && (len(o.target.Files) > 1 || o.target.Files[0] == files.Stdin || strings.Contains(o.target.Files[0], "://")) {
		return errors.New("only one file can be changed at a time, and no directory or URL: use --dry-run to print the edit")
	}
	return nil
}

// complete completes NAME, KIND/NAME, and then paths: free fields for the hold command, held fields for the
// free command.
func (f *editFlags) complete(ctx context.Context, streams Streams, args []string, typed string) []string {
	given := len(args)
	if f.target.InFiles() {
		given++
	}
	if given < 2 && !f.target.InFiles() {
		return f.target.ResourceOf(ctx, args, typed)
	}
	ctx, cancel := context.WithTimeout(ctx, connection.CompletionTimeout)
	defer cancel()
	target, rest, err := f.target.Options(streams, args)
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
	return report.PathsToEdit(d.Plan, id, f.free)
}

// decided returns the decision about an Application whose spec can be edited.
func (o editOptions) decided(ctx context.Context) (files.Decision, *connection.Cluster, error) {
	d, c, err := o.target.Decided(ctx)
	if err == nil && !o.target.InFiles {
		err = editable(d.Application)
	}
	if err == nil {
		err = files.NotDecided(d)
	}
	return d, c, err
}

func (o editOptions) run(ctx context.Context) error {
	d, c, err := o.decided(ctx)
	if err != nil {
		return err
	}
	id, err := files.FindResource(o.resource, files.IDsOf(d))
	if err != nil {
		return err
	}
	e, err := editOf(d, id, plan.Edit{Free: o.free, Paths: o.paths, Rule: o.rule})
	if err != nil {
		return err
	}
	if e.after.Invalid != nil {
		return fmt.Errorf("this change would make the Application invalid: %w", e.after.Invalid)
	}
	var out bytes.Buffer
	for _, note := range e.notes {
		fmt.Fprintln(&out, terminal.Visible(note))
	}
	if len(e.notes) < len(o.paths) {
		if err := o.write(ctx, &out, d, c, e); err != nil {
			return err
		}
		report.Edited(&out, d.Namespace, id, d.Plan, e.after)
	}
	return terminal.Write(o.streams.Out, out.Bytes())
}

// edit is a change of the list in the spec that defines which fields of a resource are held.
type edit struct {
	notes []string
	after *plan.Plan
	// key is the name of the list. was and is are its items before and after the change, as JSON values.
	key     string
	was, is []any
	patch   []delta.Op
	// text returns the YAML to write. inFile returns the text of a file with the change.
	text   func() (string, error)
	inFile func(text []byte, document manifest.Document) ([]byte, error)
}

// editOf returns a change of the resource's schema in spec.observerSchema or, if there is none, of
// spec.fields.
func editOf(d files.Decision, id manifest.ID, change plan.Edit) (edit, error) {
	if source := d.SchemaSource(id); source.Entry {
		schema, notes, err := d.EditSchema(id, change)
		if err != nil {
			return edit{}, err
		}
		return edit{
			key: "observerSchema", was: listOf(d.Spec.ObserverSchema), is: listOf(schema),
			notes: notes, after: d.WithSchema(schema), patch: schemaPatch(d.Spec.ObserverSchema, schema, source.Position),
			text: func() (string, error) { return files.SchemaText(schema[source.Position : source.Position+1]) },
			inFile: func(text []byte, document manifest.Document) ([]byte, error) {
				return files.WithSchema(text, document, schema)
			},
		}, nil
	}
	fields, notes, err := d.EditFields(id, change)
	if err != nil {
		return edit{}, err
	}
	return fieldsEdit(d, fields, notes), nil
}

// fieldsEdit returns a change of spec.fields.
func fieldsEdit(d files.Decision, fields []v1alpha1.ResourceFields, notes []string) edit {
	return edit{
		key: "fields", was: listOf(d.Spec.Fields), is: listOf(fields),
		notes: notes, after: d.WithFields(fields), patch: fieldsPatch(d.Spec.Fields, fields),
		text: func() (string, error) { return files.FieldsText(fields) },
		inFile: func(text []byte, document manifest.Document) ([]byte, error) {
			return files.WithFields(text, document, fields)
		},
	}
}

// write changes the Application or its file. In a dry run, it only prints the YAML to write.
func (o editOptions) write(ctx context.Context, out *bytes.Buffer, d files.Decision, c *connection.Cluster, e edit) error {
	switch {
	case o.dryRun:
		text, err := e.text()
		out.WriteString(text)
		return err
	case c == nil:
		return o.writeFile(ctx, out, d.Document, e)
	}
	err := c.Edit(ctx, d.Name, e.key, e.was, e.is, e.patch)
	if apierrors.IsInvalid(err) {
		return fmt.Errorf("another client has changed the fields of Application %s/%s, or the API server rejects them: %w", d.Namespace, d.Name, err)
	}
	if err == nil {
		fmt.Fprintf(out, "application.%s/%s changed\n", v1alpha1.GroupVersion.Group, d.Name)
	}
	return err
}

// listOf converts a list to JSON values.
func listOf(list any) (items []any) {
	raw, err := json.Marshal(list)
	if err != nil {
		return nil
	}
	wrapped, err := manifest.DecodeJSON([]byte(`{"list":` + string(raw) + `}`))
	if err != nil {
		return nil
	}
	items, _ = wrapped["list"].([]any)
	return items
}

// schemaPatch returns a JSON Patch that replaces a schema in spec.observerSchema if it is unchanged.
func schemaPatch(before, after []runtime.RawExtension, position int) []delta.Op {
	path := fmt.Sprintf("/spec/observerSchema/%d", position)
	return []delta.Op{{Op: "test", Path: path, Value: before[position]}, {Op: "replace", Path: path, Value: after[position]}}
}

// fieldsPatch returns a JSON Patch that replaces spec.fields if they are unchanged.
func fieldsPatch(before, after []v1alpha1.ResourceFields) []delta.Op {
	const path = "/spec/fields"
	var was any // a test for null also succeeds if the field does not exist
	if len(before) > 0 {
		was = before
	}
	ops := []delta.Op{{Op: "test", Path: path, Value: was}}
	if len(after) == 0 {
		return append(ops, delta.Op{Op: "remove", Path: path})
	}
	return append(ops, delta.Op{Op: "add", Path: path, Value: after})
}

func (o editOptions) writeFile(ctx context.Context, out *bytes.Buffer, document manifest.Document, e edit) error {
	text, err := files.ReadFile(ctx, files.Opening(document.File))
	if err != nil {
		return err
	}
	edited, err := e.inFile(text, document)
	if err != nil {
		return err
	}
	info, err := os.Stat(document.File)
	if err != nil {
		return err
	}
	if err := os.WriteFile(document.File, edited, info.Mode().Perm()); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s changed\n", document.File)
	return nil
}
