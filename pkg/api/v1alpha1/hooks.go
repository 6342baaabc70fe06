package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Hooks connect the workload of an Application to its lifecycle.
type Hooks struct {
	// Complete lets the workload report that its work is done.
	// +optional
	Complete *CompleteHook `json:"complete,omitempty"`
	// Shutdown lets the workload finish its work before it is deleted.
	// +optional
	Shutdown *ShutdownHook `json:"shutdown,omitempty"`
	// Reconcile lets a client with the token in the Secret NAME-hooks request a reconcile.
	// +optional
	Reconcile *ReconcileHook `json:"reconcile,omitempty"`
}

// ReconcileHook has no settings.
type ReconcileHook struct{}

// CompleteHook adds the URL and the token of the callback to every Pod template of the Application.
type CompleteHook struct {
	// Action specifies what happens to the Application when its work is done.
	// +optional
	// +kubebuilder:default=Delete
	Action CompleteAction `json:"action,omitempty"`
	// URLVariable is the environment variable that contains the callback URL. Unset: HOLDFAST_COMPLETE_URL.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	URLVariable string `json:"urlVariable,omitempty"`
	// TokenVariable is the environment variable that contains the token. Unset: HOLDFAST_COMPLETE_TOKEN.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	TokenVariable string `json:"tokenVariable,omitempty"`
}

// CompleteAction specifies what happens to an Application whose work is done.
//
// +kubebuilder:validation:Enum=Delete;Keep
type CompleteAction string

const (
	// CompleteDelete: the controller deletes the Application.
	CompleteDelete CompleteAction = "Delete"
	// CompleteKeep: the controller keeps the Application and sets condition Completed.
	CompleteKeep CompleteAction = "Keep"
)

// ShutdownHook calls a Service of the Application before its resources are deleted. The controller deletes
// them after the workload has called back.
type ShutdownHook struct {
	// Service of this Application to call, in the Application's namespace.
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Service string `json:"service"`
	// Port of the Service.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// Path to call. Unset: /.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	Path string `json:"path,omitempty"`
	// Scheme is http or https. With https, the controller verifies the certificate.
	// +optional
	// +kubebuilder:default=http
	// +kubebuilder:validation:Enum=http;https
	Scheme string `json:"scheme,omitempty"`
	// GracePeriodSeconds is the time that the workload has to call back after each attempt.
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`
	// Retries is how often the controller repeats the call if the workload does not call back.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Retries *int32 `json:"retries,omitempty"`
	// OnFailure specifies what happens after the last attempt. GiveUp keeps all resources; Delete deletes
	// them.
	// +optional
	// +kubebuilder:default=GiveUp
	OnFailure ShutdownFailure `json:"onFailure,omitempty"`
	// URLVariable is the environment variable that contains the callback URL. Unset: HOLDFAST_SHUTDOWN_URL.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	URLVariable string `json:"urlVariable,omitempty"`
	// TokenVariable is the environment variable that contains the token. Unset: HOLDFAST_SHUTDOWN_TOKEN.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	TokenVariable string `json:"tokenVariable,omitempty"`
}

// ShutdownFailure specifies what happens if the workload never calls back.
//
// +kubebuilder:validation:Enum=GiveUp;Delete
type ShutdownFailure string

const (
	// ShutdownGiveUp: the controller keeps all resources, and sets condition Stalled.
	ShutdownGiveUp ShutdownFailure = "GiveUp"
	// ShutdownDelete: the controller deletes the resources.
	ShutdownDelete ShutdownFailure = "Delete"
)

// HooksStatus is the state of the hooks. It survives restarts of the controller.
type HooksStatus struct {
	// Tokens lists the SHA-256 digests, in hexadecimal, of the purposes and callback tokens that are valid,
	// newest first.
	// +optional
	// +listType=atomic
	Tokens []string `json:"tokens,omitempty"`
	// Shutdown is set while the Application is shutting down.
	// +optional
	Shutdown *ShutdownStatus `json:"shutdown,omitempty"`
	// Listeners lists the hooks in the program of the controller that can change the manifests. Other
	// programs, such as holdfast, do not have them.
	// +optional
	// +listType=atomic
	Listeners []string `json:"listeners,omitempty"`
}

// ShutdownStatus is the progress of the shutdown.
type ShutdownStatus struct {
	// Attempts is how often the controller called the workload.
	Attempts int32 `json:"attempts"`
	// LastAttempt is the time of the last call.
	// +optional
	LastAttempt *metav1.Time `json:"lastAttempt,omitempty"`
	// LastError is the error of the last call, if it failed.
	// +optional
	LastError string `json:"lastError,omitempty"`
}
