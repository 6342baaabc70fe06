package controller

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/store"
)

// sharers is an index of the Applications that share objects, by the objects that they name. It determines the
// precedence of Applications that claim the same field. It may be lost, because the claims are recorded on the
// objects. Source: docs/semantics.md, "Several Applications share an object", "Precedence".
//
// The watch of Applications updates it, and so do finished reconciles.
type sharers struct {
	// mu guards all fields, and the fields wantsNothing and decided of each sharer.
	mu sync.Mutex
	// of contains all sharers, by the UID of the Application.
	of map[types.UID]*sharer
	// naming lists the Applications by the objects that they name. selecting lists those with spec.select. Both have
	// the same sharers as of.
	naming    map[sharedName]map[types.UID]*sharer
	selecting map[types.UID]*sharer
}

// sharedName identifies an object without its namespace, because only the kind determines whether it has
// one.
type sharedName struct{ group, kind, name string }

// sharer is an Application in its current generation.
type sharer struct {
	app *v1alpha1.Application // only its metadata
	// names lists the shared objects of the manifests, with the namespaces that apply if the kind is namespaced.
	names map[sharedName][]string
	// selections are the items of spec.select that can be parsed.
	selections []intent.Selection
	// wantsNothing is true if the last reconcile could claim no field, for example of a suspended
	// Application.
	wantsNothing bool
	// decided records the versions of the shared objects in the last plan, or unreadable; nil before the first plan of
	// this generation.
	decided map[manifest.ID]string
}

func newSharers() *sharers {
	return &sharers{of: map[types.UID]*sharer{}, naming: map[sharedName]map[types.UID]*sharer{}, selecting: map[types.UID]*sharer{}}
}

// sees updates the index after a change of an Application, unless its generation is the same. Most Applications share
// nothing and are not decoded. It is called on the goroutine of a watch. Each change drops the previous decision, so
// younger Applications wait for the next one.
func (s *sharers) sees(before, after *store.Object) {
	if before != nil && before.UID == after.UID && before.Generation == after.Generation {
		return
	}
	s.forget(after.UID)
	raw := after.JSON()
	if !bytes.Contains(raw, []byte(`"`+v1alpha1.OwnershipShare+`"`)) && !bytes.Contains(raw, []byte(`"select":`)) {
		return
	}
	app, err := cluster.DecodeApplication(raw)
	if err != nil || app.DeletionTimestamp != nil {
		return
	}
	now := &sharer{app: &v1alpha1.Application{ObjectMeta: app.ObjectMeta}, names: sharedBy(app)}
	// They can be large, and are not needed.
	now.app.Annotations, now.app.Labels = nil, nil
	now.selections, _ = intent.Selections(app)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[after.UID] = now
	for name := range now.names {
		if s.naming[name] == nil {
			s.naming[name] = map[types.UID]*sharer{}
		}
		s.naming[name][after.UID] = now
	}
	if len(now.selections) > 0 {
		s.selecting[after.UID] = now
	}
}

// sharedBy returns the objects that the manifests of an Application share. The values are the namespaces of
// the objects, if their kinds are namespaced.
func sharedBy(app *v1alpha1.Application) map[sharedName][]string {
	names := map[sharedName][]string{}
	for _, item := range app.Spec.Manifest {
		content, err := manifest.DecodeJSON(item.Raw)
		if err != nil || !claim.DesiredPolicy(app, manifest.OwnershipIn(content)).Claims {
			continue
		}
		u := unstructured.Unstructured{Object: content}
		name := sharedName{u.GroupVersionKind().Group, u.GetKind(), u.GetName()}
		names[name] = append(names[name], cmp.Or(u.GetNamespace(), app.Namespace))
	}
	return names
}

// forget removes an Application from the index, if it is there.
func (s *sharers) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.of[uid]
	if was == nil {
		return
	}
	delete(s.of, uid)
	delete(s.selecting, uid)
	for name := range was.names {
		if delete(s.naming[name], uid); len(s.naming[name]) == 0 {
			delete(s.naming, name)
		}
	}
}

// concluded records the versions of the shared objects in the plan of a finished reconcile. It ignores a plan for an
// earlier generation.
func (s *sharers) concluded(app *v1alpha1.Application, p *plan.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[app.UID]
	// A newer generation has not decided yet.
	if of == nil || of.app.Generation != app.Generation {
		return
	}
	of.wantsNothing = p.Invalid != nil || p.Suspended() || p.IsObserveOnly()
	of.decided = map[manifest.ID]string{}
	for _, change := range p.Changes {
		version := change.ResourceVersion
		// Younger Applications need not wait for one that cannot read the object.
		if version == "" && change.Problem != nil && change.Problem.Disposition() != v1alpha1.DispositionWait {
			version = unreadable
		}
		if change.Shared && version != "" {
			of.decided[change.ID] = version
		}
	}
}

// unreadable represents any version of an object that an Application cannot read.
const unreadable = "*"

// older returns the older Applications that share the object too, and have not decided about this version of it yet.
// The result is a sorted list of namespace/name; nil if there are none. version is the resourceVersion that the
// caller has.
func (s *sharers) older(app *v1alpha1.Application, id manifest.ID, version string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note := func(uid types.UID, other *sharer) {
		if uid != app.UID && other.mayWant(id, version) && isOlder(other.app, app) {
			names = append(names, other.app.Namespace+"/"+other.app.Name)
		}
	}
	for uid, other := range s.naming[sharedName{id.Group, id.Kind, id.Name}] {
		note(uid, other)
	}
	for uid, other := range s.selecting {
		note(uid, other)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mayWant reports whether an Application names or selects an object, and has not decided about this version of it, or
// a later one. The caller holds sharers.mu.
func (s *sharer) mayWant(id manifest.ID, version string) bool {
	namespaces, named := s.names[sharedName{id.Group, id.Kind, id.Name}]
	named = named && (id.Namespace == "" || slices.Contains(namespaces, id.Namespace))
	if s.wantsNothing || !named && !slices.ContainsFunc(s.selections, func(e intent.Selection) bool { return e.Covers(id) }) {
		return false
	}
	decided := s.decided[id]
	if decided == unreadable {
		return false
	}
	// Versions that cannot be compared do not delay this Application.
	order, err := resourceversion.CompareResourceVersion(decided, version)
	return decided == "" || err == nil && order < 0
}

// isOlder reports whether a takes precedence over b for a field that no Application holds yet.
func isOlder(a, b *v1alpha1.Application) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(string(a.UID), string(b.UID))) < 0
}
