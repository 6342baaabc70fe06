package hooks

import (
	"cmp"
	"io"
	"reflect"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Hooks are the extension points in the lifecycle of an Application and its resources. Each point has the
// name of its field. The effect of a listener's error is documented at the field, and in docs/hooks.md.
type Hooks struct {
	// Called to translate a source. An error marks the source as invalid.
	ApplicationToscaTranslation Point[*Translation]
	// Called when the manifests are known. An error marks the input as invalid.
	ApplicationMangling Point[*Mangling]
	// Called before the cluster is read. After an error the reconcile stops and is retried.
	ApplicationPreReconcile Point[*Lifecycle]
	// Called before the status is written. An error is reported, and the reconcile is retried.
	ApplicationPostReconcile Point[*ReconcileEvent]
	// Called before objects are deleted. After an error nothing is deleted, and the reconcile is retried.
	ApplicationPreDelete Point[*Lifecycle]
	// Called after the Application was released. An error is logged.
	ApplicationPostDelete Point[*Lifecycle]
	// Called before a request is sent. After an error it is not sent.
	ResourcePreCreate Point[*CreateEvent]
	ResourcePreUpdate Point[*ChangeEvent]
	ResourcePreDelete Point[*ChangeEvent]
	// Called after the response to a write, or when a watch delivers the object without a write. An error
	// is reported for the resource.
	ResourcePostCreate Point[*ObjectEvent]
	ResourcePostUpdate Point[*ObjectEvent]
	ResourceObserved   Point[*ObjectEvent]
	// Called after the object was deleted. An error is reported, and the point is called again.
	ResourcePostDelete Point[*ChangeEvent]
}

// New returns Hooks with all points and no listeners.
func New() *Hooks { return (&Hooks{}).And(nil) }

// And returns Hooks with the listeners of both, those of h first. Both h and other can be nil.
func (h *Hooks) And(other *Hooks) *Hooks {
	both := &Hooks{}
	// Reflection gives each point the name of its field, and a new field needs no code here.
	fields := reflect.ValueOf(both).Elem()
	for i := range fields.NumField() {
		joined := fields.Field(i).Addr().Interface().(point)
		for _, hooks := range []*Hooks{cmp.Or(h, &Hooks{}), cmp.Or(other, &Hooks{})} {
			joined.join(fields.Type().Field(i).Name, reflect.ValueOf(hooks).Elem().Field(i).Addr().Interface())
		}
	}
	return both
}

// Translation is the event of translating a source into manifests. Listeners after the one that sets
// Objects can change them.
type Translation struct {
	Application *v1alpha1.Application
	// Data is the template or archive. Name identifies it in errors. URL is its location, or empty if it
	// was not fetched.
	Data []byte
	Name string
	URL  string
	// Sensitive is true if the data come from a Secret. They must not be shown to users.
	Sensitive bool
	// Inputs are the values of the template's inputs, by name.
	Inputs map[string]Input
	// Objects, Outputs, Warnings and Digest are the results. Outputs contains the available outputs by name.
	Objects  []map[string]any
	Outputs  map[string]any
	Warnings []string
	Digest   string
}

// Input is the value of an input of a template.
type Input struct {
	// Value is a JSON value. It is ignored if Text is set.
	Value any
	// Text is an untyped value. The type of the input determines how it is parsed.
	Text *string
	// Sensitive values must not be shown to users.
	Sensitive bool
}

// Mangling is the event in which listeners change the objects of an Application, before these become the
// desired state. Everything that a listener adds or changes is observed. A listener replaces Objects and
// the contents it changes, and does not modify the given values.
type Mangling struct {
	Application *v1alpha1.Application
	Objects     []manifest.Object
	// Entries are the observer schemas of the objects before mangling, by identity. They must not be
	// changed; changes of hooks are added to them.
	Entries map[manifest.ID]*observer.Schema
	// Live contains the existing objects.
	Live     map[manifest.ID]map[string]any
	Warnings []string
}

// Lifecycle is the event of an Application without further data.
type Lifecycle struct {
	Application *v1alpha1.Application
}

// ReconcileEvent is the event after the resources of an Application were reconciled.
type ReconcileEvent struct {
	Application *v1alpha1.Application
	// Status is the status to write. Listeners can change it.
	Status *v1alpha1.ApplicationStatus
}

// CreateEvent is the event before a resource is created.
type CreateEvent struct {
	Application *v1alpha1.Application
	ID          manifest.ID
	// Object is the body of the create request. Listeners can change it; it is not shared.
	Object map[string]any
	// Random is the source of randomness for listeners.
	Random io.Reader
}

// ObjectEvent is the event of a live object: the response to a write, or an object that a watch delivered.
type ObjectEvent struct {
	Application *v1alpha1.Application
	ID          manifest.ID
	Entry       *observer.Schema
	// Type is the typed schema of its kind, or nil.
	Type *kinds.Node
	// Desired is the desired state, including learned values.
	Desired map[string]any
	// Manifest is the part of Desired that was not learned, or nil if it is unknown.
	Manifest map[string]any
	// Live is the object as the API server has it. Listeners must not change it.
	Live map[string]any
	// Observed, Address and Tokens are results: the observed part of the object, the address of a Service,
	// and the digests of the callback tokens in the Secret that contains them.
	Observed map[string]any
	Address  string
	Tokens   []string
}

// ChangeEvent is the event of a resource that is about to be patched or deleted, or was deleted.
type ChangeEvent struct {
	Application *v1alpha1.Application
	ID          manifest.ID
}
