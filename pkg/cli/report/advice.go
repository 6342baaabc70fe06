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
	case v.notSubmitted:
		return []Advice{{"submit it", program + " submit -f " + shellPath(d.Document.File)}}
	case d.Spec.Suspend:
		next = append(next, Advice{"nothing is corrected until it is resumed", a.command("resume")})
	case d.DeletionTimestamp != nil && v.Reason != v1alpha1.ReasonShutdownFailed:
		next = append(next, Advice{"it is being deleted; wait until it is gone", a.command("delete", "--yes", "--wait")})
	case v.Reason == connection.WaitingReason && v.Ready == "Unknown":
		next = append(next, Advice{"if this lasts, the controller does not run. Look for its Pods", "kubectl get pods -n holdfast-system"})
	case v.Ready != "True":
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
	advice, known := map[string]Advice{
		v1alpha1.ReasonManifestInvalid:            a.mistakes(),
		v1alpha1.ReasonObserverSchemaInvalid:      a.mistakes(),
		v1alpha1.ReasonManifestTooLarge:           {"split it into several Applications", ""},
		v1alpha1.ReasonObserverSchemaNullsDropped: {"write observed for each null, or submit it with a client that does", a.program + " submit -f FILE --force-conflicts"},
		v1alpha1.ReasonSourceNotSupported:         {"submit its manifests", a.program + " submit " + a.Name + " -f MANIFESTS"},
		v1alpha1.ReasonResourceConflict:           {"choose one of the ways that the message names. What would change if the object were taken over", a.command("diff")},
		v1alpha1.ReasonRejected:                   {"correct what the API server refuses, and submit it again. What would be written", a.command("diff")},
		v1alpha1.ReasonForbidden:                  {"have the controller, a quota or a policy allow it, as the message says; it is tried again by itself", ""},
		v1alpha1.ReasonKindUnknown:                {"install what defines the kind, or correct its name; the resources are created then", "kubectl api-resources"},
		v1alpha1.ReasonKindUnsupported:            {"take the resource out of the manifests, and submit it again", ""},
		v1alpha1.ReasonListTooShort:               {"lower the minimum in the observer schema, or add elements to the manifest", a.command("diff")},
		v1alpha1.ReasonRetriesExhausted:           {"solve what the message says, and have it tried again", a.command("reconcile")},
		v1alpha1.ReasonWaiting:                    {"wait, or remove what it waits for", ""},
		v1alpha1.ReasonRetrying:                   {"it is tried again by itself; to have that done now", a.command("reconcile")},
		v1alpha1.ReasonHookFailed:                 {"solve what the message says; it is tried again by itself, or now", a.command("reconcile")},
		v1alpha1.ReasonShutdownFailed:             {"the message says how to go on; why the workload does not answer, it may know itself", "kubectl logs -n " + a.Namespace + " POD"},
		v1alpha1.ReasonTranslationFailed:          {"correct the template and submit it again. Mistakes are found without a cluster by", a.program + " tosca validate FILE"},
		v1alpha1.ReasonFetchFailed:                {"make it available; it is tried again by itself, or now", a.command("reconcile")},
		v1alpha1.ReasonSourceNotAllowed:           {"have the controller allow the URL (--allow-url-prefix), or submit the template from a file", a.program + " submit " + a.Name + " --tosca FILE"},
	}[a.view.Reason]
	if !known || a.view.Reason == v1alpha1.ReasonForbidden && a.grants() {
		return nil // the resources say it
	}
	return []Advice{advice}
}

// grants tells whether it is known of a resource which command helps it.
func (a adviser) grants() bool {
	return slices.ContainsFunc(a.view.Resources, func(r ResourceView) bool { return strings.Contains(r.Message, grantMark) })
}

func (a adviser) mistakes() Advice {
	return Advice{
		"correct it and submit it again. Mistakes are found with their lines, and without a cluster, by",
		a.program + " schema validate -f SCHEMA -m MANIFESTS",
	}
}

// forResource is where to look for one resource.
func (a adviser) forResource(r ResourceView) []Advice {
	if r.Reason == files.UnreadableReason {
		return []Advice{{"you may not see all of it: ask for the right to get what is marked", ""}}
	}
	var next []Advice
	if _, command := cutGrant(r.Message); command != "" {
		next = append(next, Advice{"let the ServiceAccount write " + files.NameOf(r.id, a.Namespace) + " and the like; it is tried again by itself", command})
	}
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

// grantMark stands in messages before the command that grants a right.
const grantMark = ". If the ServiceAccount lacks the right, grant it: "

// cutGrant takes the command off a message.
func cutGrant(message string) (rest, command string) {
	rest, command, _ = strings.Cut(message, grantMark)
	return rest, command
}

// few drops what is said a second time, and keeps the first of the rest.
func few(all []Advice) []Advice {
	const limit = 5
	var said []Advice
	for _, one := range all {
		isSaid := slices.ContainsFunc(said, func(a Advice) bool {
			return a.Text == one.Text || a.Command == one.Command && a.Command != ""
		})
		if !isSaid && len(said) < limit {
			said = append(said, one)
		}
	}
	return said
}
