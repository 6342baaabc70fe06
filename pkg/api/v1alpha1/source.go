package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// ToscaSource is a TOSCA template, inline or behind a URL.
//
// +kubebuilder:validation:XValidation:rule="has(self.template) != has(self.url)",message="exactly one of template and url must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.sha256) || has(self.url)",message="sha256 is for a url"
type ToscaSource struct {
	// Template is the template itself, as YAML text.
	// +optional
	// +kubebuilder:validation:MaxLength=524288
	Template string `json:"template,omitempty"`
	// URL is where the template is fetched from.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// SHA256 is the digest that what is fetched must have, in hexadecimal.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	SHA256 string `json:"sha256,omitempty"`

	Translation `json:",inline"`
}

// CSARSource is an archive, behind a URL or in a ConfigMap or Secret.
//
// +kubebuilder:validation:XValidation:rule="(has(self.url) ? 1 : 0) + (has(self.configMapRef) ? 1 : 0) + (has(self.secretRef) ? 1 : 0) == 1",message="exactly one of url, configMapRef and secretRef must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.sha256) || has(self.url)",message="sha256 is for a url"
type CSARSource struct {
	// URL is where the archive is fetched from.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// SHA256 is the digest that what is fetched must have, in hexadecimal.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	SHA256 string `json:"sha256,omitempty"`
	// ConfigMapRef names a key of a ConfigMap's binaryData in the same namespace.
	// +optional
	ConfigMapRef *KeyReference `json:"configMapRef,omitempty"`
	// SecretRef names a key of a Secret in the same namespace.
	// +optional
	SecretRef *KeyReference `json:"secretRef,omitempty"`

	Translation `json:",inline"`
}

// Translation is what a template is translated with.
type Translation struct {
	// Inputs are the values of the template's inputs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Inputs *runtime.RawExtension `json:"inputs,omitempty"`
	// InputsFrom names ConfigMaps and Secrets in the same namespace whose keys
	// are inputs, each value read as YAML. Later ones win over earlier ones, and
	// inputs win over all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	InputsFrom []InputsSource `json:"inputsFrom,omitempty"`
	// StrictConcat makes concat join its parts as they are: no space is put
	// between a YAML key and its value.
	// +optional
	StrictConcat bool `json:"strictConcat,omitempty"`
	// IgnoreForeignNodes leaves out node templates that are no Kubernetes
	// objects, and requirements on them, with a warning.
	// +optional
	IgnoreForeignNodes bool `json:"ignoreForeignNodes,omitempty"`
}

// InputsSource names an object whose keys are inputs.
//
// +kubebuilder:validation:XValidation:rule="has(self.configMapRef) != has(self.secretRef)",message="exactly one of configMapRef and secretRef must be set"
type InputsSource struct {
	// +optional
	ConfigMapRef *ObjectReference `json:"configMapRef,omitempty"`
	// +optional
	SecretRef *ObjectReference `json:"secretRef,omitempty"`
}

// ObjectReference names an object in the same namespace.
type ObjectReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// KeyReference names a key of an object in the same namespace.
type KeyReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in its data.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}
