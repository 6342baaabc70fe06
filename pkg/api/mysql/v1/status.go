package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MysqlStatus is the state of the database.
type MysqlStatus struct {
	// ObservedGeneration is the generation of the spec that this status describes; -1 until the controller
	// has reconciled the Mysql.
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Ready is true if clients can use the database: its one replica is ready, and its Service and Secret
	// exist.
	// +optional
	Ready bool `json:"ready"`

	// Version is the version of the server that last accepted connections, as a tag of the image. MySQL does
	// not return to an earlier series than that.
	// +optional
	Version string `json:"version,omitempty"`

	// Conditions: StatefulSet, Service and Secret have status AVAILABLE, CREATING or MISSING. Ready is True
	// or False. Stalled is set, with status True, while a user must intervene.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []Condition `json:"conditions,omitempty"`

	// Connection contains the connection details for clients.
	// +optional
	Connection *Connection `json:"connection,omitempty"`
}

// Connection contains the connection details of a database. The credentials are in a Secret.
type Connection struct {
	// Host is the DNS name of the client Service. It works in every namespace.
	Host string `json:"host"`
	// Port of the Service.
	Port int32 `json:"port"`
	// SecretName is the Secret with host, port, database, username, password and root-password, in the
	// namespace of the Mysql.
	SecretName string `json:"secretName"`
}

// A Condition is one aspect of the state of a Mysql.
type Condition struct {
	// +kubebuilder:validation:MaxLength=316
	Type string `json:"type"`
	// +kubebuilder:validation:Enum=AVAILABLE;CREATING;MISSING;"True";"False";Unknown
	Status ConditionStatus `json:"status"`
	// LastTransitionTime is when the status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	// Reason is the cause of the status, in one word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message describes the status for users.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`
}

// ConditionStatus is the status of a Condition.
type ConditionStatus string

// Statuses of the conditions about objects.
const (
	// Available: the object exists and is ready.
	Available ConditionStatus = "AVAILABLE"
	// Creating: the object exists and is not ready yet.
	Creating ConditionStatus = "CREATING"
	// Missing: the object does not exist.
	Missing ConditionStatus = "MISSING"
)

// Statuses of Ready and Stalled.
const (
	True  ConditionStatus = "True"
	False ConditionStatus = "False"
)

// Types of conditions.
const (
	// ConditionStatefulSet is the state of the StatefulSet, ConditionService of the client Service,
	// ConditionSecret of the Secret.
	ConditionStatefulSet = "StatefulSet"
	ConditionService     = "Service"
	ConditionSecret      = "Secret"
	// ConditionReady is true if clients can use the database and it matches the spec.
	ConditionReady = "Ready"
	// ConditionStalled is set, with status True, while a user must intervene.
	ConditionStalled = "Stalled"
)
