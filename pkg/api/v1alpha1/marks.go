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
	// AnnotationAdopted is on an object that was there before its Application took it
	// over. Its value is "true".
	AnnotationAdopted = "holdfast.dev/adopted"
	// LabelHeld is on every shared object of which some Application holds fields. Its value
	// is "true". It says that the object is held, and AnnotationHolders by whom.
	LabelHeld = "holdfast.dev/held"
	// AnnotationHolders is on the same objects: the Applications that hold fields of it, by
	// <namespace>/<name>, and which fields, as JSON.
	AnnotationHolders = "holdfast.dev/holders"
	// AnnotationOwnership is on a manifest and says whose that one object is: Own or
	// Share. Unset: as spec.ownership says. It is not written to the object.
	AnnotationOwnership = "holdfast.dev/ownership"
	// AnnotationOrphan on an Application says that whoever deleted it asked to leave its
	// objects (kubectl delete --cascade=orphan). The garbage collector takes its own
	// finalizer off, so it is written down here.
	AnnotationOrphan = "holdfast.dev/orphan"
	// AnnotationKinds is on the Application: the kinds (Kind.version.group,
	// comma separated) that it may have objects of, written before the first of
	// them is created.
	AnnotationKinds = "holdfast.dev/kinds"
	// AnnotationNamespaces is on the Application: the namespaces beside its own
	// that it may have objects in, comma separated, written before the first of
	// them is created.
	AnnotationNamespaces = "holdfast.dev/namespaces"
	// AnnotationCreating is on the Application: the desired states of objects that
	// are about to be created and are in no status yet, as JSON, compressed, in
	// base64. Values of Secrets are not in it.
	AnnotationCreating = "holdfast.dev/creating"
	// AnnotationReconcile on an Application asks for a reconcile now. Its value,
	// any text, is found in status.reconcileRequest when that is done.
	AnnotationReconcile = "holdfast.dev/reconcile"
	// AnnotationGenerate is on a Secret of a manifest. It names keys that are
	// filled with random text when the Secret is created and never again, comma
	// separated, each with an optional length: "password,root-password:32".
	AnnotationGenerate = "holdfast.dev/generate"
	// AnnotationDeletionPolicy is on a manifest and says what becomes of that one
	// object when it is no longer desired: Delete or Orphan. Unset: as
	// spec.deletionPolicy says.
	AnnotationDeletionPolicy = "holdfast.dev/deletion-policy"
	// AnnotationCompleted on an Application is when its workload has said that its
	// work is done (RFC 3339).
	AnnotationCompleted = "holdfast.dev/completed"
	// AnnotationShutDown on an Application is when its workload has said, in its
	// shutdown, that it may be deleted (RFC 3339).
	AnnotationShutDown = "holdfast.dev/shut-down"
	// AnnotationNamed on an ApplicationSlice says that an Application is about to name it,
	// though it was there already. Its value is another one each time: whoever was about to
	// delete it finds another version, and looks again.
	AnnotationNamed = "holdfast.dev/named"
	// SliceFinalizer keeps an ApplicationSlice as long as its Application names it.
	SliceFinalizer = "holdfast.dev/slice"
	// Finalizer keeps an Application until its resources are gone.
	Finalizer = "holdfast.dev/resources"
	// FieldManager is the name under which the controller writes Applications. What older
	// versions have written of their objects has it, too: see FieldManagerOf.
	FieldManager = "holdfast"
)
