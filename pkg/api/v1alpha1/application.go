package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// An Application is a list of arbitrary manifests. The controller holds fields of the objects that they
// describe.
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

	// RecordedIn lists the slices that the stored status names, after their content was merged into this
	// status. It is never stored.
	RecordedIn []string `json:"-"`
	// Unknown lists the fields and values of the spec that this version does not know: see DecodeApplication.
	Unknown []string `json:"-"`
}

// ApplicationList is a list of Applications.
//
// +kubebuilder:object:root=true
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Application `json:"items"`
}

// ApplicationSpec is the desired state of an Application.
//
// +kubebuilder:validation:XValidation:rule="(has(self.manifest) || has(self.select) ? 1 : 0) + (has(self.tosca) ? 1 : 0) + (has(self.csar) ? 1 : 0) == 1",message="exactly one of spec.manifest, spec.tosca and spec.csar must be set; spec.select can be set with spec.manifest or instead of it"
type ApplicationSpec struct {
	// Manifest lists the objects of the Application, each a complete manifest of any kind. In place of an
	// object, an element can be {slices: [NAME, ...]}. These ApplicationSlices then contain a list of
	// objects. `holdfast submit` splits a list into slices if it is too large for one object.
	// +optional
	// +listType=atomic
	Manifest []runtime.RawExtension `json:"manifest,omitzero"`

	// Tosca is a TOSCA template. The controller translates it into manifests.
	// +optional
	Tosca *ToscaSource `json:"tosca,omitempty"`

	// CSAR is an archive with a TOSCA template. The controller translates the template into manifests.
	// +optional
	CSAR *CSARSource `json:"csar,omitempty"`

	// Select matches many objects that other owners created, and lists the fields to hold in each of them.
	// The controller holds these fields in every object that starts to match. It releases the fields of an
	// object that no longer matches. Select can be set together with manifest, or instead of it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Select []ObjectSelection `json:"select,omitempty"`

	// MaxObjects limits how many objects spec.select can match. If it matches more, the controller writes
	// nothing and releases nothing. Unset: 1000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxObjects int32 `json:"maxObjects,omitempty"`

	// ObserverSchema names the fields to hold. Each element is a partial manifest of one resource, with the
	// word "observed" as the value of each field and a control dictionary at the end of each list. If a
	// resource has no schema here, the controller holds every field of its manifest. The list can be in
	// slices, as manifest can.
	// +optional
	// +listType=atomic
	ObserverSchema []runtime.RawExtension `json:"observerSchema,omitempty"`

	// Fields lists the fields to hold or to release by their paths. For a resource with a schema in
	// observerSchema, the paths change that schema.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Fields []ResourceFields `json:"fields,omitempty"`

	// Hooks change the manifests before they are applied, and connect the workload to the completion and
	// the shutdown of the Application.
	// +optional
	Hooks *Hooks `json:"hooks,omitempty"`

	// ServiceAccountName is the ServiceAccount, in the namespace of the Application, that the controller
	// impersonates for every write. Empty: the controller's --default-service-account.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Ownership specifies whether the Application owns its objects or shares them. Own, the default: the
	// Application creates and deletes the objects. Share: another owner creates and deletes them, and the
	// Application holds fields of them. Fields that a shared object's manifest does not set are free. The
	// annotation holdfast.dev/ownership in a manifest overrides this for its object.
	// +optional
	Ownership Ownership `json:"ownership,omitempty"`

	// OnRelease specifies what happens to fields when the Application releases them. It releases fields
	// when they or their object leave the manifests, and when the Application is deleted. Restore, the
	// default for shared objects, writes the original values, unless another client has changed the fields
	// since. Leave, the default for owned objects, keeps the live values. For owned objects that are not
	// deleted, Restore covers the fields of adopted objects, and fields that a schema or spec.fields added
	// after the object was created.
	// +optional
	OnRelease ReleasePolicy `json:"onRelease,omitempty"`

	// Adoption specifies what to do with an object that already exists and does not belong to this
	// Application.
	// +optional
	// +kubebuilder:default=Never
	Adoption AdoptionPolicy `json:"adoption,omitempty"`

	// DeletionPolicy specifies what happens to the resources when the Application is deleted.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// AdoptedDeletionPolicy specifies what happens to an adopted object when it is no longer desired or the
	// Application is deleted. Such an object existed before the Application. With deletionPolicy Orphan,
	// nothing is deleted.
	// +optional
	// +kubebuilder:default=Orphan
	AdoptedDeletionPolicy DeletionPolicy `json:"adoptedDeletionPolicy,omitempty"`

	// MaxDeletions limits how many objects the controller deletes, or restores if they are shared, because
	// they are no longer desired. It is a number, or a percentage of the objects before the change. If a
	// change would delete more, the controller deletes nothing until you confirm it with the annotation
	// holdfast.dev/confirm-deletions. 0: each deletion needs a confirmation. 100%: there is no limit. Unset:
	// 5 or 50%, whichever is more. An empty spec.manifest always needs a confirmation. MaxDeletions does not
	// apply to the deletion of the Application.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(100|[0-9]{1,2})%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0",message="must be at least 0"
	MaxDeletions *intstr.IntOrString `json:"maxDeletions,omitempty"`

	// HealthCheckExprs decides the health of objects by expressions, in the format of Flux. They replace the
	// built-in expressions for their kinds, and kstatus. A new object waits for those in earlier stages
	// that have expressions here.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	HealthCheckExprs []HealthCheck `json:"healthCheckExprs,omitempty"`

	// Mode specifies whether the controller writes to the objects. Hold, the default: it creates, corrects
	// and deletes them. Observe: it writes nothing to them, not even tracking metadata. It reports drift,
	// and the changes that it would make. To start holding the objects, change only this field.
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// Suspend stops every write for this Application until it is unset. It does not stop the deletion of
	// the Application.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Interval is how often the controller checks a source behind a URL for changes, and how often it
	// reconciles the Application without another trigger. Unset: the controller's --source-interval and
	// --resync-interval.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s')",message="must be at least 10s"
	Interval *metav1.Duration `json:"interval,omitempty"`

	// Retry configures the retries of a resource that has not reached its desired state. It does not apply
	// to errors of the whole Application, such as a failed status update. After those, the controller waits
	// 50ms, then twice as long each time, up to 5m.
	// +optional
	Retry *RetryPolicy `json:"retry,omitempty"`
}

// Mode specifies whether the controller writes to the objects of an Application.
//
// +kubebuilder:validation:Enum=Hold;Observe
type Mode string

const (
	// ModeHold: the controller creates, corrects and deletes the objects.
	ModeHold Mode = "Hold"
	// ModeObserve: the controller writes only the Application's status, and reports drift.
	ModeObserve Mode = "Observe"
)

// AdoptionPolicy specifies when the Application can adopt an existing object.
//
// +kubebuilder:validation:Enum=Never;IfUnowned;Always
type AdoptionPolicy string

const (
	// AdoptNever: the controller does not adopt the object, and reports reason ResourceConflict.
	AdoptNever AdoptionPolicy = "Never"
	// AdoptIfUnowned: the controller adopts an object that has no other owner.
	AdoptIfUnowned AdoptionPolicy = "IfUnowned"
	// AdoptAlways: the controller adopts any object with the name, even if it has another owner.
	AdoptAlways AdoptionPolicy = "Always"
)

// DeletionPolicy specifies what happens to the resources when their Application is deleted.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

const (
	// DeletionDelete: the controller deletes every resource, in the reverse order of creation.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionOrphan: the controller removes its tracking metadata, and keeps the resources otherwise
	// unchanged.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// Ownership specifies whether the Application owns an object or shares it.
//
// +kubebuilder:validation:Enum=Own;Share
type Ownership string

const (
	// OwnershipOwn: the Application creates and deletes the object.
	OwnershipOwn Ownership = "Own"
	// OwnershipShare: another owner creates and deletes the object, and the Application holds fields of it.
	OwnershipShare Ownership = "Share"
)

// ReleasePolicy specifies what happens to a field when the Application releases it.
//
// +kubebuilder:validation:Enum=Leave;Restore
type ReleasePolicy string

const (
	// ReleaseLeave: the field keeps its live value.
	ReleaseLeave ReleasePolicy = "Leave"
	// ReleaseRestore: the controller writes the original value.
	ReleaseRestore ReleasePolicy = "Restore"
)

// RetryPolicy configures the retries of a resource that has not reached its desired state. The first wait
// is initialInterval. Each further wait is the previous one times multiplier, up to maxInterval. The
// controller adds a small random delay to each wait.
type RetryPolicy struct {
	// InitialInterval is the first wait, at least 1s. Unset: 250ms; 10s if a permission is missing; 2m if a
	// user must intervene.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="must be at least 1s"
	InitialInterval *metav1.Duration `json:"initialInterval,omitempty"`
	// Multiplier is the factor between one wait and the next. Unset: 2. With 1, no wait is shorter than 1s.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Multiplier *int32 `json:"multiplier,omitempty"`
	// MaxInterval is the longest wait, at least 1s. Unset: 5m; 16m if a user must intervene.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="must be at least 1s"
	MaxInterval *metav1.Duration `json:"maxInterval,omitempty"`
	// MaxAttempts is the number of attempts for a resource before the Application is Stalled, until
	// something changes. 0: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxAttempts int32 `json:"maxAttempts,omitempty"`
}
