package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Outcome is how the execution of one change went.
type Outcome struct {
	// Change is the change as Replan decided it last, before it was executed; the zero
	// Change stands for that of the plan.
	Change Change
	// Rejected are the leaves that the API server has refused to change: see Plan.Refuse.
	Rejected []RejectedLeaf
	// Object is the API server's response to our own write, or what it turned
	// out to have; nil if the object is gone or the write did not happen.
	Object map[string]any
	// Action is what was really done. A create that finds its own object from
	// before a crash is Unchanged.
	Action Action
	// WithoutLearned is true if the object was created without learned values,
	// because the API server refused them; or may have been, if there is a Problem.
	WithoutLearned bool
	// Gone is true if the object no longer exists.
	Gone bool
	// Problem is why the change was not, or not wholly, made.
	Problem *Problem
}

// Result is what remains of a plan when its changes have been executed.
type Result struct {
	Status v1alpha1.ApplicationStatus
	// Memory is for the next plan. It never leaves the process: accepted forms of Secret
	// values are in it.
	Memory State `json:"-"`
	// Event is one for all that was done; nil if nothing was.
	Event *Event
	// NewHistory is what the history has got more, the oldest first.
	NewHistory []HistoryRecord
	// RetryAfter asks to decide again at that time; 0 if only a change does.
	RetryAfter time.Duration
	// Again asks to decide again at once: a response showed drift that was not
	// part of the plan.
	Again bool
}

// Event is what is told to people, once per change.
type Event struct {
	Warning bool
	// Reason is Created, Adopted, Held, Corrected, Deleted, Released, Changed for several
	// of them, NotRestored, or a condition reason.
	Reason string
	Note   string
	// Redacted is the same without the values of fields, and without who wrote them.
	Redacted string
}

type summarizer struct {
	// plan is a copy, with the memory and the warnings as they will be.
	plan     *Plan
	now      metav1.Time // without what is below a second
	at       time.Time
	outcomes map[manifest.ID]Outcome
	// preview is true for what the status will be once all is done.
	preview bool
	result  Result

	tokens []string // digests of callback tokens that are in the cluster
	held   int      // leaves that are in place
	// problems keep resources from being held, unhealthy from being ready; both
	// in the order of the resources.
	problems  []resourceProblem
	unhealthy []resourceProblem
	waits     []string // what is not done because the Application is suspended, or only observes
	observes  int      // drifts that are told, and not corrected
	warnings  []string
	// newlyContested is true if one of the warnings is about that.
	newlyContested bool
	notes          []string // what is told beside what was done
	unrestored     []Unrestored
	done           []doneChange
	drifted        map[Leaf]bool
	pendingDrift   map[Leaf]PendingDrift
	// acceptedForms has what the API server has made of what was written, where that is accepted
	// from now on.
	acceptedForms map[Leaf]delta.Value
	extra         []extra
}

type resourceProblem struct {
	id manifest.ID
	*Problem
}

// resourceResult is what is known of a desired resource after its change.
type resourceResult struct {
	live     map[string]any // nil if there is none of ours
	compared delta.Comparison
	problem  *Problem
	// wrote is true if the API server answered our own create or patch.
	wrote  bool
	action Action
}

// extra is a record that the status has if there is room.
type extra struct {
	index int
	*record
}

// What is told for the event: of some updates, that an object is let go, or taken over, or
// fields of a shared one are held from now on; and what is only observed.
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
	paths  []string
	// told are the paths with what has happened there.
	told []string
}
