package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/explain"
)

// holdersOptions are the options of `explain KIND/NAME`, which lists the Applications that hold fields of an
// object.
type holdersOptions struct {
	streams    Streams
	connection connection.Flags
	object     connection.LiveFlags
	print      terminal.Printer // nil: text output
}

// holdersView is what `explain KIND/NAME -o json` prints.
type holdersView struct {
	report.Type `yaml:",inline"`
	Resource    explain.ViewResource `json:"resource" yaml:"resource"`
	Holders     []claim.Holder       `json:"holders" yaml:"holders"`
}

// holders returns the listing of holders, if the first argument is an object.
func (o *explainOptions) holders(args []string) (_ command.Run, err error) {
	h := holdersOptions{streams: o.streams, connection: o.target.Connection}
	switch {
	case len(args) > 1:
		return nil, fmt.Errorf("%q is an object, not an Application: with other arguments, give NAME first", args[0])
	case o.output == "html":
		return nil, errors.New("a page shows one Application: give NAME")
	}
	if err = h.object.Named(args); err == nil {
		h.print, err = terminal.OptionalPrinter(o.output)
	}
	return h.run, err
}

// run reads the holders from the annotation of the live object, and not from the Applications, which the user may not
// be allowed to read.
//
//	Deployment.apps shop/web is held by 2 Applications
//	  shop/web owns it
//	      to list the fields: holdfast explain web -n shop deploy/web
//	  team/scaling shares it
//	      spec.replicas
//	      spec.paused  # pending claim
func (o holdersOptions) run(ctx context.Context) error {
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	found, _, err := c.Live(ctx, o.connection, o.object, nil)
	if err != nil {
		return err
	}
	object := found[0]
	holders := claim.ListHolders(object.ID, object.Object)
	if o.print != nil {
		apiVersion, _ := object.Object["apiVersion"].(string)
		return o.print(o.streams.Out, holdersView{
			Type: report.Type{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Holders"}, Holders: append([]claim.Holder{}, holders...),
			Resource: explain.ViewResource{APIVersion: apiVersion, Kind: object.ID.Kind, Namespace: object.ID.Namespace, Name: object.ID.Name},
		})
	}
	var text bytes.Buffer
	if len(holders) == 0 {
		fmt.Fprintln(&text, terminal.Visible("No Application holds fields of "+object.ID.String()))
	}
	for i, h := range holders {
		if i == 0 {
			held := len(slices.DeleteFunc(slices.Clone(holders), isWaiting))
			fmt.Fprintln(&text, terminal.Visible(fmt.Sprintf("%s is held by %s", object.ID, terminal.Plural(held, "Application"))))
		}
		writeHolder(&text, h, strings.Join(o.object.Names[0][:], "/"), isGone(ctx, c, h.Application))
	}
	return terminal.Write(o.streams.Out, text.Bytes())
}

// isGone reports whether the Application of a holder does not exist: it was deleted without its finalizer,
// or belongs to another cluster.
func isGone(ctx context.Context, c *connection.Cluster, holder string) bool {
	namespace, name, _ := strings.Cut(holder, "/")
	_, err := c.Own.Resource(connection.Applications).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

// isWaiting reports whether an Application does not hold anything of an object yet.
func isWaiting(h claim.Holder) bool { return !h.Owns && !h.Whole && len(h.Fields) == 0 }

// writeHolder writes a holder with its fields and pending claims. object is KIND/NAME as the user wrote it. gone is true
// if the Application does not exist. An owner holds most fields, so its fields are not listed in the annotation, and
// Whole is set.
func writeHolder(out *bytes.Buffer, h claim.Holder, object string, gone bool) {
	verb := "shares it"
	switch {
	case h.Owns:
		verb = "owns it"
	case isWaiting(h):
		verb = "has only pending claims"
	}
	if gone {
		verb += ", and does not exist in this cluster"
	}
	fmt.Fprintln(out, terminal.Visible("  "+h.Application+" "+verb))
	for _, path := range h.Fields {
		fmt.Fprintln(out, terminal.Visible("      "+path))
	}
	for _, path := range h.PendingClaims {
		fmt.Fprintln(out, terminal.Visible("      "+path+"  # pending claim"))
	}
	if namespace, name, _ := strings.Cut(h.Application, "/"); h.Whole {
		fmt.Fprintln(out, terminal.Visible("      to list the fields: holdfast explain "+name+" -n "+namespace+" "+object))
	}
}
