package v1alpha1

// Marks that say whose an object is, and what the Application carries.
const (
	// LabelApplicationUID is on every object of an Application. Watches select
	// by it. Its value is the Application's UID.
	LabelApplicationUID = "holdfast.dev/application-uid"
	// AnnotationTrackingID is on every object of an Application:
	// <namespace>/<name>:<group>/<kind>:<namespace>/<name>. It names the object
	// itself, so that a copy made under another name is not taken for ours.
	AnnotationTrackingID = "holdfast.dev/tracking-id"
	// AnnotationKinds is on the Application: the kinds (Kind.version.group,
	// comma separated) that it may have objects of, written before the first of
	// them is created.
	AnnotationKinds = "holdfast.dev/kinds"
	// Finalizer keeps an Application until its resources are gone.
	Finalizer = "holdfast.dev/resources"
	// FieldManager is the name under which the controller writes.
	FieldManager = "holdfast"
)
