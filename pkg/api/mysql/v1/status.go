package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MysqlStatus says how the database is.
type MysqlStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks
	// of; -1 until the controller has seen the Mysql.
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Ready reports whether the database can be used: one replica of one is ready,
	// and its Service and Secret are there.
	// +optional
	Ready bool `json:"ready"`

	// Conditions are StatefulSet, Service and Secret with status AVAILABLE,
	// CREATING or MISSING; Ready with True or False; and Stalled, with True, while
	// only a user can help.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []Condition `json:"conditions,omitempty"`

	// Connection is how clients reach the database.
	// +optional
	Connection *Connection `json:"connection,omitempty"`
}

// Connection is how clients reach a database. Its credentials are in a Secret.
type Connection struct {
	// Host is the name of the client Service, for every namespace.
	Host string `json:"host"`
	// Port of the Service.
	Port int32 `json:"port"`
	// SecretName is the Secret with host, port, database, username, password and
	// root-password, in the namespace of the Mysql.
	SecretName string `json:"secretName"`
}

// A Condition says one thing about a Mysql.
type Condition struct {
	// +kubebuilder:validation:MaxLength=316
	Type string `json:"type"`
	// +kubebuilder:validation:Enum=AVAILABLE;CREATING;MISSING;"True";"False";Unknown
	Status ConditionStatus `json:"status"`
	// LastTransitionTime is when the status changed last.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	// Reason for the status, in one word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message for people.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`
}

// ConditionStatus is the status of a Condition.
type ConditionStatus string

// Statuses of the conditions about objects.
const (
	// Available: the object is there and does its work.
	Available ConditionStatus = "AVAILABLE"
	// Creating: the object is there and not ready yet.
	Creating ConditionStatus = "CREATING"
	// Missing: there is no such object.
	Missing ConditionStatus = "MISSING"
)

// Statuses of Ready and Stalled.
const (
	True  ConditionStatus = "True"
	False ConditionStatus = "False"
)

// Types of conditions.
const (
	// ConditionStatefulSet is about the StatefulSet, ConditionService about the
	// Service of clients, ConditionSecret about the Secret.
	ConditionStatefulSet = "StatefulSet"
	ConditionService     = "Service"
	ConditionSecret      = "Secret"
	// ConditionReady is true when the database can be used and is as the spec
	// says.
	ConditionReady = "Ready"
	// ConditionStalled is there, and true, while only a user can help.
	ConditionStalled = "Stalled"
)
