package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const checkLong = `Check whether a cluster and a namespace are ready for Applications: the version of
Kubernetes, the CRDs, the controller, when it was last active and whether it selects the
namespace, its rights, the admission policy, your rights, and the ServiceAccounts whose
rights are used. Exactly one controller must select each Application of the namespace. A
remedy contains the command for the way in which Holdfast is installed: holdfast install,
kubectl or Helm.

With NAME or -f, it also checks whether one controller selects the Application and may
watch the kinds, and whether the ServiceAccount may do what the Application needs. If you
add -o, it checks nothing: it prints the ServiceAccount, and the smallest roles and bindings
for the Application, which you can apply. Update them when the Application gets other
objects.

It reads everything with your rights, and changes nothing. If you may not read an
object, the result is unknown, which is not a failure.`

const checkExample = `
  # Is the cluster ready for Applications in the namespace shop?
  PROGRAM check -n shop

  # Grant an Application the rights that it needs, and no others
  PROGRAM check -f application.yaml -o yaml | kubectl apply -f -

  # In a script, before Applications are submitted
  PROGRAM check -n shop >/dev/null || exit 1
`

// checkOptions are the options of `check`.
//
//	NAME or -f  -o    output
//	no          no    the checks of the cluster and the namespace
//	no          yes   the same, as {checks: [...]}
//	yes         no    the same, and a check of the rights and kinds of each Application
//	yes         yes   ServiceAccounts, roles and bindings; nothing is checked
type checkOptions struct {
	streams    terminal.Streams
	connection connection.Flags
	files      files.ManifestFlags // Applications, instead of a name
	output     string
	name       string           // of an Application; "": none
	print      terminal.Printer // nil: text output
}

// The results of a check.
const (
	// checkUnknown is the result if the user lacks the right to check. Only checkFailed sets the exit status 1.
	checkOK      = "ok"
	checkFailed  = "failed"
	checkUnknown = "unknown"
)

// CheckResult is the result of a check, as `check -o json` prints it.
//
//	{"check": "controller", "result": "failed", "message": "no controller found: ...", "remedy": "Run `kubectl ...`"}
type CheckResult struct {
	Check   string `json:"check" yaml:"check"`
	Result  string `json:"result" yaml:"result"`
	Message string `json:"message" yaml:"message"`
	// Remedy describes how to fix a failed check.
	Remedy string `json:"remedy,omitempty" yaml:"remedy,omitempty"`
}

func newCheckCommand(name string, streams terminal.Streams) *cobra.Command {
	o := &checkOptions{streams: streams, connection: connection.NewFlags()}
	return command.Spec{
		Use: "check [NAME | -f FILE]", Short: "Check whether a cluster is ready for Applications",
		Long: checkLong, Example: checkExample,
		Statuses: []string{"no check failed", "a check failed; the output contains the remedy"},
		Args:     command.AtMost(1), Flags: o.add, Options: o.options, Complete: o.connection.Named, Connection: o.connection,
	}.Build(name)
}

func (o *checkOptions) add(flags *pflag.FlagSet) {
	flags.StringVarP(&o.output, "output", "o", "", "`yaml|json`: print the results or, with NAME or -f, the roles")
	o.files.Add(flags, "filename", "f", "Applications")
	files.AddRecursive(flags, &o.files)
}

// options validates the flags and the name. With NAME, the Application is read from the cluster, so a file would
// contradict it.
func (o *checkOptions) options(args []string) (command.Run, error) {
	err := o.files.Check()
	if len(args) > 0 {
		o.name = args[0]
		err = errors.Join(err, files.ValidName(o.name))
	}
	if o.name != "" && o.files.Given() {
		err = connection.ErrNameAndFile
	}
	if err == nil {
		o.print, err = terminal.OptionalPrinter(o.output)
	}
	return o.run, err
}

// run prints the roles if there are Applications and -o is set. Otherwise it checks the cluster first, because a
// missing installation explains most other failures.
//
//	a check failed            1, also if others are unknown
//	no check failed           0
//	a request fails           2, and no result is printed
func (o *checkOptions) run(ctx context.Context) error {
	hasApplication := o.name != "" || o.files.Given()
	if hasApplication && o.print != nil {
		return o.printRoles(ctx)
	}
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	var all []rights
	if hasApplication {
		if all, err = o.rights(ctx, c); err != nil {
			return err
		}
		// The controller and you need rights where the Applications are, not in the namespace of the context.
		isElsewhere := func(r rights) bool { return r.app.Namespace != all[0].app.Namespace }
		if len(all) > 0 && !slices.ContainsFunc(all, isElsewhere) {
			c.Namespace = all[0].app.Namespace
		}
	}
	findings, err := checker{Cluster: c, now: o.streams.Now(), apps: all}.all(ctx)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		more, err := o.applications(ctx, c, all)
		if err != nil {
			return err
		}
		findings = append(findings, more...)
	}
	if err := o.show(findings); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f CheckResult) bool { return f.Result == checkFailed }) {
		return &terminal.Exit{Status: terminal.StatusDifferent}
	}
	return nil
}

// rights returns the permissions for the Applications. c can be nil for files: see rightsOf. An Application in a
// file without a namespace is in the namespace of -n, of the context, or "default", in this order.
func (o *checkOptions) rights(ctx context.Context, c *connection.Cluster) ([]rights, error) {
	if o.name != "" {
		d, err := c.Decided(ctx, types.NamespacedName{Namespace: c.Namespace, Name: o.name}, o.streams.Now())
		if err == nil {
			err = files.NotDecided(d)
		}
		if err != nil {
			return nil, err
		}
		return []rights{rightsOf(ctx, c, d)}, nil
	}
	namespace := cmp.Or(*o.connection.Namespace, metav1.NamespaceDefault)
	if c != nil {
		namespace = c.Namespace
	}
	decisions, err := o.files.Sources(o.streams.In, namespace).Decide(ctx, o.streams.Now())
	if err != nil {
		return nil, err
	}
	all := make([]rights, len(decisions))
	for i, d := range decisions {
		all[i] = rightsOf(ctx, c, d)
	}
	return all, nil
}

// printRoles prints the roles for the Applications. Without a cluster, it knows the kinds of Kubernetes and those
// that the Applications define. The notes are about rights that no role can contain yet. They are written to the
// standard error, so that the output can be applied.
func (o *checkOptions) printRoles(ctx context.Context) error {
	var c *connection.Cluster
	if o.name != "" || o.connection.IsConfigured() {
		var err error
		if c, err = o.connection.Connect(); err != nil {
			return err
		}
	}
	all, err := o.rights(ctx, c)
	if err != nil {
		return err
	}
	var objects []any
	for _, r := range all {
		objects = append(objects, r.objects()...)
		if r.grants() {
			fmt.Fprintln(o.streams.Err, "note: Application "+r.app.Name+" contains roles or bindings: its ServiceAccount also needs the rights in them, or the verbs escalate and bind")
		}
		if namespaces := r.createdNamespaces(); len(namespaces) > 0 {
			fmt.Fprintln(o.streams.Err, "note: Application "+r.app.Name+" creates a namespace in which it needs a role ("+strings.Join(namespaces, ", ")+"): apply the output again when it exists")
		}
	}
	return o.print(o.streams.Out, objects...)
}

// applications checks the permissions for the Applications, and then whether the controller may watch their kinds. It
// asks for every verb and up to mostAsked objects of each rule, with one SubjectAccessReview for each.
func (o *checkOptions) applications(ctx context.Context, c *connection.Cluster, all []rights) (findings []CheckResult, err error) {
	controller, err := findInstallation(ctx, c, "")
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		missing, err := r.missing(ctx, c, true)
		account := r.app.Namespace + "/" + r.account
		message, remedy := account+" has the required rights", ""
		if missing != "" {
			message, remedy = account+" may not "+missing, "Run: `"+r.command(*o.connection.Namespace, o.files)+"`"
		}
		own, err := checker{Cluster: c}.result("Application "+r.app.Name, message, remedy, err)
		if err != nil {
			return nil, err
		}
		unwatched, command, err := r.unwatched(ctx, c, controller.user())
		message, remedy = "the controller may watch them", ""
		if unwatched != "" {
			message, remedy = "the controller may not "+unwatched, "Run: `"+command+"`"
		}
		kinds, err := checker{Cluster: c}.result("kinds of "+r.app.Name, message, remedy, err)
		if err != nil {
			return nil, err
		}
		findings = append(findings, own, kinds)
	}
	return findings, nil
}

// show prints the results, and below them the remedies.
//
//	CHECK        RESULT
//	Kubernetes   ok      v1.36.0
//	controller   failed  no controller found: there is no Lease holdfast-system/holdfast-controller
//
//	What to do
//	  - Run `kubectl get deploy,pods,leases -n holdfast-system`, and ...
func (o *checkOptions) show(findings []CheckResult) error {
	if o.print != nil {
		return o.print(o.streams.Out, struct {
			Checks []CheckResult `json:"checks" yaml:"checks"`
		}{findings})
	}
	rows := [][]string{{"CHECK", "RESULT", ""}}
	var remedies []string
	for _, f := range findings {
		rows = append(rows, []string{f.Check, f.Result, f.Message})
		if f.Remedy != "" {
			remedies = append(remedies, f.Remedy)
		}
	}
	lines := terminal.Aligned(rows)[:1]
	for i, line := range terminal.Aligned(rows)[1:] {
		message := findings[i].Message
		lines = append(lines, terminal.WrapItem(strings.TrimSuffix(line, message), message, terminal.Width(o.streams.Out))...)
	}
	if len(remedies) > 0 {
		lines = append(lines, "", "What to do")
	}
	for _, remedy := range remedies {
		lines = append(lines, terminal.WrapItem("  - ", remedy, terminal.Width(o.streams.Out))...)
	}
	return terminal.WriteLines(o.streams.Out, lines)
}
