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
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// sharers are the Applications that share objects, by what they name. It is an index of what
// the Applications say, so that the older of two that want a field comes first, and may be
// lost. Who holds what is written on the objects.
type sharers struct {
	mu sync.Mutex
	of map[types.UID]*sharer
	// naming has them by the objects that they name, selecting those with spec.select.
	naming    map[sharedName]map[types.UID]*sharer
	selecting map[types.UID]*sharer
}

// sharedName is an object, but for its namespace: whether it has one only its kind says.
type sharedName struct{ group, kind, name string }

// sharer is one Application in its present generation.
type sharer struct {
	app        *v1alpha1.Application // its metadata alone
	names      map[sharedName][]string
	selections []plan.Selection
	// wantsNothing is true if its last turn could not want anything.
	wantsNothing bool
	// decided has the versions of objects that its last turn was about.
	decided map[manifest.ID]string
}

func newSharers() *sharers {
	return &sharers{of: map[types.UID]*sharer{}, naming: map[sharedName]map[types.UID]*sharer{}, selecting: map[types.UID]*sharer{}}
}

// sees takes in what an Application shares. Nearly all share nothing, and are not decoded.
func (s *sharers) sees(before, after *cluster.Object) {
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
	now.app.Annotations, now.app.Labels = nil, nil
	now.selections, _ = plan.Selections(app)
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

// sharedBy are the objects that the manifests of an Application share, with the namespaces
// that they are in, if their kinds have any.
func sharedBy(app *v1alpha1.Application) map[sharedName][]string {
	names := map[sharedName][]string{}
	for _, item := range app.Spec.Manifest {
		content, err := manifest.DecodeJSON(item.Raw)
		if err != nil || !plan.IsShared(app, manifest.OwnershipIn(content)) {
			continue
		}
		u := unstructured.Unstructured{Object: content}
		name := sharedName{u.GroupVersionKind().Group, u.GetKind(), u.GetName()}
		names[name] = append(names[name], cmp.Or(u.GetNamespace(), app.Namespace))
	}
	return names
}

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

// concluded is told what a turn of an Application was about.
func (s *sharers) concluded(app *v1alpha1.Application, p *plan.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[app.UID]
	if of == nil || of.app.Generation != app.Generation {
		return
	}
	of.wantsNothing = p.Invalid != nil || p.Suspended() || p.IsObserveOnly()
	of.decided = map[manifest.ID]string{}
	for _, change := range p.Changes {
		version := change.ResourceVersion
		if version == "" && change.Problem != nil && change.Problem.Disposition() != v1alpha1.DispositionWait {
			version = unreadable
		}
		if change.Shared && version != "" {
			of.decided[change.ID] = version
		}
	}
}

// unreadable stands for any version of an object that an Application cannot look at.
const unreadable = "*"

// older are the Applications that are older than one, share an object too, and have decided
// about no such version of it yet, by namespace/name and in order.
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

// mayWant reports whether an Application names an object, and has not decided about such a
// version of it.
func (s *sharer) mayWant(id manifest.ID, version string) bool {
	namespaces, named := s.names[sharedName{id.Group, id.Kind, id.Name}]
	named = named && (id.Namespace == "" || slices.Contains(namespaces, id.Namespace))
	if s.wantsNothing || !named && !slices.ContainsFunc(s.selections, func(e plan.Selection) bool { return e.Covers(id) }) {
		return false
	}
	decided := s.decided[id]
	if decided == unreadable {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(decided, version)
	return decided == "" || err == nil && order < 0
}

// isOlder is the order in which Applications come where nobody holds a field yet.
func isOlder(a, b *v1alpha1.Application) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(string(a.UID), string(b.UID))) < 0
}
