package report

import (
	"cmp"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/health"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// StatusView is the output of `status -o json`.
type StatusView struct {
	Type        `yaml:",inline"`
	Application explain.ViewOwner `json:"application" yaml:"application"`
	// Ready is True, False or Unknown. Reason and Message explain it.
	Ready          string `json:"ready" yaml:"ready"`
	Reason         string `json:"reason" yaml:"reason"`
	Message        string `json:"message" yaml:"message"`
	Suspended      bool   `json:"suspended,omitempty" yaml:"suspended,omitempty"`
	ServiceAccount string `json:"serviceAccount,omitempty" yaml:"serviceAccount,omitempty"`
	Created        string `json:"created,omitempty" yaml:"created,omitempty"`
	// Warnings are about the submitted spec. NotHeld has a line for each free field whose live value differs
	// from the manifest.
	Warnings []string `json:"warnings,omitempty" yaml:"warnings,omitempty"`
	NotHeld  []string `json:"notHeld,omitempty" yaml:"notHeld,omitempty"`
	// Selected counts the objects that each item of spec.select matches.
	Selected  []plan.ViewSelection `json:"selected,omitempty" yaml:"selected,omitempty"`
	Resources []ResourceView       `json:"resources" yaml:"resources"`
	Recent    `yaml:",inline"`
	// Next lists the remedies, if something is wrong.
	Next []Advice `json:"next,omitempty" yaml:"next,omitempty"`

	submission `yaml:"-"`
}

// submission is how far the controller has got with the last submitted version.
type submission struct {
	// services maps the name of each Service to its address.
	services     map[string]string
	notSubmitted bool // it is only in a file
	pending      bool // the controller has not reconciled this version yet
	unattended   bool // it has been pending for too long: see Attend
}

// Recent contains the last history entries and events.
type Recent struct {
	// History contains the last three entries; the command `history` prints all.
	History []EntryView `json:"history,omitempty" yaml:"history,omitempty"`
	Events  []EventView `json:"events,omitempty" yaml:"events,omitempty"`
}

// Type is the type of a printed document.
type Type struct {
	APIVersion string `json:"apiVersion" yaml:"apiVersion"`
	Kind       string `json:"kind" yaml:"kind"`
}

// ResourceView is the status of one resource.
type ResourceView struct {
	Resource       explain.ViewResource `json:"resource" yaml:"resource"`
	Health         string               `json:"health" yaml:"health"`
	Reason         string               `json:"reason,omitempty" yaml:"reason,omitempty"`
	Message        string               `json:"message,omitempty" yaml:"message,omitempty"`
	Created        string               `json:"created,omitempty" yaml:"created,omitempty"`
	LastCorrection string               `json:"lastCorrection,omitempty" yaml:"lastCorrection,omitempty"`
	// Counts counts the fields in each state.
	Counts map[explain.State]int `json:"counts" yaml:"counts"`
	// Fields contains the observed fields, and the fields that have drifted.
	Fields []explain.Field `json:"fields,omitempty" yaml:"fields,omitempty"`
	// Owned lists the objects that the resource owns: see AddOwned.
	Owned []*OwnedObject `json:"owned,omitempty" yaml:"owned,omitempty"`

	// The unexported fields are for the text, which needs more than programs get.
	id     manifest.ID
	fields []explain.Field
	remedy *v1alpha1.Remedy
	// unread is true if the user may not read the object.
	unread bool
	// selected is true for an object that spec.select matches.
	selected bool
}

// OwnedObject is an object that a resource owns, or that another owned object owns.
type OwnedObject struct {
	Resource explain.ViewResource `json:"resource" yaml:"resource"`
	Health   string               `json:"health" yaml:"health"`
	Message  string               `json:"message,omitempty" yaml:"message,omitempty"`
	Created  string               `json:"created,omitempty" yaml:"created,omitempty"`
	Owned    []*OwnedObject       `json:"owned,omitempty" yaml:"owned,omitempty"`
}

// EventView is one event.
type EventView struct {
	Time    string `json:"time" yaml:"time"`
	Type    string `json:"type" yaml:"type"`
	Reason  string `json:"reason" yaml:"reason"`
	Message string `json:"message" yaml:"message"`
	Count   int32  `json:"count" yaml:"count"`
}

// StatusOf combines the status of an Application with the state of its live objects. Resources with trouble are
// first; otherwise, the order is that of the plan, then that of the inventory. It sets neither Events nor Next.
func StatusOf(d files.Decision) StatusView {
	ready := connection.ReadyIn(d.Application)
	isDeleted := d.DeletionTimestamp != nil // in any mode
	v := StatusView{
		Type:        Type{v1alpha1.GroupVersion.String(), "ApplicationReport"},
		Application: explain.ViewOwner{Namespace: d.Namespace, Name: d.Name},
		Ready:       ready.Status, Reason: ready.Reason, Message: ready.Message,
		Suspended: d.Spec.Suspend && !isDeleted, ServiceAccount: d.Spec.ServiceAccountName,
		Created: timeText(d.CreationTimestamp), Resources: []ResourceView{}, submission: submission{services: d.Status.Services, pending: ready.Pending},
	}
	if d.Spec.Mode == v1alpha1.ModeObserve && !isDeleted {
		v.Application.Mode = v1alpha1.ModeObserve
	}
	if d.UID == "" && len(d.Status.Conditions) == 0 {
		v.notSubmitted, v.Message = true, "read from a file, and not submitted yet"
	}
	v.Warnings, v.NotHeld = d.Warnings, NotHeld(d)
	v.History = HistoryOf(d.Application)
	v.History = v.History[:min(len(v.History), shownEntries)]
	recorded := map[manifest.ID]v1alpha1.ResourceStatus{}
	for _, r := range d.Status.Resources {
		recorded[manifest.IDFromReference(r.ResourceReference)] = r
	}
	seen := map[manifest.ID]bool{}
	entries, selected := d.Selected()
	v.Selected = entries
	for _, change := range d.Changes {
		explained := explain.Change(d.Plan, change, false)
		seen[change.ID] = true
		if v.Application.Mode == v1alpha1.ModeObserve { // this mode writes no tracking metadata, so none has drifted
			explained.Fields = slices.DeleteFunc(explained.Fields, isOwnMark)
		}
		r := resourceView(d.Application, explained, recorded[change.ID], d.Live[change.ID])
		r.selected = selected[change.ID]
		v.Resources = append(v.Resources, r)
	}
	for _, r := range d.Status.Resources { // an invalid Application has no changes
		if id := manifest.IDFromReference(r.ResourceReference); !seen[id] {
			e := explain.Explanation{ID: id, Change: plan.Change{APIVersion: r.APIVersion}}
			view := resourceView(d.Application, e, r, d.Live[id])
			view.selected = len(d.Spec.Select) > 0 && claim.RecordedPolicy(d.Application, &r).Claims
			v.Resources = append(v.Resources, view)
		}
	}
	slices.SortStableFunc(v.Resources, func(a, b ResourceView) int { // resources with trouble first
		return cmp.Compare(trouble(b), trouble(a))
	})
	return v
}

// Attend marks the view as unattended, and sets its message, if a stored Application has been pending for too
// long.
func (v *StatusView) Attend(app *v1alpha1.Application, now time.Time) {
	if connection.IsUnattended(app, now) {
		v.unattended, v.Message = true, connection.MissingStep(app)
	}
}

// shownEntries is the number of history entries in a status.
const shownEntries = 3

// trouble returns 1 for a resource that is not healthy or has a message, and 0 otherwise.
func trouble(r ResourceView) int {
	if r.Health == "Current" && r.Message == "" {
		return 0
	}
	return 1
}

// resourceView combines the recorded status of a resource with its plan and its live object, which can be nil. recorded
// is the zero value for a resource that is not in the inventory.
func resourceView(app *v1alpha1.Application, e explain.Explanation, recorded v1alpha1.ResourceStatus, live map[string]any) ResourceView {
	r := ResourceView{
		Resource: explain.ViewResource{APIVersion: e.Change.APIVersion, Kind: e.ID.Kind, Namespace: e.ID.Namespace, Name: e.ID.Name},
		Health:   recorded.Health, Reason: recorded.Reason, Message: recorded.Message,
		Counts: map[explain.State]int{}, id: e.ID, fields: e.Fields, remedy: recorded.Remedy,
	}
	if recorded.LastCorrection != nil {
		r.LastCorrection = timeText(*recorded.LastCorrection)
	}
	r.addLive(app, e, live)
	r.count(e)
	return r
}

// addLive adds the state of the live object to the recorded status. The live state is newer, so its health
// replaces the recorded one. Reasons of the controller remain, because only it knows why a write failed.
//
//	live object            health        message, if none is recorded
//	exists                 computed      the reason for the health, unless Current
//	may not be read        as recorded   that the user may not read it (replaces the recorded one)
//	missing, but desired   NotFound      the object does not exist
//	not desired            as recorded
func (r *ResourceView) addLive(app *v1alpha1.Application, e explain.Explanation, live map[string]any) {
	switch {
	case live != nil:
		u := unstructured.Unstructured{Object: live}
		r.Created = timeText(u.GetCreationTimestamp())
		state, message := health.Compute(app, live)
		if r.Health = state; state != health.Current && (r.Message == "" || v1alpha1.InfoForReason(r.Reason).Progressing()) {
			r.Message = message
		}
	case e.Change.Problem != nil && e.Change.Problem.Disposition() == intent.DispositionUnread:
		r.Reason, r.Message, r.unread = e.Change.Problem.Reason, e.Change.Problem.Message, true
	case e.Desired:
		r.Health = health.NotFound
		if r.Message == "" {
			r.Message = "the object does not exist"
		}
	}
	if !v1alpha1.InfoForReason(r.Reason).Pruned { // otherwise, the controller has tried
		r.Message = cmp.Or(pruneText(app, e), r.Message)
	}
	if p := e.Change.Problem; p != nil && r.Message == "" {
		r.Reason, r.Message, r.remedy = p.Reason, p.Message, p.Remedy.OrNil()
	}
	if r.Health == "" {
		r.Health = "Unknown"
	}
}

// ResourceID returns the identity of a resource in a view. A malformed apiVersion has no group.
func ResourceID(r explain.ViewResource) manifest.ID {
	gv, _ := schema.ParseGroupVersion(r.APIVersion)
	return manifest.ID{Group: gv.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// pruneText returns the message about an object that is no longer desired, or "".
func pruneText(app *v1alpha1.Application, e explain.Explanation) string {
	ready := apimeta.FindStatusCondition(app.Status.Conditions, v1alpha1.ConditionReady)
	isKept := app.DeletionTimestamp != nil && ready != nil && v1alpha1.InfoForReason(ready.Reason).KeepsAll
	switch {
	case isKept && !e.Desired && e.Change.Writes():
		return "no longer desired, but kept: the shutdown has failed"
	case e.Change.Action == plan.Delete:
		return "no longer desired: the controller deletes it"
	case e.Change.Action == plan.Update && !e.Desired:
		return "no longer desired: the controller releases it"
	}
	return ""
}

// count counts the fields, and keeps those to report.
func (r *ResourceView) count(e explain.Explanation) {
	if e.Missing {
		r.fields = nil // the missing object is the reason for all of them
	}
	if problem := e.Change.Problem; problem != nil && v1alpha1.InfoForReason(problem.Reason).Foreign {
		r.fields = nil // the Application holds no field of this object
		return
	}
	if e.Change.Problem != nil { // another client may keep removing the tracking metadata
		r.fields = slices.DeleteFunc(slices.Clone(r.fields), isOwnMark)
	}
	for _, f := range e.Fields {
		if f.IsStatus() || isOwnMark(f) {
			continue
		}
		r.Counts[f.State]++
		if isObserved(f) && !e.Missing {
			r.Fields = append(r.Fields, f)
		}
	}
}

// isObserved reports whether a field is shown to users: it is observed, or it has drifted.
func isObserved(f explain.Field) bool {
	return f.Drift != "" || f.State != explain.Free && (f.State != explain.Claimed || f.Desired.Set || f.Rule != nil)
}

// timeText returns a time in UTC as RFC 3339, or "" for the zero time.
func timeText(t metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
