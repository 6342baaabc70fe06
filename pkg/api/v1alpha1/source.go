package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// ToscaSource is a TOSCA template, inline or behind a URL.
//
// +kubebuilder:validation:XValidation:rule="has(self.template) != has(self.url)",message="exactly one of template and url must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.sha256) || has(self.url)",message="sha256 requires url"
type ToscaSource struct {
	// Template is the template itself, as YAML.
	// +optional
	// +kubebuilder:validation:MaxLength=524288
	Template string `json:"template,omitempty"`
	// URL of the template.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// SHA256 is the expected digest of the downloaded template, in hexadecimal.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	SHA256 string `json:"sha256,omitempty"`

	Translation `json:",inline"`
}

// CSARSource is an archive, behind a URL or in a ConfigMap or Secret.
//
// +kubebuilder:validation:XValidation:rule="(has(self.url) ? 1 : 0) + (has(self.configMapRef) ? 1 : 0) + (has(self.secretRef) ? 1 : 0) == 1",message="exactly one of url, configMapRef and secretRef must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.sha256) || has(self.url)",message="sha256 requires url"
type CSARSource struct {
	// URL of the archive.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// SHA256 is the expected digest of the downloaded archive, in hexadecimal.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	SHA256 string `json:"sha256,omitempty"`
	// ConfigMapRef refers to a key in the binaryData of a ConfigMap in the same namespace.
	// +optional
	ConfigMapRef *KeyReference `json:"configMapRef,omitempty"`
	// SecretRef refers to a key of a Secret in the same namespace.
	// +optional
	SecretRef *KeyReference `json:"secretRef,omitempty"`

	Translation `json:",inline"`
}

// Translation configures the translation of a template.
type Translation struct {
	// Inputs contains the values of the template's inputs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Inputs *runtime.RawExtension `json:"inputs,omitempty"`
	// InputsFrom lists ConfigMaps and Secrets in the same namespace. Their keys are inputs, and each value
	// is read as YAML. Later items override earlier items, and inputs overrides all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	InputsFrom []InputsSource `json:"inputsFrom,omitempty"`
	// StrictConcat makes concat join its parts without changes: it inserts no space between a YAML key and
	// its value.
	// +optional
	StrictConcat bool `json:"strictConcat,omitempty"`
	// IgnoreForeignNodes ignores node templates that are not Kubernetes objects, and requirements on them,
	// with a warning.
	// +optional
	IgnoreForeignNodes bool `json:"ignoreForeignNodes,omitempty"`
}

// InputsSource refers to an object whose keys are inputs.
//
// +kubebuilder:validation:XValidation:rule="has(self.configMapRef) != has(self.secretRef)",message="exactly one of configMapRef and secretRef must be set"
type InputsSource struct {
	// +optional
	ConfigMapRef *ObjectReference `json:"configMapRef,omitempty"`
	// +optional
	SecretRef *ObjectReference `json:"secretRef,omitempty"`
}

// ObjectReference refers to an object in the same namespace.
type ObjectReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// KeyReference refers to a key of an object in the same namespace.
type KeyReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the data of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}
