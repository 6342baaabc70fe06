package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// ApplicationStatus is what the controller knows and did. It is also its
// memory: learned values and accepted forms live here and survive a restart.
type ApplicationStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks
	// of; -1 until the controller has seen the Application.
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready and Rendered always, Held and Healthy once there is
	// something to hold; Reconciling and Stalled only while true.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Summary is "ready/all" resources, for people.
	// +optional
	Summary string `json:"summary,omitempty"`

	// Resources is the inventory: every object that was created or adopted and
	// is not known to be gone.
	// +optional
	// +listType=atomic
	Resources []ResourceStatus `json:"resources,omitempty"`

	// Selected says how many objects each entry of spec.select means.
	// +optional
	// +listType=atomic
	Selected []SelectedObjects `json:"selected,omitempty"`

	// Services has the address that clients use for each Service: host:port, or
	// <pending> until it is known. The key is the name of the Service, with
	// "namespace/" before it if that is not the Application's.
	// +optional
	Services map[string]string `json:"services,omitempty"`

	// SourceDigest is the SHA-256 digest of what the manifests were translated
	// from: the template or archive, and the inputs. Not set for spec.manifest.
	// +optional
	SourceDigest string `json:"sourceDigest,omitempty"`
	// ManifestDigest is the SHA-256 digest of the manifests that the source was
	// translated into. Not set for spec.manifest.
	// +optional
	ManifestDigest string `json:"manifestDigest,omitempty"`
	// Outputs are the outputs of the template that can be evaluated.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Outputs *runtime.RawExtension `json:"outputs,omitempty"`

	// Hooks is the state of the hooks.
	// +optional
	Hooks *HooksStatus `json:"hooks,omitempty"`

	// ReconcileRequest is the value of the annotation holdfast.dev/reconcile that
	// was last acted on.
	// +optional
	ReconcileRequest string `json:"reconcileRequest,omitempty"`

	// Accepted lists the leaves that the API server accepted in another form
	// than they were written.
	// +optional
	// +listType=atomic
	Accepted []AcceptedField `json:"accepted,omitempty"`

	// Contested lists the leaves that another client keeps changing back.
	// +optional
	// +listType=atomic
	Contested []ContestedField `json:"contested,omitempty"`

	// Watched lists the leaves with the mode watch that have another value than in the
	// manifest; and, of an Application with the mode Observe, at most 200 of all leaves that
	// have another value than is desired. They are not written.
	// +optional
	// +listType=atomic
	Watched []ReportedField `json:"watched,omitempty"`

	// History has what happened to held fields and objects last, the newest first: who
	// changed what, and what became of it. It has at most 20 entries, and 8 KiB.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	History []HistoryEntry `json:"history,omitempty"`

	// HistorySlices are the ApplicationSlices that have older entries, at most 1,000 of
	// them and 512 KiB: `holdfast history NAME` shows them all.
	// +optional
	// +listType=atomic
	HistorySlices []string `json:"historySlices,omitempty"`

	// MangledObserverSchema is the user's entries, the defaults, and what hooks
	// added.
	// +optional
	// +listType=atomic
	MangledObserverSchema []runtime.RawExtension `json:"mangledObserverSchema,omitempty"`

	// LastAppliedManifest is the desired state: the manifests and the learned
	// values; in the end, until their deletion begins, those of resources that are
	// no longer desired. Values of Secrets are masked.
	// +optional
	// +listType=atomic
	LastAppliedManifest []runtime.RawExtension `json:"lastAppliedManifest,omitempty"`

	// LastObservedManifest is the observed part of the live objects. Values of
	// Secrets are masked.
	// +optional
	// +listType=atomic
	LastObservedManifest []runtime.RawExtension `json:"lastObservedManifest,omitempty"`

	// Record has mangledObserverSchema, lastAppliedManifest and lastObservedManifest in
	// their place, as gzipped JSON, where they are more than 64 KiB together. Entries and
	// observed manifests that follow from the desired one are left out:
	// `holdfast get NAME -o yaml --full` shows all of them.
	// +optional
	Record []byte `json:"record,omitempty"`

	// RecordSlices are the ApplicationSlices that have resources, services, outputs,
	// accepted, contested, watched and what record would have, in their place, where the Application
	// would not fit into one object with them: `holdfast get NAME -o yaml` shows them.
	// +optional
	// +listType=atomic
	RecordSlices []string `json:"recordSlices,omitempty"`
}

// ResourceReference identifies one object. The version is the one that the
// manifest uses; it is not part of the identity.
type ResourceReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// ResourceStatus is one line of the inventory.
type ResourceStatus struct {
	ResourceReference `json:",inline"`

	// UID of the object that was created or adopted.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// Origin says where the object is from: an adopted one is left when it is no longer
	// desired, unless spec.adoptedDeletionPolicy says otherwise.
	// +optional
	Origin ObjectOrigin `json:"origin,omitempty"`
	// Ownership is Share for an object that is another owner's, of which fields are held.
	// Own says that the manifest says so itself; unset: as spec.ownership says.
	// +optional
	Ownership Ownership `json:"ownership,omitempty"`
	// Baseline is what the held fields were before they were written first: of a shared
	// object, and, under spec.onRelease Restore, of an owned one. Values of Secrets are not
	// in it.
	// +optional
	// +listType=atomic
	Baseline []BaselineField `json:"baseline,omitempty"`
	// BaselineUID is the UID of the object that the baseline is of, as long as that is
	// about to be adopted.
	// +optional
	BaselineUID types.UID `json:"baselineUID,omitempty"`
	// Unrecorded are held fields that were written first when there was no room to record
	// what they were before: they stay as they are when they are let go.
	// +optional
	// +listType=atomic
	Unrecorded []string `json:"unrecorded,omitempty"`
	// Waits are the fields of a shared object that are desired and not held yet: another
	// Application holds them, or they could not be written.
	// +optional
	// +listType=atomic
	Waits []string `json:"waits,omitempty"`
	// Schema says whose observer schema holds it.
	// +optional
	Schema SchemaOrigin `json:"schema,omitempty"`
	// Profiles are the HoldProfiles that decide about fields of it.
	// +optional
	// +listType=atomic
	Profiles []string `json:"profiles,omitempty"`
	// NullLeaves are the leaves of the user's entry that are written as null, which
	// many clients drop.
	// +optional
	// +listType=atomic
	NullLeaves []string `json:"nullLeaves,omitempty"`
	// Health is the kstatus of the live object: Current, InProgress, Failed,
	// Terminating, NotFound or Unknown.
	// +optional
	Health string `json:"health,omitempty"`
	// Reason says in one word why the resource is not as it should be.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message says what is wrong.
	// +optional
	Message string `json:"message,omitempty"`
	// Remedy says what to do about it, where the message does not.
	// +optional
	Remedy *Remedy `json:"remedy,omitempty"`
	// LastCorrection is when drift was last corrected on it.
	// +optional
	LastCorrection *metav1.Time `json:"lastCorrection,omitempty"`
	// Job is what is known of a Job's run.
	// +optional
	Job *JobRun `json:"job,omitempty"`
}

// BaselineField is what a field was before it was written first.
type BaselineField struct {
	// Path of the field.
	Path string `json:"path"`
	// Value is what it was, which may be null; not set if there was no such field.
	// +optional
	// +nullable
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Value *runtime.RawExtension `json:"value,omitempty"`
	// From is the topmost field above it that was not there either.
	// +optional
	From string `json:"from,omitempty"`
	// Manager is the field manager that had written it, as far as that is known.
	// +optional
	Manager string `json:"manager,omitempty"`
	// Time is when that was.
	Time metav1.Time `json:"time"`
	// Held are digests of what it is while it is held: the value that is written, and
	// what the API server makes of it. The field is restored only if it is one of these.
	// +optional
	// +listType=atomic
	Held []string `json:"held,omitempty"`
}

// UnmarshalJSON reads a field: a null that it was is not the same as that it was not there.
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

// Remedy is what a person can do.
type Remedy struct {
	// Text says what, and when it helps.
	Text string `json:"text"`
	// Command does it, if there is one.
	// +optional
	Command string `json:"command,omitempty"`
}

// OrNil is the remedy as a status has it: nil if there is none.
func (r Remedy) OrNil() *Remedy {
	if r == (Remedy{}) {
		return nil
	}
	return &r
}

// String is the remedy as one sentence, without a full stop.
func (r Remedy) String() string {
	if r.Command == "" {
		return r.Text
	}
	return r.Text + ": " + r.Command
}

// JobRun is a run of a Job.
type JobRun struct {
	// Manifest is the digest of the manifest that it is of.
	Manifest string `json:"manifest"`
	// Finished is true once a Job with ttlSecondsAfterFinished has succeeded or
	// failed: it is not created again when it is gone, until its manifest changes or
	// the annotation holdfast.dev/reconcile asks for it.
	// +optional
	Finished bool `json:"finished,omitempty"`
}

// ObjectOrigin says where an object is from.
//
// +kubebuilder:validation:Enum=Created;Adopted
type ObjectOrigin string

const (
	// OriginCreated marks an object that the Application has created.
	OriginCreated ObjectOrigin = "Created"
	// OriginAdopted marks an object that was there before the Application took it over.
	OriginAdopted ObjectOrigin = "Adopted"
)

// SchemaOrigin says where an entry of the mangled observer schema is from.
//
// +kubebuilder:validation:Enum=User;Default;Fields
type SchemaOrigin string

const (
	// SchemaUser marks an entry that the user wrote.
	SchemaUser SchemaOrigin = "User"
	// SchemaDefault marks an entry that was derived from the manifest.
	SchemaDefault SchemaOrigin = "Default"
	// SchemaFields marks an entry that spec.fields, or a HoldProfile, makes, but for one that
	// only frees fields of the default schema, or gives them rules.
	SchemaFields SchemaOrigin = "Fields"
)

// AcceptedField is a leaf whose accepted form differs from the desired value.
type AcceptedField struct {
	Resource ResourceReference `json:"resource"`
	// Path of the leaf, for example
	// spec.template.spec.containers[name=web].resources.limits.cpu.
	Path string `json:"path"`
	// Desired is the value that was written.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Desired runtime.RawExtension `json:"desired"`
	// Accepted is what the API server made of it; not set if it dropped the
	// field.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Accepted *runtime.RawExtension `json:"accepted,omitempty"`
	// Dropped is true if the API server dropped the field, which most often
	// means a typing error.
	// +optional
	Dropped bool `json:"dropped,omitempty"`
	// Kept is true if the manifest has the field no longer, and the API server still has
	// the desired value after it was removed.
	// +optional
	Kept bool `json:"kept,omitempty"`
}

// ReportedField is a leaf that has drifted, and is not written: it is watched, or the
// Application only observes.
type ReportedField struct {
	Resource ResourceReference `json:"resource"`
	// Path of the field; empty for the object itself, which is not there.
	Path string `json:"path"`
	// Desired is the value of the manifest, Live the live value. Neither is set where there is
	// none, nor for values of Secrets.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Desired *runtime.RawExtension `json:"desired,omitempty"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Live *runtime.RawExtension `json:"live,omitempty"`
}

// ContestedField is a leaf that another client keeps changing back.
type ContestedField struct {
	Resource ResourceReference `json:"resource"`
	// Path of the field; empty for the object itself, which is deleted again and again.
	Path string `json:"path"`
	// Desired and Live are the two values. They are not set for values of Secrets.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Desired *runtime.RawExtension `json:"desired,omitempty"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Live *runtime.RawExtension `json:"live,omitempty"`
	// Manager is the field manager that wrote the leaf last.
	// +optional
	Manager string `json:"manager,omitempty"`
	// Corrections is how often the leaf was corrected since it is contested.
	Corrections int32 `json:"corrections"`
	// NextCorrection is when the leaf will be corrected again.
	NextCorrection metav1.Time `json:"nextCorrection"`
}
