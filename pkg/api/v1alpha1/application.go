package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// An Application is a list of arbitrary manifests and the fields of them that
// are to be held.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=applications,scope=Namespaced,shortName=hfapp,categories=holdfast
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Resources",type=string,JSONPath=`.status.summary`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec ApplicationSpec `json:"spec"`
	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status ApplicationStatus `json:"status,omitempty"`

	// RecordedIn are the slices that the stored status names, once what they hold is in
	// its place. It is never stored.
	RecordedIn []string `json:"-"`
}

// ApplicationList is a list of Applications.
//
// +kubebuilder:object:root=true
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Application `json:"items"`
}

// ApplicationSpec is what the user wants.
//
// +kubebuilder:validation:XValidation:rule="(has(self.manifest) || has(self.select) ? 1 : 0) + (has(self.tosca) ? 1 : 0) + (has(self.csar) ? 1 : 0) == 1",message="exactly one of spec.manifest, spec.tosca and spec.csar must be set; spec.select may stand beside spec.manifest, or in its place"
type ApplicationSpec struct {
	// Manifest lists the objects of the Application, whole and of any kind. In place of
	// objects, an element may be {slices: [NAME, ...]}: these ApplicationSlices have a list
	// of objects, which too large a list is cut into by `holdfast submit`.
	// +optional
	// +listType=atomic
	Manifest []runtime.RawExtension `json:"manifest,omitzero"`

	// Tosca is a TOSCA template that is translated into manifests.
	// +optional
	Tosca *ToscaSource `json:"tosca,omitempty"`

	// CSAR is an archive with a TOSCA template that is translated into manifests.
	// +optional
	CSAR *CSARSource `json:"csar,omitempty"`

	// Select names many objects at once, which are another owner's, and a part of each that
	// is held: those that come are held, those that go, or are meant no longer, are let go.
	// It may stand beside manifest, or in its place.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Select []ObjectSelection `json:"select,omitempty"`

	// MaxObjects is how many objects spec.select may mean. If it means more, nothing is
	// written and nothing is let go. Unset: 1000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxObjects int32 `json:"maxObjects,omitempty"`

	// ObserverSchema names the fields to hold: one partial manifest per
	// resource, the word observed for each field, a control dictionary at the end of each
	// list. A resource without an entry is held in every field of its manifest. It may be in
	// slices, as manifest may.
	// +optional
	// +listType=atomic
	ObserverSchema []runtime.RawExtension `json:"observerSchema,omitempty"`

	// Fields says in paths what observerSchema spells out: which fields to hold, or to
	// leave free, of resources that have no entry there.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Fields []ResourceFields `json:"fields,omitempty"`

	// Hooks change what is applied and take part in the Application's life.
	// +optional
	Hooks *Hooks `json:"hooks,omitempty"`

	// ServiceAccountName is the ServiceAccount, in the namespace of the
	// Application, whose rights are used for every write. Empty: the
	// controller's --default-service-account.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Ownership says whose the objects are. Own, the default: they are the Application's,
	// which creates and deletes them. Share: they are another owner's, and fields of them are
	// held; nothing is created, nothing is deleted, and what a manifest does not set is
	// left alone. The annotation holdfast.dev/ownership of a manifest decides for its
	// object.
	// +optional
	Ownership Ownership `json:"ownership,omitempty"`

	// OnRelease says what becomes of fields that are held no longer, because they or the
	// object leave the manifests, or the Application goes. Restore, the default for shared
	// objects, gives them back what they had before, where nobody else has changed them
	// since; Leave, the default for owned ones, leaves them as they are. Of an owned object
	// it is about what was there before, and stays: what was adopted, and fields that a
	// schema or spec.fields has had held later.
	// +optional
	OnRelease ReleasePolicy `json:"onRelease,omitempty"`

	// Adoption says what to do about an object that already exists and is not
	// this Application's.
	// +optional
	// +kubebuilder:default=Never
	Adoption AdoptionPolicy `json:"adoption,omitempty"`

	// DeletionPolicy says what becomes of the resources when the Application is
	// deleted.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// AdoptedDeletionPolicy says what becomes of an object that was adopted, when it is
	// no longer desired or the Application is deleted: it was there before the
	// Application. With deletionPolicy Orphan nothing is deleted.
	// +optional
	// +kubebuilder:default=Orphan
	AdoptedDeletionPolicy DeletionPolicy `json:"adoptedDeletionPolicy,omitempty"`

	// Mode says what is done about objects that are not as they are desired. Hold, the
	// default: they are created, corrected and deleted. Observe: nothing of them is written,
	// not even marks; what differs, and what would be done, is told. A change of it is all
	// that turns the Application on.
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// Suspend stops every write for this Application until it is unset. Its
	// deletion is not stopped.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Interval is how often a source behind a URL is asked for changes, and the
	// Application looked at even though nothing has happened. Unset: the
	// controller's --source-interval and --resync-interval.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s')",message="must be at least 10s"
	Interval *metav1.Duration `json:"interval,omitempty"`

	// Retry says when a resource is tried again that could not be brought to its desired
	// state. It is not for errors of the whole Application, such as a status that cannot
	// be written: after these the controller waits 50ms, twice as long each time, up to
	// 5m.
	// +optional
	Retry *RetryPolicy `json:"retry,omitempty"`
}

// Mode says whether anything is written.
//
// +kubebuilder:validation:Enum=Hold;Observe
type Mode string

const (
	// ModeHold is that of an Application whose objects are held.
	ModeHold Mode = "Hold"
	// ModeObserve is that of one of which nothing is written but what it says itself.
	ModeObserve Mode = "Observe"
)

// AdoptionPolicy says when an existing object may be taken over.
//
// +kubebuilder:validation:Enum=Never;IfUnowned;Always
type AdoptionPolicy string

const (
	// AdoptNever refuses with reason ResourceConflict.
	AdoptNever AdoptionPolicy = "Never"
	// AdoptIfUnowned takes over objects that nobody else claims.
	AdoptIfUnowned AdoptionPolicy = "IfUnowned"
	// AdoptAlways takes over whatever has the name.
	AdoptAlways AdoptionPolicy = "Always"
)

// DeletionPolicy says what becomes of resources when their Application goes.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

const (
	// DeletionDelete deletes every resource in reverse order.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionOrphan leaves the resources as they are, without our marks.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// Ownership says whose an object is.
//
// +kubebuilder:validation:Enum=Own;Share
type Ownership string

const (
	// OwnershipOwn is that of objects that the Application creates and deletes.
	OwnershipOwn Ownership = "Own"
	// OwnershipShare is that of objects that are another owner's: fields of them are held,
	// and nothing is created or deleted.
	OwnershipShare Ownership = "Share"
)

// ReleasePolicy says what becomes of fields when they are held no
// longer.
//
// +kubebuilder:validation:Enum=Leave;Restore
type ReleasePolicy string

const (
	// ReleaseLeave leaves them as they are.
	ReleaseLeave ReleasePolicy = "Leave"
	// ReleaseRestore gives them back what they had before.
	ReleaseRestore ReleasePolicy = "Restore"
)

// RetryPolicy says when a resource is tried again that could not be brought to its
// desired state: after initialInterval first, then after multiplier times the wait
// before, up to maxInterval, each a little longer by chance.
type RetryPolicy struct {
	// InitialInterval is the first wait, at least 1s. Unset: 250ms, or 10s where rights are missing,
	// or 2m where only a user can help.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="must be at least 1s"
	InitialInterval *metav1.Duration `json:"initialInterval,omitempty"`
	// Multiplier is what each wait is multiplied with for the next. Unset: 2. With 1, no
	// wait is shorter than 1s.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Multiplier *int32 `json:"multiplier,omitempty"`
	// MaxInterval is the longest wait, at least 1s. Unset: 5m, or 16m where only a user can help.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="must be at least 1s"
	MaxInterval *metav1.Duration `json:"maxInterval,omitempty"`
	// MaxAttempts is how often a resource is tried before the Application is
	// Stalled, until something changes. 0: without limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxAttempts int32 `json:"maxAttempts,omitempty"`
}
