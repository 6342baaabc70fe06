package report

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/plan"
)

// Advice is a remedy for the user, with a command if there is one.
type Advice struct {
	Text    string `json:"text" yaml:"text"`
	Command string `json:"command,omitempty" yaml:"command,omitempty"`
}

// advisor is the context in which remedies for one Application are written. program is the name by which the
// user called this program.
type advisor struct {
	files.Decision
	view    StatusView
	program string
	// freed has the drifted fields that an included HoldProfile would free.
	freed map[plan.Leaf]string
}

// Advise returns the remedies for the problems of an Application, the most urgent first. It returns none if
// nothing is wrong.
func Advise(d files.Decision, v StatusView, program string) []Advice {
	a := advisor{d, v, program, d.FreedByIncluded()}
	var next []Advice
	switch {
	case v.notSubmitted:
		return []Advice{{"submit it", program + " submit -f " + ShellPath(d.Document.File)}}
	case v.unattended:
		next = append(next, Advice{"look whether a controller runs", "kubectl get pods -n holdfast-system"},
			Advice{"look which namespaces and which labels it selects", "kubectl get configmap holdfast-controller -n holdfast-system -o yaml"})
	case v.Application.Mode == v1alpha1.ModeObserve:
		next = append(next, Advice{"nothing is written until it is held. What that would do", a.command("diff")}, Advice{"have it held", a.command("hold")})
		if d.Spec.Suspend {
			next = append(next, Advice{"it is suspended, too", a.command("resume")})
		}
	case d.Spec.Suspend:
		next = append(next, Advice{"nothing is corrected until it is resumed", a.command("resume")})
	case d.DeletionTimestamp != nil && !v1alpha1.InfoForReason(v.Reason).Disposition.Stalled():
		next = append(next, Advice{"it is being deleted; wait until it is gone", a.command("delete", "--yes", "--wait")})
	case v.pending:
		next = append(next, Advice{"if this lasts, the controller does not run. Look for its Pods", "kubectl get pods -n holdfast-system"})
	case v.Ready != "True":
		next = append(next, a.forReason()...)
	}
	for _, r := range v.Resources {
		next = append(next, a.forResource(r)...)
	}
	return few(next)
}

// command returns a command line of this program for the Application.
func (a advisor) command(verb string, args ...string) string {
	words := append([]string{a.program, verb, a.Name}, args...)
	if a.Namespace != "default" {
		words = append(words, "-n", a.Namespace)
	}
	return strings.Join(words, " ")
}

// forReason returns the remedy for the reason of the condition Ready. Messages name their own remedies; this
// function adds where to look.
func (a advisor) forReason() []Advice {
	advice, known := map[string]Advice{
		v1alpha1.ReasonManifestInvalid:            a.mistakes(),
		v1alpha1.ReasonObserverSchemaInvalid:      a.mistakes(),
		v1alpha1.ReasonManifestTooLarge:           a.smaller(),
		v1alpha1.ReasonTooManyObjects:             {"select fewer objects, or raise spec.maxObjects, and submit it again. What it means", a.command("plan")},
		v1alpha1.ReasonObserverSchemaNullsDropped: {"write observed for each null, or submit it with a client that does", a.program + " submit -f FILE --force-conflicts"},
		v1alpha1.ReasonSourceNotSupported:         {"submit its manifests", a.program + " submit " + a.Name + " -f MANIFESTS"},
		v1alpha1.ReasonResourceConflict:           {"choose one of the ways that the message names", ""},
		v1alpha1.ReasonRejected:                   {"correct what the API server refuses, and submit it again. What would be written", a.command("diff")},
		v1alpha1.ReasonForbidden:                  {"have the controller, a quota or a policy allow it, as the message says; it is tried again by itself", ""},
		v1alpha1.ReasonKindUnknown:                {"install what defines the kind, or correct its name; the resources are created then", "kubectl api-resources"},
		v1alpha1.ReasonKindUnsupported:            {"take the resource out of the manifests, and submit it again", ""},
		v1alpha1.ReasonFieldClaimed:               {"see which fields another Application holds, and what becomes of the others", a.command("explain")},
		v1alpha1.ReasonListTooShort:               {"lower the minimum in the observer schema, or add elements to the manifest", a.command("diff")},
		v1alpha1.ReasonOutsideRule:                {"give the field a value in the manifest that its rule allows, or change the rule", a.command("diff")},
		v1alpha1.ReasonRetriesExhausted:           {"solve what the message says, and have it tried again", a.command("reconcile")},
		v1alpha1.ReasonWaiting:                    {"wait, or remove what it waits for", ""},
		v1alpha1.ReasonRetrying:                   {"it is tried again by itself; to have that done now", a.command("reconcile")},
		v1alpha1.ReasonHookFailed:                 {"solve what the message says; it is tried again by itself, or now", a.command("reconcile")},
		v1alpha1.ReasonShutdownFailed:             {"the message says how to go on; why the workload does not answer, it may know itself", "kubectl logs -n " + a.Namespace + " POD"},
		v1alpha1.ReasonTranslationFailed:          {"correct the template and submit it again. Mistakes are found without a cluster by", a.program + " tosca validate FILE"},
		v1alpha1.ReasonFetchFailed:                {"make it available; it is tried again by itself, or now", a.command("reconcile")},
		v1alpha1.ReasonSliceUnavailable:           {"the message says which is missing, and what to do. Those that there are", "kubectl get hfslice -n " + a.Namespace},
		v1alpha1.ReasonSourceNotAllowed:           {"have the controller allow the URL (--allow-url-prefix), or submit the template from a file", a.program + " submit " + a.Name + " --tosca FILE"},
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

func (a advisor) smaller() Advice {
	if len(a.Spec.Manifest) == 1 {
		return Advice{"make the object smaller, or observe less of it, and submit it again", ""}
	}
	return Advice{"split it into several Applications", ""}
}

func (a advisor) mistakes() Advice {
	return Advice{
		"correct it and submit it again. Mistakes are found with their lines, and without a cluster, by",
		a.program + " schema validate -f SCHEMA -m MANIFESTS",
	}
}

// forResource returns the remedies for one resource.
func (a advisor) forResource(r ResourceView) []Advice {
	if r.unread {
		return []Advice{{"you may not see all of it: ask for the right to get what is marked", ""}}
	}
	var next []Advice
	said := v1alpha1.InfoForReason(r.Reason)
	switch {
	case r.remedy == nil:
	case said.Disposition == v1alpha1.DispositionGrant:
		next = append(next, Advice{"let the ServiceAccount write " + files.NameOf(r.id, a.Namespace) + " and the like; it is tried again by itself", r.remedy.Command})
	default:
		next = append(next, Advice(*r.remedy))
	}
	if r.Health != "Current" && r.Health != "NotFound" && r.Health != "Unknown" {
		command := "kubectl describe " + strings.ToLower(r.id.Kind) + " " + r.id.Name
		if r.id.Namespace != "" {
			command += " -n " + r.id.Namespace
		}
		next = append(next, Advice{"see why " + files.NameOf(r.id, a.Namespace) + " is not healthy", command})
	}
	isExplained := said.Disposition != "" && !said.Health // the controller has seen the drift, and reports why it is not corrected
	for _, f := range r.fields {
		if profile := a.freed[plan.Leaf{ID: r.id, Path: f.Path}]; profile != "" {
			text := "free " + f.Path + " in all Applications: HoldProfile " + profile + " is not in effect. In a checkout, run"
			next = append(next, Advice{text, files.ProfileCommand(profile)})
		}
		verb := "explain"
		if f.State == plan.FieldContested && a.Plan != nil {
			verb = "free"
		}
		if text := a.forField(f, isExplained); text != "" {
			next = append(next, Advice{text, a.command(verb, files.ArgumentOf(r.id, false), ShellPath(f.Path))})
		}
	}
	return next
}

// forField returns the remedy for one field, or "". isExplained is true if the status reports why the drift
// is not corrected.
func (a advisor) forField(f plan.Field, isExplained bool) string {
	switch {
	case f.State == plan.FieldContested:
		return "let " + orWriter(f.Writer.Manager) + " leave " + f.Path + " alone, or free it"
	case f.State == plan.FieldAccepted && !f.Live.Set:
		return "check the spelling of " + f.Path + ": the API server drops it"
	case f.Drift != "" && f.Corrected && a.UID != "" && !isExplained:
		return "if the drift lasts, check that the controller runs and can write"
	}
	return ""
}

func orWriter(manager string) string {
	if manager == "" || v1alpha1.IsFieldManager(manager) {
		return "who writes it"
	}
	return manager
}

// ShellPath returns a path, quoted for a shell if that is necessary.
func ShellPath(path string) string {
	if strings.ContainsAny(path, "[]'\"$&;()|<> *?") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// few removes repeated remedies, and returns the first of the rest.
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
