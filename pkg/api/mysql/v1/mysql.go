package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// A Mysql is one MySQL server with a volume, an address and credentials.
//
// Its StatefulSet, client Service and Secret have the same name. The name has at most 52 characters,
// because Kubernetes puts the name of a StatefulSet, with a hash of 11 characters, into a label of its
// Pods.
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
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a valid name of a Service: lower-case letters, digits and '-', beginning with a letter"
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

// MysqlSpec is the desired state of the database.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="spec.storageClassName is immutable: a volume cannot change its class"
// +kubebuilder:validation:XValidation:rule="!has(self.database) || !has(oldSelf.database) || self.database == oldSelf.database",message="spec.database is immutable: create another database with SQL"
type MysqlSpec struct {
	// CPU is the CPU request and limit of the server, as a quantity: 250m, 2. At least 10m.
	// +optional
	// +kubebuilder:default="500m"
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(self)",message="must be a quantity such as 250m or 2"
	// +kubebuilder:validation:XValidation:rule="!isQuantity(self) || quantity(self).compareTo(quantity('10m')) >= 0",message="must be at least 10m"
	CPU string `json:"cpu,omitempty"`

	// Memory is the memory request and limit of the server, as a quantity: 512Mi, 4Gi. It determines the
	// size of the InnoDB buffers. At least 128Mi.
	// +optional
	// +kubebuilder:default="512Mi"
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(self)",message="must be a quantity such as 512Mi or 4Gi"
	// +kubebuilder:validation:XValidation:rule="!isQuantity(self) || quantity(self).compareTo(quantity('128Mi')) >= 0",message="must be at least 128Mi"
	Memory string `json:"memory,omitempty"`

	// Storage is the size of the volume, as a quantity: 10Gi. It can grow if the StorageClass allows volume
	// expansion, and can never shrink. At least 256Mi.
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

	// Database is the name of the database to create. The user "app" has all privileges on it.
	// +optional
	// +kubebuilder:default="app"
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]{1,64}$`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['mysql', 'sys', 'information_schema', 'performance_schema'])",message="must not be a system database of the server"
	Database string `json:"database,omitempty"`

	// Configuration contains lines of my.cnf for the section [mysqld]. They follow the generated lines, and
	// take precedence.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Configuration string `json:"configuration,omitempty"`

	// StorageClassName is the StorageClass of the volume. Unset: the cluster's default. Set "" to use a
	// volume that you created yourself.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	StorageClassName *string `json:"storageClassName,omitempty"`

	// ServiceAccountName is the ServiceAccount, in the namespace of the Mysql, that the controller
	// impersonates to write the objects. Unset: the controller's --default-service-account.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// DeletionPolicy specifies what happens to the volume, and to the Secret with the credentials, when the
	// Mysql is deleted.
	// +optional
	// +kubebuilder:default=Keep
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DeletionPolicy specifies what happens to the volume and the Secret when their Mysql is deleted.
//
// +kubebuilder:validation:Enum=Keep;Delete
type DeletionPolicy string

const (
	// DeletionKeep keeps the volume and the Secret. A new Mysql with the same name uses them again.
	DeletionKeep DeletionPolicy = "Keep"
	// DeletionDelete deletes the volume and the Secret, too.
	DeletionDelete DeletionPolicy = "Delete"
)
