package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Hooks are what an Application wants to be asked and told.
type Hooks struct {
	// Complete lets the workload say that its work is done.
	// +optional
	Complete *CompleteHook `json:"complete,omitempty"`
	// Shutdown lets the workload finish its work before it is deleted.
	// +optional
	Shutdown *ShutdownHook `json:"shutdown,omitempty"`
	// Reconcile lets whoever has the token in the Secret NAME-hooks ask for a
	// reconcile.
	// +optional
	Reconcile *ReconcileHook `json:"reconcile,omitempty"`
}

// ReconcileHook has no settings.
type ReconcileHook struct{}

// CompleteHook puts the address and the token of the callback into every Pod
// template of the Application.
type CompleteHook struct {
	// Action is what happens to the Application when its work is done.
	// +optional
	// +kubebuilder:default=Delete
	Action CompleteAction `json:"action,omitempty"`
	// URLVariable is the environment variable with the address. Unset:
	// HOLDFAST_COMPLETE_URL.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	URLVariable string `json:"urlVariable,omitempty"`
	// TokenVariable is the environment variable with the token. Unset:
	// HOLDFAST_COMPLETE_TOKEN.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	TokenVariable string `json:"tokenVariable,omitempty"`
}

// CompleteAction says what happens to an Application whose work is done.
//
// +kubebuilder:validation:Enum=Delete;Keep
type CompleteAction string

const (
	// CompleteDelete deletes the Application.
	CompleteDelete CompleteAction = "Delete"
	// CompleteKeep leaves it, with condition Completed.
	CompleteKeep CompleteAction = "Keep"
)

// ShutdownHook asks a Service of the Application to shut down before its
// resources are deleted. They are deleted when the workload has called back.
type ShutdownHook struct {
	// Service of this Application, in its namespace, that is called.
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Service string `json:"service"`
	// Port of the Service.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// Path that is called. Unset: /.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	Path string `json:"path,omitempty"`
	// Scheme is http or https; the certificate of https is verified.
	// +optional
	// +kubebuilder:default=http
	// +kubebuilder:validation:Enum=http;https
	Scheme string `json:"scheme,omitempty"`
	// GracePeriodSeconds is how long the workload may take to call back after
	// each attempt.
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`
	// Retries is how often the workload is called again if it does not call back.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Retries *int32 `json:"retries,omitempty"`
	// OnFailure is what happens after the last attempt: GiveUp leaves everything
	// as it is, Delete deletes it.
	// +optional
	// +kubebuilder:default=GiveUp
	OnFailure ShutdownFailure `json:"onFailure,omitempty"`
	// URLVariable is the environment variable with the address to call back.
	// Unset: HOLDFAST_SHUTDOWN_URL.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	URLVariable string `json:"urlVariable,omitempty"`
	// TokenVariable is the environment variable with the token. Unset:
	// HOLDFAST_SHUTDOWN_TOKEN.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	TokenVariable string `json:"tokenVariable,omitempty"`
}

// ShutdownFailure says what happens when the workload never calls back.
//
// +kubebuilder:validation:Enum=GiveUp;Delete
type ShutdownFailure string

const (
	// ShutdownGiveUp leaves everything in place, with condition Stalled.
	ShutdownGiveUp ShutdownFailure = "GiveUp"
	// ShutdownDelete deletes the resources all the same.
	ShutdownDelete ShutdownFailure = "Delete"
)

// HooksStatus is the state of the hooks. It survives restarts of the controller.
type HooksStatus struct {
	// Tokens are the SHA-256 digests, in hexadecimal, of the purposes and callback
	// tokens that are valid, newest first.
	// +optional
	// +listType=atomic
	Tokens []string `json:"tokens,omitempty"`
	// Shutdown is there while the Application is shutting down.
	// +optional
	Shutdown *ShutdownStatus `json:"shutdown,omitempty"`
}

// ShutdownStatus says how far the shutdown has come.
type ShutdownStatus struct {
	// Attempts is how often the workload was called.
	Attempts int32 `json:"attempts"`
	// LastAttempt is when it was called last.
	// +optional
	LastAttempt *metav1.Time `json:"lastAttempt,omitempty"`
	// LastError says why the last call failed, if it did.
	// +optional
	LastError string `json:"lastError,omitempty"`
}
