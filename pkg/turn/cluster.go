package turn

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// Reader is a cluster as one Application's turn reads it. An error of a request is that
// of the API server (see k8s.io/apimachinery/pkg/api/errors).
type Reader interface {
	// Kinds is what is known of kinds before the cluster is asked.
	Kinds() plan.Kinds
	// Mapping finds where a kind is served. cluster.ErrKindUnknown is certain. A
	// mapping without a resource says nothing: what Kinds says counts.
	Mapping(ctx context.Context, gvk schema.GroupVersionKind) (cluster.Mapping, error)
	// AnyVersion is Mapping for whichever version is served.
	AnyVersion(ctx context.Context, gk schema.GroupKind) (cluster.Mapping, error)
	// Need has the objects of these resources, namespaced or not, shared ones by their
	// names, and all that are in ranges be seen from now on, and no others.
	Need(resources map[schema.GroupVersionResource]bool, namespaces []string, named cluster.Named, ranges cluster.Ranges)
	// Range are the objects of a kind that are in a range, whoever marks them. ErrNotSeen
	// says that the first list is not complete.
	Range(ctx context.Context, gk schema.GroupKind, mapping cluster.Mapping, r cluster.ObjectRange) (map[manifest.ID]map[string]any, error)
	// Marked are the objects of a kind that carry the Application's label. ErrNotSeen
	// says that their first list is not complete.
	Marked(ctx context.Context, gk schema.GroupKind, mapping cluster.Mapping) (map[manifest.ID]map[string]any, error)
	// Written is who wrote objects lately that are, or are not, among the marked ones, as
	// far as the watch has told. It is of those very versions.
	Written(gk schema.GroupKind, mapping cluster.Mapping, marked map[manifest.ID]map[string]any) map[manifest.ID]plan.ObservedWrites
	// Ended are objects of a kind that are gone, in their last state, as far as a watch has
	// shown it; only Jobs are of interest.
	Ended(gk schema.GroupKind, mapping cluster.Mapping) map[manifest.ID]map[string]any
	// Silent is why the objects of a kind may not be any more as Marked has them: nothing
	// was heard of them for too long. nil if that is not so.
	Silent(mapping cluster.Mapping) error
	// Profiles are the HoldProfiles, and what autoscalers target of these objects as far as a
	// profile asks for it. ErrNotSeen says that a first list is not complete.
	Profiles(ctx context.Context, objects []manifest.ID) (plan.Profiles, error)
	// Get reads one object, managedFields included.
	Get(ctx context.Context, at cluster.Location) (map[string]any, error)
	// Problem is what the error of a request means for a resource.
	Problem(err error, at cluster.Location, verb string) *plan.Problem
}

// ErrNotSeen says that a watch has no first list yet: what it does not show may exist
// all the same.
var ErrNotSeen = errors.New("the first list is not complete")

// Target is a cluster whose objects a turn holds.
type Target interface {
	Reader
	// Shared is a shared object as a watch shows it, whoever marks it; nil if there is
	// none. ErrNotSeen says that the first list is not complete.
	Shared(at cluster.Location) (map[string]any, error)
	// MayList asks whether the Application's ServiceAccount may list what is in a range.
	MayList(ctx context.Context, mapping cluster.Mapping, r cluster.ObjectRange) error
	// Create, Patch and Delete return the object as the API server has it then; Delete
	// nil if nothing is left.
	Create(ctx context.Context, at cluster.Location, body map[string]any) (map[string]any, error)
	Patch(ctx context.Context, at cluster.Location, ops any) (map[string]any, error)
	Delete(ctx context.Context, at cluster.Location, uid, resourceVersion string) (map[string]any, error)
	// TryPatch asks whether a patch would be accepted, and changes nothing.
	TryPatch(ctx context.Context, at cluster.Location, ops any) error
	// Processed is told that an object was looked at, of which Written had that much.
	Processed(at cluster.Location, written plan.ObservedWrites)
	// Wrote and Gone have the stores know our own write before the watch does.
	Wrote(at cluster.Location, object map[string]any)
	Gone(at cluster.Location, uid types.UID)
	// AwaitNamespaces has the Application handled again when one of these namespaces
	// comes, and none of those before.
	AwaitNamespaces(names []string)
	// NamespaceEnds reports whether a namespace is known to be in deletion.
	NamespaceEnds(ctx context.Context, name string) bool
}

// ApplicationClient is the API server that has the Applications.
type ApplicationClient interface {
	// Latest is the version of an Application that the watch, or our own last write,
	// has shown; the given one if there is none. Without a UID, it is any of that name.
	Latest(app *v1alpha1.Application) *v1alpha1.Application
	// Read asks the API server for it.
	Read(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error)
	// WriteMetadata replaces finalizers and merges annotations, and WriteStatus replaces
	// the status, if it is still this version of the Application.
	WriteMetadata(ctx context.Context, app *v1alpha1.Application, finalizers []string, annotations map[string]string) (*v1alpha1.Application, error)
	WriteStatus(ctx context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) (*v1alpha1.Application, error)
	// Again has the Application handled again.
	Again(app *v1alpha1.Application)
	// LetGo is told that our finalizer is off.
	LetGo(app *v1alpha1.Application) error
	// Announce sends an event; nil is none.
	Announce(app *v1alpha1.Application, event *plan.Event)
	// Concluded is told what came of a plan.
	Concluded(app *v1alpha1.Application, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome, result plan.Result)
	// Report asks to write a report that can wait. done is to be called when it is
	// written; nil means later: there is a turn for it then.
	Report(app *v1alpha1.Application) (done func())
}
