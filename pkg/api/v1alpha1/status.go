package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// ApplicationStatus is the state of the Application, as the controller reports it. The controller also
// stores learned values and accepted forms here, so that they survive a restart.
type ApplicationStatus struct {
	// ObservedGeneration is the generation of the spec that this status describes; -1 until the controller
	// has reconciled the Application.
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready and Rendered are always set, Held and Healthy when there is something to hold,
	// Reconciling and Stalled only while they are true.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Summary is "ready/all" resources, for display.
	// +optional
	Summary string `json:"summary,omitempty"`

	// Resources is the inventory: every object that the Application created or adopted and that may still
	// exist.
	// +optional
	// +listType=atomic
	Resources []ResourceStatus `json:"resources,omitempty"`

	// Deletions counts the objects of which the deletion has begun, for spec.maxDeletions.
	// +optional
	Deletions *DeletionCount `json:"deletions,omitempty"`

	// Selected reports how many objects each item of spec.select matches.
	// +optional
	// +listType=atomic
	Selected []SelectedObjects `json:"selected,omitempty"`

	// Services contains the address of each Service for clients: host:port, or <pending> until it is known.
	// The key is the name of the Service. It is prefixed with "namespace/" if that is not the Application's
	// namespace.
	// +optional
	Services map[string]string `json:"services,omitempty"`

	// SourceDigest is the SHA-256 digest of the input of the translation: the template or archive, and the
	// inputs. Not set for spec.manifest.
	// +optional
	SourceDigest string `json:"sourceDigest,omitempty"`
	// ManifestDigest is the SHA-256 digest of the translated manifests. Not set for spec.manifest.
	// +optional
	ManifestDigest string `json:"manifestDigest,omitempty"`
	// Outputs contains the outputs of the template that the controller can evaluate.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Outputs *runtime.RawExtension `json:"outputs,omitempty"`

	// Hooks is the state of the hooks.
	// +optional
	Hooks *HooksStatus `json:"hooks,omitempty"`

	// ReconcileRequest is the last value of the annotation holdfast.dev/reconcile that the controller has
	// handled.
	// +optional
	ReconcileRequest string `json:"reconcileRequest,omitempty"`

	// Accepted lists the fields that the API server accepted in another form than the written one.
	// +optional
	// +listType=atomic
	Accepted []AcceptedField `json:"accepted,omitempty"`

	// Contested lists the fields that another client changes repeatedly.
	// +optional
	// +listType=atomic
	Contested []ContestedField `json:"contested,omitempty"`

	// Reported lists the fields with mode report that have drifted from the manifest. For an Application with
	// mode Observe, it lists up to 200 of all fields that have drifted. The controller does not write any
	// of these fields.
	// +optional
	// +listType=atomic
	Reported []ReportedField `json:"reported,omitempty"`

	// History lists the last events of held fields and objects, newest first: who changed what, and the
	// outcome. It has at most 20 entries and 8 KiB.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	History []HistoryEntry `json:"history,omitempty"`

	// HistorySlices lists the ApplicationSlices that contain older history entries, at most 1,000 entries
	// and 512 KiB. `holdfast history NAME` prints all entries.
	// +optional
	// +listType=atomic
	HistorySlices []string `json:"historySlices,omitempty"`

	// MangledObserverSchema contains the effective schemas: the user's schemas, the default schemas, and
	// the changes of hooks.
	// +optional
	// +listType=atomic
	MangledObserverSchema []runtime.RawExtension `json:"mangledObserverSchema,omitempty"`

	// LastAppliedManifest is the desired state: the manifests and the learned values. At its end are
	// resources that are no longer desired, until their deletion begins. Values of Secrets are masked.
	// +optional
	// +listType=atomic
	LastAppliedManifest []runtime.RawExtension `json:"lastAppliedManifest,omitempty"`

	// LastObservedManifest contains the observed fields of the live objects. Values of Secrets are masked.
	// +optional
	// +listType=atomic
	LastObservedManifest []runtime.RawExtension `json:"lastObservedManifest,omitempty"`

	// Record replaces mangledObserverSchema, lastAppliedManifest and lastObservedManifest if they exceed 64
	// KiB together. It contains them as compressed JSON (zstd). `holdfast get NAME -o yaml --full` prints all of them.
	// +optional
	Record []byte `json:"record,omitempty"`

	// RecordSlices lists the ApplicationSlices that replace resources, services, outputs, accepted,
	// contested, reported and record if the Application would be too large for one object. `holdfast get
	// NAME -o yaml` prints their content.
	// +optional
	// +listType=atomic
	RecordSlices []string `json:"recordSlices,omitempty"`
}

// DeletionCount counts deletions, so that several changes in a short time cannot exceed spec.maxDeletions.
type DeletionCount struct {
	// Since is when the controller began to count. It begins again ten minutes later, unless objects wait for
	// a confirmation.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Objects is the number of objects at that time.
	// +optional
	Objects int32 `json:"objects,omitempty"`
	// Deleted is the number of objects deleted since then without a confirmation.
	// +optional
	Deleted int32 `json:"deleted,omitempty"`
	// Confirmed is the digest of the confirmed deletions that are left, if some of them have begun.
	// +optional
	Confirmed string `json:"confirmed,omitempty"`
}

// ResourceReference identifies one object. The version is the one in the manifest. It is not part of the
// identity.
type ResourceReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// HolderReference identifies an Application that holds fields of an object.
type HolderReference struct {
	// Application is its namespace/name.
	Application string    `json:"application"`
	UID         types.UID `json:"uid"`
}

// ResourceStatus is one inventory entry.
type ResourceStatus struct {
	ResourceReference `json:",inline"`

	// UID of the object that was created or adopted.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// Origin reports whether the Application created or adopted the object. An adopted object is not
	// deleted when it is no longer desired, unless spec.adoptedDeletionPolicy is Delete.
	// +optional
	Origin ObjectOrigin `json:"origin,omitempty"`
	// Ownership is Share for a shared object. It is Own if an annotation of the manifest sets Own. Unset:
	// spec.ownership applies.
	// +optional
	Ownership Ownership `json:"ownership,omitempty"`
	// Baseline lists the original values of held fields, from before the controller first wrote them. It is
	// recorded for shared objects and, with spec.onRelease Restore, for owned objects. It does not contain
	// values of Secrets.
	// +optional
	// +listType=atomic
	Baseline []BaselineField `json:"baseline,omitempty"`
	// BaselineUID is the UID of the object that the baseline belongs to, while its adoption is pending.
	// +optional
	BaselineUID types.UID `json:"baselineUID,omitempty"`
	// Unrecorded lists held fields whose original values did not fit into the baseline. They keep their
	// live values when they are released.
	// +optional
	// +listType=atomic
	Unrecorded []string `json:"unrecorded,omitempty"`
	// Waits lists the desired fields of a shared object that are not held yet. Another Application holds
	// them, or the controller could not write them.
	// +optional
	// +listType=atomic
	Waits []string `json:"waits,omitempty"`
	// WaitsFor lists the Applications that hold fields of Waits. The Application waits until their statuses
	// show that they hold these fields no longer, even if another client removes the annotation of the object.
	// +optional
	// +listType=atomic
	WaitsFor []HolderReference `json:"waitsFor,omitempty"`
	// Schema is the source of the observer schema that applies to the resource.
	// +optional
	Schema SchemaOrigin `json:"schema,omitempty"`
	// Profiles lists the HoldProfiles that decide about fields of the resource.
	// +optional
	// +listType=atomic
	Profiles []string `json:"profiles,omitempty"`
	// Additions lists the elements that other clients added to lists with keys, at most 100. The default
	// schema leaves them free.
	// +optional
	// +listType=atomic
	Additions []string `json:"additions,omitempty"`
	// Health is the kstatus of the live object: Current, InProgress, Failed, Terminating, NotFound or
	// Unknown.
	// +optional
	Health string `json:"health,omitempty"`
	// Reason is one word for why the resource is not ready.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message describes the problem.
	// +optional
	Message string `json:"message,omitempty"`
	// Remedy describes how to fix the problem, if the message does not.
	// +optional
	Remedy *Remedy `json:"remedy,omitempty"`
	// LastCorrection is the time of the last drift correction of the object.
	// +optional
	LastCorrection *metav1.Time `json:"lastCorrection,omitempty"`
	// Job is the state of a Job's run.
	// +optional
	Job *JobRun `json:"job,omitempty"`
}

// BaselineField is the original value of a field, from before the controller first wrote it.
type BaselineField struct {
	// Path of the field.
	Path string `json:"path"`
	// Value is the original value, which can be null; not set if the field did not exist.
	// +optional
	// +nullable
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Value *runtime.RawExtension `json:"value,omitempty"`
	// From is the topmost parent of the field that did not exist either, or that became empty when the
	// controller removed the field.
	// +optional
	From string `json:"from,omitempty"`
	// Manager is the field manager that wrote the original value, if known.
	// +optional
	Manager string `json:"manager,omitempty"`
	// Time is when the controller recorded the value.
	Time metav1.Time `json:"time"`
	// Holder is the Application, as namespace/name, from whose status the entry is copied. This Application
	// waits for the field. If the holder releases the field, it leaves the value, and this Application restores
	// the original one.
	// +optional
	Holder string `json:"holder,omitempty"`
	// Held lists digests of the held value: the written value and its accepted form. The controller
	// restores the field only if its live value has one of these digests.
	// +optional
	// +listType=atomic
	Held []string `json:"held,omitempty"`
}

// UnmarshalJSON reads a field. It keeps an original value of null distinct from a field that did not exist.
func (b *BaselineField) UnmarshalJSON(raw []byte) error {
	type plain BaselineField
	if err := json.Unmarshal(raw, (*plain)(b)); err != nil || b.Value != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	if _, isNull := fields["value"]; isNull {
		b.Value = &runtime.RawExtension{Raw: []byte("null")}
	}
	return nil
}

// Remedy is an action of a user that fixes a problem.
type Remedy struct {
	// Text describes the action, and when it helps.
	Text string `json:"text"`
	// Command is the command that performs the action, if there is one.
	// +optional
	Command string `json:"command,omitempty"`
}

// OrNil returns the remedy for a status: nil if the remedy is empty.
func (r Remedy) OrNil() *Remedy {
	if r == (Remedy{}) {
		return nil
	}
	return &r
}

// String returns the remedy as one sentence, without a full stop.
func (r Remedy) String() string {
	if r.Command == "" {
		return r.Text
	}
	return r.Text + ": " + r.Command
}

// JobRun is the state of a Job's run.
type JobRun struct {
	// Manifest is the digest of the Job's manifest.
	Manifest string `json:"manifest"`
	// Finished is true after a Job with ttlSecondsAfterFinished has succeeded or failed. The controller
	// does not create a deleted Job of this kind again, until its manifest changes or the annotation
	// holdfast.dev/reconcile requests it.
	// +optional
	Finished bool `json:"finished,omitempty"`
}

// ObjectOrigin specifies whether the Application created or adopted an object.
//
// +kubebuilder:validation:Enum=Created;Adopted
type ObjectOrigin string

const (
	// OriginCreated is the origin of an object that the Application created.
	OriginCreated ObjectOrigin = "Created"
	// OriginAdopted is the origin of an object that existed before the Application adopted it.
	OriginAdopted ObjectOrigin = "Adopted"
)

// SchemaOrigin is the source of an effective schema.
//
// +kubebuilder:validation:Enum=User;Default;Fields
type SchemaOrigin string

const (
	// SchemaUser: the user wrote the schema.
	SchemaUser SchemaOrigin = "User"
	// SchemaDefault: the schema was derived from the manifest. spec.fields and HoldProfiles may have
	// released fields of it, or added rules.
	SchemaDefault SchemaOrigin = "Default"
	// SchemaFields: the schema was made from spec.fields or a HoldProfile, and holds more than the default
	// schema, or not all of it.
	SchemaFields SchemaOrigin = "Fields"
)

// AcceptedField is a field whose accepted form differs from the desired value.
type AcceptedField struct {
	Resource ResourceReference `json:"resource"`
	// Path of the field, for example spec.template.spec.containers[name=web].resources.limits.cpu.
	Path string `json:"path"`
	// Desired is the value that was written.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Desired runtime.RawExtension `json:"desired"`
	// Accepted is the accepted form of the value; not set if the API server dropped the field.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Accepted *runtime.RawExtension `json:"accepted,omitempty"`
	// Dropped is true if the API server dropped the field. Usually the field name is misspelled.
	// +optional
	Dropped bool `json:"dropped,omitempty"`
	// Kept is true if the manifest no longer has the field, but the API server still has the desired value
	// after the field was removed.
	// +optional
	Kept bool `json:"kept,omitempty"`
}

// ReportedField is a field that has drifted and is not written now: its mode is report, the Application is in
// observe-only mode, or the field is contested.
type ReportedField struct {
	Resource ResourceReference `json:"resource"`
	// Path of the field; empty for an object that is missing, or that another client deletes repeatedly.
	Path string `json:"path"`
	// Desired is the value in the manifest, and Live is the live value. Each is unset if it does not
	// exist, or if it is a value of a Secret.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Desired *runtime.RawExtension `json:"desired,omitempty"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Live *runtime.RawExtension `json:"live,omitempty"`
}

// ContestedField is a field, or an object, that another client changes or deletes repeatedly.
type ContestedField struct {
	ReportedField `json:",inline"`

	// Manager is the field manager of the last write to the field.
	// +optional
	Manager string `json:"manager,omitempty"`
	// Corrections is how often the controller has corrected the field since the contest began.
	Corrections int32 `json:"corrections"`
	// NextCorrection is when the controller will correct the field again.
	NextCorrection metav1.Time `json:"nextCorrection"`
}
