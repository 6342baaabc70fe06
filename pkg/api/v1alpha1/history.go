package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// What a status keeps of a history, and what slices keep of what is older: so much JSON,
// before it is packed.
const (
	MaxHistoryEntries = 20
	MaxHistoryBytes   = 8 << 10
	MaxOlderEntries   = 1000
	MaxOlderBytes     = 512 << 10
)

// HistoryEntry is one thing that happened to a field or an object, and what became of it.
type HistoryEntry struct {
	// Time is when it was dealt with; if it has happened several times, the last one.
	Time metav1.Time `json:"time"`
	// Outcome is what became of it.
	Outcome  HistoryOutcome    `json:"outcome"`
	Resource ResourceReference `json:"resource"`
	// Path of the field; empty for the object itself.
	// +optional
	Path string `json:"path,omitempty"`
	// From is the value that is held, and To what it was changed to: not set for a field
	// that is not there. Values of Secrets are masked; a value that is long is a text that
	// has its beginning, its size and its digest.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	From *runtime.RawExtension `json:"from,omitempty"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	To *runtime.RawExtension `json:"to,omitempty"`
	// CorrectedTo is what was written in place of To, where a rule allows several values:
	// which of them was there before nobody knows, and From is not set.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	CorrectedTo *runtime.RawExtension `json:"correctedTo,omitempty"`
	// Manager is the field manager that has changed it; not set if that is not known, as
	// most often for a field that was removed.
	// +optional
	Manager string `json:"manager,omitempty"`
	// Operation is how it wrote: Update or Apply.
	// +optional
	Operation metav1.ManagedFieldsOperationType `json:"operation,omitempty"`
	// Subresource through which it wrote, such as scale.
	// +optional
	Subresource string `json:"subresource,omitempty"`
	// User is who did it, as the audit events of the API server name them: with whose rights
	// it was done. Not set if there is no audit webhook, or no event that says so for
	// certain. Never set for Secrets.
	// +optional
	User string `json:"user,omitempty"`
	// Impersonator is the user who acted as User; not set if that is the same.
	// +optional
	Impersonator string `json:"impersonator,omitempty"`
	// SourceIP is the address from which the API server was reached: of the last proxy
	// before it, if there is one.
	// +optional
	SourceIP string `json:"sourceIP,omitempty"`
	// PendingUser is the write whose User is not known yet: its audit event may still arrive.
	// +optional
	PendingUser *ObjectVersion `json:"pendingUser,omitempty"`
	// Duration is the time from the change to the correction, if it is known.
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
	// Count is how often just this has happened, and Since when first; not set for once.
	// +optional
	Count int32 `json:"count,omitempty"`
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// ObjectVersion is what one write has made of an object.
type ObjectVersion struct {
	UID types.UID `json:"uid"`
	// ResourceVersion is the one that the write has made; empty for the object's deletion.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// HistoryOutcome is what became of something that happened.
//
// +kubebuilder:validation:Enum=Corrected;Contested;Accepted;Learned;Restored;Created;Adopted;Released;Deleted;Observed
type HistoryOutcome string

const (
	// OutcomeCorrected: another client changed a held field, and it was changed back.
	OutcomeCorrected HistoryOutcome = "Corrected"
	// OutcomeContested: as Corrected, and it is changed back ever more slowly, since the
	// other client does not stop.
	OutcomeContested HistoryOutcome = "Contested"
	// OutcomeAccepted: the API server made To of what was written to correct it, and
	// that counts as the value from now on.
	OutcomeAccepted HistoryOutcome = "Accepted"
	// OutcomeLearned: an observed field without a value got one, which is held from now on.
	OutcomeLearned HistoryOutcome = "Learned"
	// OutcomeRestored: another client deleted the object, and it was created again.
	OutcomeRestored HistoryOutcome = "Restored"
	// OutcomeCreated: the object was created.
	OutcomeCreated HistoryOutcome = "Created"
	// OutcomeAdopted: the object was there, and was taken over.
	OutcomeAdopted HistoryOutcome = "Adopted"
	// OutcomeReleased: the object is let go, and stays.
	OutcomeReleased HistoryOutcome = "Released"
	// OutcomeDeleted: the object is no longer desired, and was deleted.
	OutcomeDeleted HistoryOutcome = "Deleted"
	// OutcomeObserved: another client changed a field, or an object is not there, or not
	// as it is desired, and nothing was done: the Application only observes.
	OutcomeObserved HistoryOutcome = "Observed"
)
