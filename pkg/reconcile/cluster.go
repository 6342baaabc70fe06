package reconcile

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/writer"
)

// Reader is a cluster with read access for one Application. Requests return the errors of the API server (see
// k8s.io/apimachinery/pkg/api/errors). The caller may keep the returned maps, and change the outer map, but not the
// objects in it. Get is called from several goroutines at the same time, the other methods are not.
type Reader interface {
	// Kinds returns the kinds that are known without a request to the cluster.
	Kinds() intent.Kinds
	// Mapping resolves a kind to its resource. cluster.ErrKindUnknown means that the kind is certainly not
	// served. If the mapping has no resource, the result of Kinds applies.
	Mapping(ctx context.Context, gvk schema.GroupVersionKind) (cluster.Mapping, error)
	// AnyVersion is like Mapping, for any version that is served.
	AnyVersion(ctx context.Context, gk schema.GroupKind) (cluster.Mapping, error)
	// Need sets the objects to watch from now on, and no others: the objects of resources (true if
	// namespaced) in namespaces, the objects that are watched by name, and all objects in ranges.
	Need(resources map[schema.GroupVersionResource]bool, namespaces []string, named cluster.Named, ranges cluster.Ranges)
	// Range returns the objects of a kind that are in a range, regardless of their tracking label. It returns
	// ErrNotSeen while the first list is not complete.
	Range(ctx context.Context, gk schema.GroupKind, mapping cluster.Mapping, r cluster.ObjectRange) (map[manifest.ID]map[string]any, error)
	// Marked returns the objects of a kind that have the Application's tracking label. It returns ErrNotSeen
	// while the first list is not complete.
	Marked(ctx context.Context, gk schema.GroupKind, mapping cluster.Mapping) (map[manifest.ID]map[string]any, error)
	// Written returns the watched objects of a kind that were written recently, as far as the watch delivered
	// the writes. They can be newer than the results of Marked, Range and Shared.
	Written(gk schema.GroupKind, mapping cluster.Mapping) map[manifest.ID]store.WrittenObject
	// Ended returns the last state of deleted objects of a kind, as far as a watch delivered it. Only Jobs
	// are needed.
	Ended(gk schema.GroupKind, mapping cluster.Mapping) map[manifest.ID]map[string]any
	// Silent returns why the result of Marked may be outdated: the watch has stalled. It returns nil if the
	// watch is active.
	Silent(mapping cluster.Mapping) error
	// Profiles returns the HoldProfiles, and which of the objects are targets of autoscalers if a profile
	// needs this. It returns ErrNotSeen while a first list is not complete.
	Profiles(ctx context.Context, objects []manifest.ID) (intent.Profiles, error)
	// Get reads one object, including managedFields.
	Get(ctx context.Context, at cluster.Location) (map[string]any, error)
	// Problem converts the error of a request to the problem of a resource.
	Problem(err error, at cluster.Location, verb string) *plan.Problem
}

// ErrNotSeen means that the first list of a watch is not complete. Objects may exist that the watch does not
// show yet.
var ErrNotSeen = errors.New("the first list is not complete")

// Target is a cluster with read and write access for the objects of one Application. While act runs, its methods are
// called from several goroutines at the same time.
type Target interface {
	Reader
	// Shared returns a shared object from its watch, regardless of its tracking label; nil if it does not
	// exist. It returns ErrNotSeen while the first list is not complete.
	Shared(at cluster.Location) (map[string]any, error)
	// MayList returns an error if the Application's ServiceAccount may not list the objects in a range.
	MayList(ctx context.Context, mapping cluster.Mapping, r cluster.ObjectRange) error
	// MayRead returns an error if the Application's ServiceAccount may not read an object, and when to ask again. verb is
	// get or list. With refresh, recent reviews do not count.
	MayRead(ctx context.Context, at cluster.Location, verb string, refresh bool) (again time.Duration, err error)
	// Create, Patch and Delete return the object from the response of the API server. Delete returns nil if
	// the object is gone.
	Create(ctx context.Context, at cluster.Location, body map[string]any) (map[string]any, error)
	Patch(ctx context.Context, at cluster.Location, ops any) (map[string]any, error)
	Delete(ctx context.Context, at cluster.Location, uid, resourceVersion string) (map[string]any, error)
	// TryPatch sends a patch as a dry run, and returns an error if it would not be accepted.
	TryPatch(ctx context.Context, at cluster.Location, ops any) error
	// Processed marks the writes to an object as processed, up to the given result of Written.
	Processed(at cluster.Location, written writer.Activity)
	// Wrote and Gone add the result of a write to the store, before the watch delivers it.
	Wrote(at cluster.Location, object map[string]any)
	Gone(at cluster.Location, uid types.UID)
	// AwaitNamespaces requeues the Application when one of these namespaces is created. It replaces the names
	// of the previous call.
	AwaitNamespaces(names []string)
	// NamespaceEnds reports whether a namespace is known to be in deletion.
	NamespaceEnds(ctx context.Context, name string) bool
}

// ApplicationClient is a client for the API server that stores the Applications. Its methods are called for several
// Applications at the same time.
type ApplicationClient interface {
	// Latest returns the version of an Application that the watch or the last write returned; the given one
	// if there is none. If app has no UID, any Application of that name matches.
	Latest(app *v1alpha1.Application) *v1alpha1.Application
	// Read reads the Application from the API server.
	Read(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error)
	// WriteMetadata replaces finalizers and merges annotations. WriteStatus replaces the status. Both write
	// only if app is the current version of the Application.
	WriteMetadata(ctx context.Context, app *v1alpha1.Application, finalizers []string, annotations map[string]string) (*v1alpha1.Application, error)
	WriteStatus(ctx context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) error
	// Again requeues the Application.
	Again(app *v1alpha1.Application)
	// Forget records that the controller's finalizer was removed.
	Forget(app *v1alpha1.Application) error
	// Announce emits an event, unless it is nil.
	Announce(app *v1alpha1.Application, event *plan.Event)
	// Concluded receives the outcomes of a plan, and their summary.
	Concluded(app *v1alpha1.Application, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome, result plan.Result)
	// Report requests permission to write a report that can wait. The caller must call done when the report
	// is written. If done is nil, the Application is requeued when its report can be written.
	Report(app *v1alpha1.Application) (done func())
}

// Slices is a client for the slices in the API server that stores the Applications.
type Slices interface {
	// Of returns the slices of an Application, from the watch and from the latest writes.
	Of(application types.NamespacedName) []Slice
	// Read returns the data of a slice, from the watch or else from the API server.
	Read(ctx context.Context, at types.NamespacedName) ([]byte, error)
	// Create creates a slice. If the slice exists, Create marks it as about to be named. It returns a
	// conflict if the slice is being deleted.
	Create(ctx context.Context, s *v1alpha1.ApplicationSlice) error
	// Delete deletes a slice, if it still has this version, and removes the controller's finalizer. A missing
	// slice is not an error.
	Delete(ctx context.Context, s Slice) error
}

// Slice is the metadata of one slice.
type Slice struct {
	types.NamespacedName

	UID             types.UID
	ResourceVersion string
	// Deleting is true after a client has deleted the slice, which the controller's finalizer may still keep.
	Deleting bool
	// Since is when this process first saw this version of the slice.
	Since time.Time
}
