package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// A Mysql is one MySQL server with a volume, an address and credentials.
//
// Its name is that of its StatefulSet, client Service and Secret. It has at most
// 52 characters, because Kubernetes puts the name of a StatefulSet, with a hash
// of 11, into a label of its Pods.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="holdfast.dev/optional=mysql"
// +kubebuilder:resource:path=mysqls,scope=Namespaced,singular=mysql,categories=holdfast
// +kubebuilder:printcolumn:name="storage",type=string,JSONPath=`.spec.storage`,description="Storage capacity allocated"
// +kubebuilder:printcolumn:name="memory",type=string,JSONPath=`.spec.memory`,description="Memory allocated"
// +kubebuilder:printcolumn:name="cpu",type=string,JSONPath=`.spec.cpu`,description="CPU millis allocated"
// +kubebuilder:printcolumn:name="ready",type=string,JSONPath=`.status.ready`,description="Is MySql resource ready"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Version",type=string,priority=1,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="metadata.name must have at most 52 characters: it becomes part of a label of the Pod"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a name for a Service: lower-case letters, digits and '-', a letter first"
type Mysql struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:default:={}
	// +optional
	Spec MysqlSpec `json:"spec,omitempty"`
	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status MysqlStatus `json:"status,omitempty"`
}

// MysqlList is a list of Mysqls.
//
// +kubebuilder:object:root=true
type MysqlList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Mysql `json:"items"`
}

// MysqlSpec is the database that the user wants.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="spec.storageClassName cannot change: a volume stays in its class"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || !has(oldSelf.database) || self.database == oldSelf.database",message="spec.database cannot change: make another one by SQL"
type MysqlSpec struct {
	// CPU that the server is given, request and limit, as a quantity: 250m, 2.
	// At least 10m.
	// +optional
	// +kubebuilder:default="500m"
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(self)",message="must be a quantity such as 250m or 2"
	// +kubebuilder:validation:XValidation:rule="!isQuantity(self) || quantity(self).compareTo(quantity('10m')) >= 0",message="must be at least 10m"
	CPU string `json:"cpu,omitempty"`

	// Memory that the server is given, request and limit, as a quantity: 512Mi,
	// 4Gi. The buffers of InnoDB are sized by it. At least 128Mi.
	// +optional
	// +kubebuilder:default="512Mi"
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(self)",message="must be a quantity such as 512Mi or 4Gi"
	// +kubebuilder:validation:XValidation:rule="!isQuantity(self) || quantity(self).compareTo(quantity('128Mi')) >= 0",message="must be at least 128Mi"
	Memory string `json:"memory,omitempty"`

	// Storage is the size of the volume, as a quantity: 10Gi. It can grow where
	// its class lets volumes expand, and never shrinks. At least 256Mi.
	// +optional
	// +kubebuilder:default="1Gi"
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(self)",message="must be a quantity such as 1Gi"
	// +kubebuilder:validation:XValidation:rule="!isQuantity(self) || quantity(self).compareTo(quantity('256Mi')) >= 0",message="must be at least 256Mi"
	Storage string `json:"storage,omitempty"`

	// Version is the tag of the official image, docker.io/library/mysql.
	// +optional
	// +kubebuilder:default="8.4"
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`
	Version string `json:"version,omitempty"`

	// Database that is created, and on which the user "app" has all rights.
	// +optional
	// +kubebuilder:default="app"
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]{1,64}$`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['mysql', 'sys', 'information_schema', 'performance_schema'])",message="is a database of the server itself"
	Database string `json:"database,omitempty"`

	// Configuration has lines of my.cnf for the section [mysqld]. They come after
	// those that Mysql makes itself, and so prevail.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Configuration string `json:"configuration,omitempty"`

	// StorageClassName is the class of the volume. Unset: the cluster's default;
	// "" for a volume that was made by hand.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	StorageClassName *string `json:"storageClassName,omitempty"`

	// ServiceAccountName is the ServiceAccount, in the namespace of the Mysql,
	// with whose rights its objects are written. Unset: the controller's
	// --default-service-account.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// DeletionPolicy says what becomes of the volume, and of the Secret with the
	// credentials, when the Mysql is deleted.
	// +optional
	// +kubebuilder:default=Keep
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DeletionPolicy says what becomes of a volume when its Mysql goes.
//
// +kubebuilder:validation:Enum=Keep;Delete
type DeletionPolicy string

const (
	// DeletionKeep leaves the volume and the Secret. A Mysql that is made again
	// under the same name takes them over.
	DeletionKeep DeletionPolicy = "Keep"
	// DeletionDelete deletes them with the rest.
	DeletionDelete DeletionPolicy = "Delete"
)
