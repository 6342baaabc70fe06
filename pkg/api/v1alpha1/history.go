package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Limits of the history in a status, and of the older entries in slices. Bytes count uncompressed JSON.
const (
	MaxHistoryEntries = 20
	MaxHistoryBytes   = 8 << 10
	MaxOlderEntries   = 1000
	MaxOlderBytes     = 512 << 10
)

// HistoryEntry is one event of a field or an object, and its outcome.
type HistoryEntry struct {
	// Time is when the controller handled the event. If the event repeated, it is the last time.
	Time metav1.Time `json:"time"`
	// Outcome is the result of the event.
	Outcome  HistoryOutcome    `json:"outcome"`
	Resource ResourceReference `json:"resource"`
	// Path of the field; empty for the object itself.
	// +optional
	Path string `json:"path,omitempty"`
	// From is the held value. To is the value that another client wrote. Each is unset if the field did not
	// exist. Values of Secrets are masked. A long value is replaced by a string with its beginning, its
	// size and its digest.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	From *runtime.RawExtension `json:"from,omitempty"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	To *runtime.RawExtension `json:"to,omitempty"`
	// CorrectedTo is the value that the controller wrote in place of To, if a rule allows several values.
	// From is not set then, because the previous value is unknown.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	CorrectedTo *runtime.RawExtension `json:"correctedTo,omitempty"`
	// Manager is the field manager that made the change. It is not set if it is unknown, which is usual for
	// a removed field.
	// +optional
	Manager string `json:"manager,omitempty"`
	// Operation is the operation of the write: Update or Apply.
	// +optional
	Operation metav1.ManagedFieldsOperationType `json:"operation,omitempty"`
	// Subresource of the write, such as scale.
	// +optional
	Subresource string `json:"subresource,omitempty"`
	// User is the user whose permissions the write used, according to the audit events of the API server.
	// Not set if there is no audit webhook, or no event identifies the user for certain. Never set for
	// Secrets.
	// +optional
	User string `json:"user,omitempty"`
	// Impersonator is the user who impersonated User; not set without impersonation.
	// +optional
	Impersonator string `json:"impersonator,omitempty"`
	// SourceIP is the address of the client that connected to the API server, or of the last proxy in front
	// of it.
	// +optional
	SourceIP string `json:"sourceIP,omitempty"`
	// PendingUser identifies the write while the audit event that identifies User can still arrive.
	// +optional
	PendingUser *ObjectVersion `json:"pendingUser,omitempty"`
	// Duration is how long the change lasted until it was handled, if known.
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
	// Count is how often the same event occurred, and Since is the first time. Not set for a single event.
	// +optional
	Count int32 `json:"count,omitempty"`
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// ObjectVersion identifies the result of one write to an object.
type ObjectVersion struct {
	UID types.UID `json:"uid"`
	// ResourceVersion is the version that the write produced; empty if the write deleted the object.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// HistoryOutcome is the result of an event.
//
// +kubebuilder:validation:Enum=Corrected;Contested;Accepted;Learned;Added;Restored;Created;Adopted;Released;Deleted;Observed
type HistoryOutcome string

const (
	// OutcomeCorrected: another client changed a held field, and the controller corrected it.
	OutcomeCorrected HistoryOutcome = "Corrected"
	// OutcomeContested: as Corrected, but another client changes the field repeatedly. The controller
	// corrects it with increasing backoff.
	OutcomeContested HistoryOutcome = "Contested"
	// OutcomeAccepted: the API server changed the corrected value to To. To is the accepted form from now
	// on.
	OutcomeAccepted HistoryOutcome = "Accepted"
	// OutcomeLearned: an observed field without a value got one, which is held from now on.
	OutcomeLearned HistoryOutcome = "Learned"
	// OutcomeAdded: another client added an element to a list with keys. The element is free.
	OutcomeAdded HistoryOutcome = "Added"
	// OutcomeRestored: another client deleted the object, and the controller created it again.
	OutcomeRestored HistoryOutcome = "Restored"
	// OutcomeCreated: the controller created the object.
	OutcomeCreated HistoryOutcome = "Created"
	// OutcomeAdopted: the object existed, and the Application adopted it.
	OutcomeAdopted HistoryOutcome = "Adopted"
	// OutcomeReleased: the Application released the object without deleting it.
	OutcomeReleased HistoryOutcome = "Released"
	// OutcomeDeleted: the object is no longer desired, and the controller deleted it.
	OutcomeDeleted HistoryOutcome = "Deleted"
	// OutcomeObserved: another client changed a field, or the object is missing or has drifted. The
	// controller wrote nothing, because the Application is in observe-only mode.
	OutcomeObserved HistoryOutcome = "Observed"
)
