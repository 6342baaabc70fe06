package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// externalDiff returns the external diff program and its arguments. Like kubectl, it splits the variable
// into words and does not use a shell.
//
//	KUBECTL_EXTERNAL_DIFF  program and arguments
//	unset, or blanks       diff -u -N
//	colordiff -N -u        colordiff -N -u
//	my diff.sh             my, with the argument diff.sh
func externalDiff(getenv func(string) string) []string {
	if words := strings.Fields(getenv("KUBECTL_EXTERNAL_DIFF")); len(words) > 0 {
		return words
	}
	return []string{"diff", "-u", "-N"}
}

// runExternal runs the external program on two directories: one with the live objects, and one with their
// desired state. The program exits with status 1 if they differ. The files are readable only by the user.
//
//	status of the program  status of the command
//	0                      0
//	1                      1
//	any other, not found   2
//
// The program reads the environment of the user. It gets no standard input.
func (o *diffOptions) runExternal(ctx context.Context, decisions []files.Decision) error {
	directory, err := os.MkdirTemp("", "holdfast-diff-")
	if err != nil {
		return fmt.Errorf("making a directory for the objects: %w", err)
	}
	defer func() { _ = os.RemoveAll(directory) }() // leftovers are in the directory for temporary files
	before, after := filepath.Join(directory, "LIVE"), filepath.Join(directory, "DESIRED")
	for _, name := range []string{before, after} {
		if err := os.Mkdir(name, 0o700); err != nil {
			return fmt.Errorf("making a directory for the objects: %w", err)
		}
	}
	for _, d := range decisions {
		warn(o.streams.Err, d.Notes())
		for _, change := range d.Changes {
			if err := writePair(d, change, before, after); err != nil {
				return fmt.Errorf("writing %s: %w", change.ID, err)
			}
		}
	}
	words := externalDiff(o.streams.Getenv)
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], before, after)...)
	cmd.Stdout, cmd.Stderr = o.streams.Out, o.streams.Err
	err = cmd.Run()
	switch ended, is := errors.AsType[*exec.ExitError](err); {
	case err == nil:
		return nil
	case is && ended.ExitCode() == terminal.StatusDifferent:
		return &terminal.Exit{Status: terminal.StatusDifferent}
	default:
		return fmt.Errorf("running %s: %w: does KUBECTL_EXTERNAL_DIFF name a program that compares directories?", words[0], err)
	}
}

// writePair writes a live object and its desired state, with the values of Secrets masked. Both sides are masked
// together, so that equal values have equal masks, and different values have different ones. An object that does not
// exist has no file: diff -N shows that as an empty file.
func writePair(d files.Decision, change plan.Change, before, after string) error {
	live, desired, err := pair(d, change)
	if err != nil {
		return err
	}
	live, desired = manifest.RedactNestedChange(live, desired)
	name := fileName(change.ID)
	for directory, object := range map[string]map[string]any{before: live, after: desired} {
		if object == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(directory, name), []byte(terminal.ObjectYAML(object)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// fileName returns the file name for an object: its kind, group, namespace and name, if it has them. Empty
// parts are omitted; a leading dot would hide the file.
//
//	{apps Deployment shop web}               Deployment.apps.shop.web
//	{"" Namespace "" shop}                   Namespace.shop
//	{rbac.authorization.k8s.io ClusterRole}  ClusterRole.rbac.authorization.k8s.io.NAME
func fileName(id manifest.ID) string {
	parts := slices.DeleteFunc([]string{id.Kind, id.Group, id.Namespace, id.Name}, func(part string) bool { return part == "" })
	return strings.ReplaceAll(strings.Join(parts, "."), "/", "_")
}

// pair returns copies of a live object and its desired state, with values of Secrets. Either is nil if the object does
// not exist then.
//
//	action     live    desired
//	Create     nil     the manifest
//	Delete     object  nil
//	Unchanged  object  the same
//	Update     object  the patched object, without changes of notation
func pair(d files.Decision, change plan.Change) (live, desired map[string]any, err error) {
	live = runtime.DeepCopyJSON(d.Live[change.ID])
	unstructured.RemoveNestedField(live, "metadata", "managedFields") // not useful in a comparison
	switch change.Action {
	case plan.Create:
		return nil, change.Manifest, nil
	case plan.Delete:
		return live, nil, nil
	case plan.Unchanged:
		return live, live, nil
	case plan.Update:
	}
	// The patch can also change notation, which is no difference for a user.
	visible := d.Visible(change)
	if len(visible) == 0 && len(change.Fields) > 0 {
		return live, live, nil
	}
	write := change.Patch
	if len(visible) < len(change.Fields) {
		// Differences that a user does not see are left out of the desired state, too.
		guards, operations := delta.Comparison{Differences: visible}.Patch(change.UID, change.ResourceVersion)
		write = slices.Concat(guards, operations)
	}
	after := unstructured.Unstructured{Object: live}
	err = connection.PatchLocally(&after, types.JSONPatchType, write)
	return live, after.Object, err
}
