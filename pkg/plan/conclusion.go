package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/record"
)

// Outcome is the result of executing one change.
type Outcome struct {
	// Change is the change as Replan last decided it before its execution. If it is the zero Change, the
	// change of the plan was executed.
	Change Change
	// Rejected are the leaves that the API server refused to change: see Plan.RecordRejection and
	// Plan.Reject.
	Rejected []RejectedLeaf
	// Object is the API server's response to the controller's write, or the object that a later read
	// returned. It is nil if the object is gone or nothing was written.
	Object map[string]any
	// Action is the action that was taken. It is Unchanged if a create finds the Application's own object,
	// created before a crash.
	Action Action
	// WithoutLearned is true if the object was created without learned values because the API server
	// rejected them. If there is a Problem, it may have been.
	WithoutLearned bool
	// Gone is true if the object no longer exists.
	Gone bool
	// Problem is the reason why the change was not made, or only in part.
	Problem *Problem
}

// Result is the result of a plan whose changes were executed.
type Result struct {
	// Status is complete: it replaces the status of the Application.
	Status v1alpha1.ApplicationStatus
	// Memory is the state for the next plan. It is kept in the process, because it has accepted forms of
	// Secret values.
	Memory State `json:"-"`
	// Event is one event for all changes that were made; nil if there were none.
	Event *Event
	// Observed contains the object of each item of Status.LastObservedManifest, which need not contain its namespace.
	Observed []manifest.ID `json:"-"`
	// NewHistory contains the new history entries, oldest first.
	NewHistory []HistoryRecord
	// RetryAfter is the delay until the next reconcile; 0 if only a change requires one.
	RetryAfter time.Duration
	// Again requests a reconcile at once: a response showed drift that was not part of the plan.
	Again bool
}

// Event is the content of a Kubernetes event. There is one per change.
type Event struct {
	// Warning selects the type of the event, Warning or Normal.
	Warning bool
	// Reason is Created, Adopted, Held, Corrected, Deleted, Released, Changed for several
	// of them, NotRestored, NotRemoved, OriginalsLost, or a condition reason.
	Reason string
	Note   string
	// Redacted is the note without the values and writers of corrections. It is emitted if there are too many different
	// notes, because a series of events has the text of its first event.
	Redacted string
}

// summarizer builds a Result from a plan and its outcomes. It is used once, by one goroutine.
type summarizer struct {
	// plan is a copy whose memory and warnings are updated.
	plan *Plan
	now  metav1.Time // truncated to seconds
	// at is the same time in full resolution, for durations.
	at time.Time
	// outcomes has only the changes that were attempted.
	outcomes map[manifest.ID]Outcome
	// preview is true to compute the status as if all changes had succeeded.
	preview bool
	result  Result

	tokens []string // digests of callback tokens that are in the cluster
	held   int      // leaves that are in sync
	findings
	// warnings are for the event, which they make a warning.
	warnings []string
	// done contains the changes that were made, for the event.
	done []doneChange
	// drifted contains the leaves that are not in sync after the changes. pendingDrift has when and by whom.
	drifted      map[Leaf]bool
	pendingDrift map[Leaf]PendingDrift
	// newForms contains the API server's forms of written values that are accepted from now on, and were not before.
	newForms map[Leaf]delta.Value
	// extra has records that are added to the status last, while they fit.
	extra []extra
}

// The writers of the parts of a result. They share the state of the summarizer, and read the parts that earlier ones
// have written.
type (
	responseReader  struct{ *summarizer } // interprets responses of the API server
	statusWriter    struct{ *summarizer } // writes the inventory and the records
	conditionWriter struct{ *summarizer }
	eventWriter     struct{ *summarizer }
	historyWriter   struct{ *summarizer }
)

// findings are what conditions and the event report.
type findings struct {
	// problems prevent resources from being held. unhealthy contains the problems that prevent readiness. Both
	// are in the order of the resources.
	problems  []resourceProblem
	unhealthy []resourceProblem
	waits     []string // changes that are not made because the Application is suspended or observe-only
	observes  int      // number of drifts that are reported and not corrected
	// newlyContested is true if a warning reports a newly contested field.
	newlyContested bool
	notes          []string // further text for the event
	// lost contains the objects of other owners whose original values were in a status that is gone.
	lost []string
	// unrestored contains the released fields that keep their live values although they should be restored, and the dropped
	// ones that are not removed.
	unrestored []UnrestoredField
}

// resourceProblem is a Problem with its resource. The ID is zero for a problem of the Application itself.
type resourceProblem struct {
	id manifest.ID
	*Problem
}

// resourceResult is the state of a desired resource after its change.
type resourceResult struct {
	live map[string]any // nil if no object belongs to the resource
	// compared is the comparison with the response, or the planned one if nothing was written.
	compared delta.Comparison
	// problem is the reason why the resource is not in sync now; nil if it is.
	problem *Problem
	// wrote is true if the API server returned a response to the controller's create or patch.
	wrote bool
	// action is the action of the outcome; empty if no change was attempted.
	action Action
}

// extra is a record that is added to the status if it fits.
type extra struct {
	// index is the position of the record that it replaces. Beyond the end of the list, the record is appended.
	index  int
	record *record.Record
}

// Actions that only events have: an updated object can be released, be adopted, or have its first fields
// held. An observe-only Application only observes.
const (
	release     Action = "release"
	adopt       Action = "adopt"
	hold        Action = "hold"
	onlyObserve Action = "observe"
)

// doneChange is one change that was made, for the event.
type doneChange struct {
	action Action
	id     manifest.ID
	// paths are the changed fields: those of the redacted event.
	paths []string
	// told are the paths with a description of what happened to each.
	told []string
}
