package report

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/plan"
)

// Advice is what a person can do, and the command for it, if there is one.
type Advice struct {
	Text    string `json:"text" yaml:"text"`
	Command string `json:"command,omitempty" yaml:"command,omitempty"`
}

// adviser knows how commands are written for one Application. program is how
// this program is called.
type adviser struct {
	files.Decision
	view    StatusView
	program string
}

// Advise is what a person can do about an Application that is not as it should
// be, the most pressing first. It is empty if nothing is wrong.
func Advise(d files.Decision, v StatusView, program string) []Advice {
	a := adviser{d, v, program}
	var next []Advice
	switch {
	case d.Spec.Suspend:
		next = append(next, Advice{"nothing is corrected until it is resumed", a.command("resume")})
	case d.DeletionTimestamp != nil:
		next = append(next, Advice{"it is being deleted; wait until it is gone", a.command("delete", "--yes", "--wait")})
	case v.Reason == connection.WaitingReason && v.Ready == "Unknown":
		next = append(next, Advice{"if this lasts, the controller does not run. Look for its Pods", "kubectl get pods -n holdfast-system"})
	default:
		next = append(next, a.forReason()...)
	}
	for _, r := range v.Resources {
		next = append(next, a.forResource(r)...)
	}
	return few(next)
}

// command is one of this program, about the Application.
func (a adviser) command(verb string, args ...string) string {
	words := append([]string{a.program, verb, a.Name}, args...)
	if a.Namespace != "default" {
		words = append(words, "-n", a.Namespace)
	}
	return strings.Join(words, " ")
}

// forReason is what the reason of the condition Ready asks for. Messages name
// their own remedies; what is here is where to look.
func (a adviser) forReason() []Advice {
	switch a.view.Reason {
	case v1alpha1.ReasonManifestInvalid, v1alpha1.ReasonManifestTooLarge, v1alpha1.ReasonObserverSchemaInvalid:
		return []Advice{{"correct it and submit it again. Mistakes are found with their lines, and without a cluster, by", a.program + " schema validate -f SCHEMA -m MANIFESTS"}}
	case v1alpha1.ReasonForbidden:
		return []Advice{{"grant the missing rights as the message says; it is tried again by itself", ""}}
	case v1alpha1.ReasonRejected:
		return []Advice{{"correct what the API server refuses, and submit it again. What would be written", a.command("diff")}}
	case v1alpha1.ReasonKindUnknown:
		return []Advice{{"install what defines the kind; the resources are created then", ""}}
	}
	return nil
}

// forResource is where to look for one resource.
func (a adviser) forResource(r ResourceView) []Advice {
	if r.Reason == files.UnreadableReason {
		return []Advice{{"you may not see all of it: ask for the right to get what is marked", ""}}
	}
	var next []Advice
	if r.Health != "Current" && r.Health != "NotFound" && r.Health != "Unknown" {
		command := "kubectl describe " + strings.ToLower(r.id.Kind) + " " + r.id.Name
		if r.id.Namespace != "" {
			command += " -n " + r.id.Namespace
		}
		next = append(next, Advice{"see why " + files.NameOf(r.id, a.Namespace) + " is not healthy", command})
	}
	for _, f := range r.fields {
		explain := a.command("explain", files.ArgumentOf(r.id, false), shellPath(f.Path))
		switch {
		case f.State == plan.FieldContested:
			next = append(next, Advice{"let " + orSomebody(f.Writer.Manager) + " leave " + f.Path +
				" alone, or leave it out of the observer schema, which frees it", explain})
		case f.State == plan.FieldAccepted && !f.Live.Set:
			next = append(next, Advice{"is " + f.Path + " spelled right? The API server drops it", explain})
		case f.Drift != "" && f.Corrected && a.UID != "":
			next = append(next, Advice{"drift that lasts means that the controller does not run, or cannot write", explain})
		}
	}
	return next
}

func orSomebody(manager string) string {
	if manager == "" || manager == v1alpha1.FieldManager {
		return "who writes it"
	}
	return manager
}

// shellPath is a path as it can be typed.
func shellPath(path string) string {
	if strings.ContainsAny(path, "[]'\"$&;()|<> *?") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// few drops what is said a second time, and keeps the first of the rest.
func few(all []Advice) []Advice {
	const limit = 5
	var said []Advice
	for _, one := range all {
		isSaid := slices.ContainsFunc(said, func(a Advice) bool { return a.Text == one.Text })
		if !isSaid && len(said) < limit {
			said = append(said, one)
		}
	}
	return said
}
