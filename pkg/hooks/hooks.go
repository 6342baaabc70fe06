package hooks

import (
	"io"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Hooks are the points in the life of an Application and its resources.
//
//	point                        when                                  an error
//	ApplicationToscaTranslation  a source is translated                refuses the source
//	ApplicationMangling          the manifests are known               refuses the input
//	ApplicationPreReconcile      before anything is looked up          nothing is done, tried again
//	ApplicationPostReconcile     the status is about to be written     is reported, tried again
//	ApplicationPreDelete         before anything is deleted            nothing is deleted, tried again
//	ApplicationPostDelete        the Application has been let go       is logged
//	ResourcePreCreate            before a create is sent               the resource is not created
//	ResourcePostCreate           its response is there                 is reported for the resource
//	ResourcePreUpdate            before a patch is sent                the resource is not patched
//	ResourcePostUpdate           its response is there                 is reported for the resource
//	ResourceObserved             a watch shows it, nothing was sent    is reported for the resource
//	ResourcePreDelete            before a delete is sent               the resource is not deleted
//	ResourcePostDelete           it is gone                            is reported, called again
type Hooks struct {
	ApplicationToscaTranslation Point[*Translation]
	ApplicationMangling         Point[*Mangling]
	ApplicationPreReconcile     Point[*Lifecycle]
	ApplicationPostReconcile    Point[*Reconciled]
	ApplicationPreDelete        Point[*Lifecycle]
	ApplicationPostDelete       Point[*Lifecycle]
	ResourcePreCreate           Point[*Creating]
	ResourcePostCreate          Point[*Seen]
	ResourcePreUpdate           Point[*Changing]
	ResourcePostUpdate          Point[*Seen]
	ResourceObserved            Point[*Seen]
	ResourcePreDelete           Point[*Changing]
	ResourcePostDelete          Point[*Changing]
}

// New has all points, and no listeners.
func New() *Hooks {
	return &Hooks{
		ApplicationToscaTranslation: Point[*Translation]{name: "ApplicationToscaTranslation"},
		ApplicationMangling:         Point[*Mangling]{name: "ApplicationMangling"},
		ApplicationPreReconcile:     Point[*Lifecycle]{name: "ApplicationPreReconcile"},
		ApplicationPostReconcile:    Point[*Reconciled]{name: "ApplicationPostReconcile"},
		ApplicationPreDelete:        Point[*Lifecycle]{name: "ApplicationPreDelete"},
		ApplicationPostDelete:       Point[*Lifecycle]{name: "ApplicationPostDelete"},
		ResourcePreCreate:           Point[*Creating]{name: "ResourcePreCreate"},
		ResourcePostCreate:          Point[*Seen]{name: "ResourcePostCreate"},
		ResourcePreUpdate:           Point[*Changing]{name: "ResourcePreUpdate"},
		ResourcePostUpdate:          Point[*Seen]{name: "ResourcePostUpdate"},
		ResourceObserved:            Point[*Seen]{name: "ResourceObserved"},
		ResourcePreDelete:           Point[*Changing]{name: "ResourcePreDelete"},
		ResourcePostDelete:          Point[*Changing]{name: "ResourcePostDelete"},
	}
}

// And has the listeners of both, those of h first. other may be nil.
func (h *Hooks) And(other *Hooks) *Hooks {
	if other == nil {
		return h
	}
	return &Hooks{
		ApplicationToscaTranslation: h.ApplicationToscaTranslation.and(other.ApplicationToscaTranslation),
		ApplicationMangling:         h.ApplicationMangling.and(other.ApplicationMangling),
		ApplicationPreReconcile:     h.ApplicationPreReconcile.and(other.ApplicationPreReconcile),
		ApplicationPostReconcile:    h.ApplicationPostReconcile.and(other.ApplicationPostReconcile),
		ApplicationPreDelete:        h.ApplicationPreDelete.and(other.ApplicationPreDelete),
		ApplicationPostDelete:       h.ApplicationPostDelete.and(other.ApplicationPostDelete),
		ResourcePreCreate:           h.ResourcePreCreate.and(other.ResourcePreCreate),
		ResourcePostCreate:          h.ResourcePostCreate.and(other.ResourcePostCreate),
		ResourcePreUpdate:           h.ResourcePreUpdate.and(other.ResourcePreUpdate),
		ResourcePostUpdate:          h.ResourcePostUpdate.and(other.ResourcePostUpdate),
		ResourceObserved:            h.ResourceObserved.and(other.ResourceObserved),
		ResourcePreDelete:           h.ResourcePreDelete.and(other.ResourcePreDelete),
		ResourcePostDelete:          h.ResourcePostDelete.and(other.ResourcePostDelete),
	}
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
