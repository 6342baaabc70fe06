package hooks

import (
	"io"
	"reflect"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Hooks are the points in the life of an Application and its resources. Each is called
// by the name of its field; what an error of a listener does is said beside it, and in
// docs/hooks.md.
type Hooks struct {
	// A source is translated. An error refuses it.
	ApplicationToscaTranslation Point[*Translation]
	// The manifests are known. An error refuses the input.
	ApplicationMangling Point[*Mangling]
	// Before anything is looked up. After an error nothing is done; it is tried again.
	ApplicationPreReconcile Point[*Lifecycle]
	// The status is about to be written. An error is reported, and tried again.
	ApplicationPostReconcile Point[*Reconciled]
	// Before anything is deleted. After an error nothing is; it is tried again.
	ApplicationPreDelete Point[*Lifecycle]
	// The Application has been let go. An error is logged.
	ApplicationPostDelete Point[*Lifecycle]
	// Before a request is sent. After an error it is not.
	ResourcePreCreate Point[*Creating]
	ResourcePreUpdate Point[*Changing]
	ResourcePreDelete Point[*Changing]
	// The response is there; or a watch shows the object, and nothing was sent. An error
	// is reported for the resource.
	ResourcePostCreate Point[*Seen]
	ResourcePostUpdate Point[*Seen]
	ResourceObserved   Point[*Seen]
	// The object is gone. An error is reported, and the point called again.
	ResourcePostDelete Point[*Changing]
}

// New has all points, and no listeners.
func New() *Hooks { return (&Hooks{}).And(nil) }

// And has the listeners of both, those of h first. Either may be nil.
func (h *Hooks) And(other *Hooks) *Hooks {
	both := &Hooks{}
	fields := reflect.ValueOf(both).Elem()
	for i := range fields.NumField() {
		joined := fields.Field(i).Addr().Interface().(point)
		joined.called(fields.Type().Field(i).Name)
		for _, hooks := range []*Hooks{h, other} {
			if hooks != nil {
				joined.join(reflect.ValueOf(hooks).Elem().Field(i).Addr().Interface())
			}
		}
	}
	return both
}

// Translation turns a source into manifests. Once a listener has set Objects,
// those after it may change them.
type Translation struct {
	Application *v1alpha1.Application
	// Data is the template or archive, Name what errors call it, URL where it was
	// fetched from, if it was.
	Data []byte
	Name string
	URL  string
	// Sensitive data are those of a Secret: nobody is told of them.
	Sensitive bool
	// Inputs are the values of the template's inputs.
	Inputs map[string]Input
	// Objects, Outputs, Warnings and Digest are the result.
	Objects  []map[string]any
	Outputs  map[string]any
	Warnings []string
	Digest   string
}

// Input is the value of an input of a template.
type Input struct {
	// Value is a JSON value. It is not used if Text is.
	Value any
	// Text has no type yet: that of the input decides how it is read.
	Text *string
	// Sensitive values are not told to anybody.
	Sensitive bool
}

// Mangling changes the objects of an Application before they are desired. What a
// listener adds or changes is observed. It replaces Objects and the contents it
// changes; it does not change what it was given.
type Mangling struct {
	Application *v1alpha1.Application
	Objects     []manifest.Object
	// Entries are the observer schemas of the objects as they were first, by
	// identity. They are not changed: what hooks do is added to them.
	Entries map[manifest.ID]*observer.Entry
	// Live has the objects that exist.
	Live     map[manifest.ID]map[string]any
	Warnings []string
}

// Lifecycle is an Application at a point of its life.
type Lifecycle struct {
	Application *v1alpha1.Application
}

// Reconciled is an Application whose resources were brought to their desired
// state as far as possible.
type Reconciled struct {
	Application *v1alpha1.Application
	// Status is about to be written; listeners may change it.
	Status *v1alpha1.ApplicationStatus
}

// Creating is a resource that is about to be created.
type Creating struct {
	Application *v1alpha1.Application
	ID          manifest.ID
	// Object is the body of the create. Listeners may change it; it is nobody
	// else's.
	Object map[string]any
	// Random is where listeners get randomness from.
	Random io.Reader
}

// Seen is a live object of an Application: the response to a write, or what a
// watch shows.
type Seen struct {
	Application *v1alpha1.Application
	ID          manifest.ID
	Entry       *observer.Entry
	// Type is the typed schema of its kind, or nil.
	Type *kinds.Node
	// Desired is the desired state; learned values are added to it.
	Desired map[string]any
	// Manifest is the part of Desired that was not learned; nil if nobody knows.
	Manifest map[string]any
	Live     map[string]any
	// Observed, Address and Tokens are results: the observed part of the object,
	// the address that clients use (of a Service), the digests of the callback
	// tokens (of the Secret that has them).
	Observed map[string]any
	Address  string
	Tokens   []string
}

// Changing is a resource that is about to be patched or deleted, or is gone.
type Changing struct {
	Application *v1alpha1.Application
	ID          manifest.ID
}
