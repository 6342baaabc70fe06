package report

import (
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// Advice is a remedy for the user, with a command if there is one. As text:
//
//	What to do
//	  - Stop meddler from writing data.mode, or free it
//	      holdfast free web configmap/web data.mode
type Advice struct {
	// Text is an imperative without a full stop. If it is not clear from the text that Command follows it, it ends with "run:".
	Text string `json:"text" yaml:"text"`
	// Command can be copied into a shell. Placeholders such as FILE are in upper case.
	Command string `json:"command,omitempty" yaml:"command,omitempty"`
}

// advisor is the context in which remedies for one Application are written.
type advisor struct {
	files.Decision
	view StatusView
	// program is the name by which the user called this program.
	program string
	// freed maps the drifted fields that an included HoldProfile would free to its name.
	freed map[plan.Leaf]string
}

// Advise returns the remedies for the problems of an Application, the most urgent first. It returns none if
// nothing is wrong. At most five are returned, in this order:
//
//  1. for the whole Application: it is not submitted, has no controller, is suspended, or its condition Ready is not True
//  2. for each resource, in the order of the view: its problem, its health, its fields
//
// program is the name by which the user called this program, for example "kubectl holdfast".
func Advise(d files.Decision, v StatusView, program string) []Advice {
	a := advisor{d, v, program, d.FreedByIncluded()}
	var next []Advice
	switch {
	// The first case that matches is the cause of the others, so only its remedy is shown.
	case v.notSubmitted:
		return []Advice{{"Submit it", program + " submit -f " + ShellPath(d.Document.File)}}
	case v.unattended:
		next = append(next, Advice{"Check that a controller runs and selects it", a.command("check")})
	case v.Application.Mode == v1alpha1.ModeObserve:
		next = append(next, Advice{"Nothing is written in observe-only mode. To preview the writes, run:", a.command("diff")}, Advice{"To hold the fields, run:", a.command("mode", "hold")})
		if d.Spec.Suspend {
			next = append(next, Advice{"It is also suspended. To resume it, run:", a.command("resume")})
		}
	case d.Spec.Suspend && d.DeletionTimestamp == nil:
		next = append(next, Advice{"Nothing is corrected while it is suspended. To resume it, run:", a.command("resume")})
	case d.DeletionTimestamp != nil && !v1alpha1.InfoForReason(v.Reason).Disposition.Stalled():
		next = append(next, Advice{"It is being deleted. To wait for this, run:", a.command("delete", "--yes", "--wait")})
	case v.pending:
		next = append(next, Advice{"If this lasts, check that a controller runs and selects it", a.command("check")})
	case v.Ready != "True":
		next = append(next, a.forReason()...)
	}
	for _, r := range v.Resources {
		next = append(next, a.forResource(r)...)
	}
	return few(next)
}

// command returns a command line of this program for the Application. It names the namespace unless that is default,
// which is the usual namespace of a kubeconfig context.
//
//	a.command("free", "deploy/web", "spec.replicas")  holdfast free web deploy/web spec.replicas -n shop
func (a advisor) command(verb string, args ...string) string {
	words := append([]string{a.program, verb, a.Name}, args...)
	if a.Namespace != "default" {
		words = append(words, "-n", a.Namespace)
	}
	return strings.Join(words, " ")
}

// forReason returns the remedy for the reason of the condition Ready. Messages name their own remedies; this
// function adds where to look. It returns none for reasons that need no user, such as Progressing. The table has all
// reasons with a remedy, so that a new reason without one is easy to find.
func (a advisor) forReason() []Advice {
	advice, known := map[string]Advice{
		v1alpha1.ReasonManifestInvalid:            a.mistakes(),
		v1alpha1.ReasonObserverSchemaInvalid:      a.mistakes(),
		v1alpha1.ReasonHealthCheckInvalid:         {"Correct the expressions in spec.healthCheckExprs, and submit it again", ""},
		v1alpha1.ReasonManifestTooLarge:           a.smaller(),
		v1alpha1.ReasonTooLarge:                   {"Split it into several Applications, and submit them. To list the slices, run:", "kubectl get hfslice -n " + a.Namespace},
		v1alpha1.ReasonTooManyObjects:             {"Select fewer objects, or raise spec.maxObjects, and submit it again. To list the selected objects, run:", a.command("diff")},
		v1alpha1.ReasonObserverSchemaNullsDropped: {"Write observed for each null, or submit it with a client that does this", a.program + " submit -f FILE --force-conflicts"},
		v1alpha1.ReasonSourceNotSupported:         {"Submit its manifests", a.program + " submit " + a.Name + " -f MANIFESTS"},
		v1alpha1.ReasonDeletionUnconfirmed:        {"Check whether the change is intended. To list the objects that would be deleted, run:", a.command("diff")},
		v1alpha1.ReasonSpecNotSupported:           {"Upgrade the controller, or remove what the message names. To list the versions, run:", a.program + " version"},
		v1alpha1.ReasonResourceConflict:           {"Choose one of the remedies in the message. If the object is gone, run:", a.command("reconcile")},
		v1alpha1.ReasonRejected:                   a.rejected(),
		v1alpha1.ReasonForbidden:                  {"Grant the permission, or change the quota or policy named in the message. The controller retries automatically", ""},
		v1alpha1.ReasonKindUnknown:                {"Install the CRD of the kind, or correct its name. To list the kinds, run:", "kubectl api-resources"},
		v1alpha1.ReasonKindUnsupported:            {"Remove the resource from the manifests, and submit it again", ""},
		v1alpha1.ReasonFieldClaimed:               {"List the fields that another Application holds, and the state of the others", a.command("explain")},
		v1alpha1.ReasonListTooShort:               {"Lower the minimum in the observer schema, or add elements to the manifest", a.command("diff")},
		v1alpha1.ReasonOutsideRule:                {"Set a value in the manifest that the rule of the field allows, or change the rule", a.command("diff")},
		v1alpha1.ReasonRetriesExhausted:           {"Fix the cause given in the message, then run:", a.command("reconcile")},
		v1alpha1.ReasonWaiting:                    {"Wait, or remove the object or field that it waits for", ""},
		v1alpha1.ReasonRetrying:                   {"The controller retries automatically. To retry now, run:", a.command("reconcile")},
		v1alpha1.ReasonHookFailed:                 {"Fix the cause given in the message. The controller retries automatically. To retry now, run:", a.command("reconcile")},
		v1alpha1.ReasonShutdownFailed:             {"Follow the message. To find out why the workload does not respond, read its log", "kubectl logs -n " + a.Namespace + " POD"},
		v1alpha1.ReasonTranslationFailed:          {"Correct the template, and submit it again. To find its errors without a cluster, run:", a.program + " author tosca FILE"},
		v1alpha1.ReasonFetchFailed:                {"Make the source available. The controller retries automatically. To retry now, run:", a.command("reconcile")},
		v1alpha1.ReasonSliceUnavailable:           {"Follow the message, which names the missing slice. To list the existing slices, run:", "kubectl get hfslice -n " + a.Namespace},
		v1alpha1.ReasonSourceNotAllowed:           {"Allow the URL with the controller's flag --allow-url-prefix, or submit the template from a file", a.program + " submit " + a.Name + " --tosca FILE"},
	}[a.view.Reason]
	hasRemedy := func(r ResourceView) bool { return r.remedy != nil }
	if v1alpha1.InfoForReason(a.view.Reason).Disposition == v1alpha1.DispositionGrant && slices.ContainsFunc(a.view.Resources, hasRemedy) {
		return nil // the remedies of the resources name the missing permission
	}
	if !known {
		return nil
	}
	return []Advice{advice}
}

// smaller returns the remedy for an Application that is too large. A single object cannot be split.
func (a advisor) smaller() Advice {
	if len(a.Spec.Manifest) == 1 {
		return Advice{"Make the object smaller, or observe fewer of its fields, and submit it again", ""}
	}
	return Advice{"Split it into several Applications", ""}
}

// rejected returns the remedy for a request that the API server rejects. A deletion has no fields.
func (a advisor) rejected() Advice {
	if a.DeletionTimestamp != nil {
		return Advice{"Remove the cause given in the message. The controller retries automatically. To retry now, run:", a.command("reconcile")}
	}
	return Advice{"Correct the rejected fields, and submit it again. To list the fields to write, run:", a.command("diff")}
}

// mistakes returns the remedy for validation errors in the manifests or the schema.
func (a advisor) mistakes() Advice {
	return Advice{
		"Correct it, and submit it again. To find the errors and their lines without a cluster, run:",
		a.program + " author schema -O SCHEMA -f MANIFESTS",
	}
}

// forResource returns the remedies for one resource: for its problem, its health, and its fields. A resource that the
// user cannot read has a single remedy, because nothing else about it is known.
func (a advisor) forResource(r ResourceView) []Advice {
	if r.unread {
		return []Advice{{"Ask for the right to get the marked objects: you may not read them", ""}}
	}
	var next []Advice
	said := v1alpha1.InfoForReason(r.Reason)
	switch {
	case r.remedy == nil:
	case said.Disposition == v1alpha1.DispositionGrant:
		next = append(next, a.grant(r))
	default:
		next = append(next, Advice(*r.remedy))
	}
	if r.Health != "Current" && r.Health != "NotFound" && r.Health != "Unknown" {
		next = append(next, Advice{"Find out why " + files.NameOf(r.id, a.Namespace) + " is not healthy", describeCommand(r.id)})
	}
	// The controller has seen the drift, and reports why it is not corrected. It corrects nothing for an invalid spec.
	isExplained := said.Disposition != "" && !said.Health || apimeta.IsStatusConditionFalse(a.Status.Conditions, v1alpha1.ConditionRendered)
	for _, f := range r.fields {
		if profile := a.freed[plan.Leaf{ID: r.id, Path: f.Path}]; profile != "" {
			text := "free " + f.Path + " in all Applications: HoldProfile " + profile + " is not in effect. In a checkout, run"
			next = append(next, Advice{text, files.ProfileCommand(profile)})
		}
		verb := "explain"
		if f.State == explain.Contested && a.Plan != nil && a.canFree(f) {
			verb = "free"
		}
		if text := a.forField(f, isExplained); text != "" {
			next = append(next, Advice{text, a.command(verb, files.ArgumentOf(r.id, false), ShellPath(f.Path))})
		}
	}
	return next
}

// describeCommand returns the command that describes an object with its events. It names a group with a dot, because
// another group can have a kind of this name: Knative has Services, too.
func describeCommand(id manifest.ID) string {
	command := "kubectl describe " + strings.ToLower(id.Kind)
	if strings.Contains(id.Group, ".") {
		command += "." + id.Group
	}
	command += " " + id.Name
	if id.Namespace != "" {
		command += " -n " + id.Namespace
	}
	return command
}

// grant returns the remedy for a missing right. If several commands would be needed for the ServiceAccount, one role
// grants all rights. A quota or a policy has the same reason as a missing right of the ServiceAccount, and no command.
//
//	one kind                 the command of the controller's remedy, for example "kubectl create rolebinding ..."
//	several                  holdfast check web -o yaml | kubectl apply -f -
//	of the controller, each  the command of its remedy
func (a advisor) grant(r ResourceView) Advice {
	objects := files.NameOf(r.id, a.Namespace) + " and similar objects"
	if r.remedy != nil && r.remedy.Command == "" {
		return Advice{r.remedy.Text, ""}
	}
	if !grantsAccount(r.remedy) {
		return Advice{"Grant the controller the right to watch " + objects + ". The controller retries automatically", r.remedy.Command}
	}
	for _, other := range a.view.Resources {
		if grantsAccount(other.remedy) && v1alpha1.InfoForReason(other.Reason).Disposition == v1alpha1.DispositionGrant && other.remedy.Command != r.remedy.Command {
			return Advice{"If the ServiceAccount lacks rights of the Application, grant them. The controller retries automatically", a.command("check") + " -o yaml | kubectl apply -f -"}
		}
	}
	return Advice{"If the ServiceAccount lacks the right to write " + objects + ", grant it. The controller retries automatically", r.remedy.Command}
}

// grantsAccount reports whether a remedy grants rights to the ServiceAccount of the Application, not to the controller.
func grantsAccount(remedy *v1alpha1.Remedy) bool {
	return remedy != nil && strings.Contains(remedy.Command, "--serviceaccount=")
}

// forField returns the remedy for one field, or "". isExplained is true if the status reports why the drift
// is not corrected; the remedy for that reason is then enough.
//
//	contested                       Stop hpa from writing spec.replicas, or free it
//	contested, and cannot be freed  Stop hpa from writing spec.replicas
//	the API server drops it         Check the spelling of data.tpyo: the API server drops it
//	drifted, without a known cause  If the drift lasts, check that the controller runs and can write
func (a advisor) forField(f explain.Field, isExplained bool) string {
	switch {
	case f.State == explain.Contested && a.canFree(f):
		return "Stop " + orWriter(f.Writer.Manager) + " from writing " + f.Path + ", or free it"
	case f.State == explain.Contested:
		return "Stop " + orWriter(f.Writer.Manager) + " from writing " + f.Path
	case f.State == explain.Accepted && !f.Live.Set && !observer.Empty(f.Desired.Any):
		return "Check the spelling of " + f.Path + ": the API server drops it"
	case f.Drift != "" && f.Corrected && a.UID != "" && !isExplained:
		return "If the drift lasts, check that the controller runs and can write"
	}
	return ""
}

// canFree reports whether "free" works for a field. The owner of an Application would undo the edit, and tracking
// metadata is always held.
func (a advisor) canFree(f explain.Field) bool {
	return NotEditable(a.Application) == nil && !claim.IsTrackingPath(f.Path)
}

// orWriter returns a field manager for a sentence. Holdfast's own manager means that the other writer is unknown.
func orWriter(manager string) string {
	if manager == "" || v1alpha1.IsFieldManager(manager) {
		return "the other client"
	}
	return manager
}

// ShellPath returns a path, quoted for a shell if that is necessary. It quotes more than POSIX shells need, because zsh
// expands [ and ? in words without a match to an error.
//
//	spec.replicas           spec.replicas
//	data['a.b']             'data['\''a.b'\'']'
func ShellPath(path string) string {
	if strings.ContainsAny(path, "[]'\"$&;()|<> *?") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// few removes remedies with the text or the command of an earlier one, and returns the first five of the rest. Many
// resources often have one cause, and users read a short list from the top.
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
