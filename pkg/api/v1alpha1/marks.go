package v1alpha1

// Tracking metadata of objects, annotations of Applications and their manifests, finalizers and field
// managers.
const (
	// LabelApplicationUID is a label of every object that an Application owns. Its value is the
	// Application's UID. Watches select by it.
	LabelApplicationUID = "holdfast.dev/application-uid"
	// AnnotationTrackingID is an annotation of every object that an Application owns:
	// <namespace>/<name>:<group>/<kind>:<namespace>/<name>. It names the object itself, so that a copy with
	// another name does not count as an object of the Application.
	AnnotationTrackingID = "holdfast.dev/tracking-id"
	// AnnotationAdopted is an annotation of an object that existed before its Application adopted it. Its
	// value is "true".
	AnnotationAdopted = "holdfast.dev/adopted"
	// LabelHeld is a label of every shared object with fields that an Application holds. Its value is
	// "true". AnnotationHolders lists these Applications.
	LabelHeld = "holdfast.dev/held"
	// AnnotationHolders is an annotation of the same objects. It lists, as JSON, the Applications that hold
	// fields of the object, by <namespace>/<name>, and their fields.
	AnnotationHolders = "holdfast.dev/holders"
	// AnnotationOwnership is an annotation in a manifest. It sets the ownership of that one object: Own or
	// Share. Unset: spec.ownership applies. The controller does not write it to the object.
	AnnotationOwnership = "holdfast.dev/ownership"
	// AnnotationOrphan is an annotation of an Application that a client deleted with kubectl delete
	// --cascade=orphan. The garbage collector removes its own finalizer, so the controller records the
	// request here.
	AnnotationOrphan = "holdfast.dev/orphan"
	// AnnotationKinds is an annotation of the Application. It lists the kinds (Kind.version.group, comma
	// separated) of which the Application may have objects. The controller writes it before it creates the
	// first of these objects.
	AnnotationKinds = "holdfast.dev/kinds"
	// AnnotationNamespaces is an annotation of the Application. It lists the namespaces (comma separated),
	// other than its own, in which the Application may have objects. The controller writes it before it
	// creates the first of these objects.
	AnnotationNamespaces = "holdfast.dev/namespaces"
	// AnnotationCreating is an annotation of the Application. It contains the desired states of objects
	// that are about to be created and are not in the status yet, as compressed JSON in base64. It does not
	// contain values of Secrets.
	AnnotationCreating = "holdfast.dev/creating"
	// AnnotationReconcile on an Application requests a reconcile now. Its value can be any string. After
	// the reconcile, the same value is in status.reconcileRequest.
	AnnotationReconcile = "holdfast.dev/reconcile"
	// AnnotationConfirm on an Application confirms deletions beyond spec.maxDeletions. Its value is the
	// digest of the objects to delete, which the condition Held has. It has no effect on other objects.
	AnnotationConfirm = "holdfast.dev/confirm-deletions"
	// AnnotationGenerate is an annotation of a Secret in a manifest. It lists the keys for which the
	// controller generates random values when it creates the Secret, and never again. Keys are comma
	// separated, each with an optional length: "password,root-password:32".
	AnnotationGenerate = "holdfast.dev/generate"
	// AnnotationDeletionPolicy is an annotation in a manifest. It specifies what happens to that one object
	// when it is no longer desired: Delete or Orphan. Unset: spec.deletionPolicy applies.
	AnnotationDeletionPolicy = "holdfast.dev/deletion-policy"
	// AnnotationCompleted on an Application is the time (RFC 3339) when its workload reported completion.
	AnnotationCompleted = "holdfast.dev/completed"
	// AnnotationShutDown on an Application is the time (RFC 3339) when its workload, in its shutdown,
	// reported that it can be deleted.
	AnnotationShutDown = "holdfast.dev/shut-down"
	// AnnotationNamed on an ApplicationSlice states that an Application is about to refer to this existing
	// slice. Each write sets another value, so that a concurrent deletion fails with a version conflict and
	// checks again.
	AnnotationNamed = "holdfast.dev/named"
	// SliceFinalizer prevents the deletion of an ApplicationSlice while its Application refers to it.
	SliceFinalizer = "holdfast.dev/slice"
	// Finalizer prevents the deletion of an Application until its resources are deleted or released.
	Finalizer = "holdfast.dev/resources"
	// FieldManager is the field manager for writes to the objects of this API. The objects of an Application
	// have another one: see FieldManagerOf.
	FieldManager = "holdfast"
)
