package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Mapper resolves kinds, one group and version at a time, and caches the results until Forget is called. It also
// caches negative results and errors, with a backoff that grows to minutes. It does not cache kinds that are being
// removed. Concurrent lookups of the same group share a request.
//
// All methods can be called from any goroutine. No request is sent with mu or with the lock of a group. A lookup that
// started before Forget stores its result in the dropped group, where no later lookup finds it.
type Mapper struct {
	client *Client
	now    func() time.Time

	// mu guards the maps, not the groups in them.
	mu sync.Mutex
	// groups contains the cached results. A key without a version lists the versions of its group.
	groups map[schema.GroupVersion]*servedGroup
	// changed is the time when a group was last forgotten, if that was recently. A kind can appear a moment after its
	// definition, so results are then cached for a shorter time.
	changed map[string]time.Time
}

// NewMapper returns a Mapper with an empty cache.
func NewMapper(client *Client) *Mapper {
	return &Mapper{client: client, now: time.Now, groups: map[schema.GroupVersion]*servedGroup{}, changed: map[string]time.Time{}}
}

// Mapping returns the resource of a kind. It returns a KindUnknownError if the kind is certainly not served, and a
// LookUpError if that cannot be determined now. Both contain the time until the next request. A cached result needs no
// request.
func (m *Mapper) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (Mapping, error) {
	if !IsKind(gvk) {
		return Mapping{}, &KindUnknownError{GroupVersionKind: gvk}
	}
	g := m.group(gvk.GroupVersion())
	if mapping, ok := g.mapping(gvk.Kind); ok {
		return mapping, nil
	}
	found, err := g.merge(gvk.Kind, func() (any, error) { return m.lookUp(ctx, g, gvk) })
	if err != nil {
		return Mapping{}, err
	}
	return found.(Mapping), nil
}

// lookUp resolves a kind. It sends requests for everything that is not cached: the resources of the group, and the
// schema of the kind. Only a complete mapping is cached.
func (m *Mapper) lookUp(ctx context.Context, g *servedGroup, gvk schema.GroupVersionKind) (Mapping, error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	resource, err := g.resource(gvk, m.now())
	if errors.Is(err, errNotAsked) {
		if _, err := g.merge("", func() (any, error) { return nil, m.discover(ctx, g, gvk) }); err != nil {
			return Mapping{}, err
		}
		if resource, err = g.resource(gvk, m.now()); errors.Is(err, errNotAsked) {
			err = &LookUpError{Err: fmt.Errorf("%s: %s is changing in the API server", gvk.Kind, gvk.GroupVersion()), RetryAfter: shortWait}
		}
	}
	if err != nil {
		return Mapping{}, err
	}
	// The schema is needed, too: without it, the mapping is not complete.
	mapping := mappingOf(gvk, resource)
	typed := g.typeAnswer(gvk.Kind)
	if left := typed.remaining(m.now()); left > 0 {
		return Mapping{}, &LookUpError{Err: typed.err, RetryAfter: left}
	}
	mapping.Type, err = typeOf(ctx, m.client, gvk, mapping)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return Mapping{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		typed.record(err, shortWait, m.now())
		g.typed[gvk.Kind] = typed
		return Mapping{}, &LookUpError{Err: err, RetryAfter: typed.wait}
	}
	delete(g.typed, gvk.Kind)
	g.mappings[gvk.Kind] = mapping
	return mapping, nil
}

// lookUpTimeout limits all requests for one kind.
const lookUpTimeout = 30 * time.Second

// discover requests the resources of a single group and version, so that a broken aggregated API of another group has
// no effect. It stores the result, also an error, in the group. It returns an error only if the request was canceled:
// that is no result.
func (m *Mapper) discover(ctx context.Context, g *servedGroup, gvk schema.GroupVersionKind) error {
	list := &metav1.APIResourceList{}
	err := m.client.Discovery.RESTClient().Get().AbsPath(apiPath(gvk.GroupVersion())).Do(ctx).Into(list)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("looking up %s: %w", gvk.Kind, err)
	}
	resources := make(map[string]metav1.APIResource, len(list.APIResources))
	for _, r := range list.APIResources {
		// A name with a slash is a subresource. If two resources have one kind, the first counts.
		if _, has := resources[r.Kind]; !has && !strings.Contains(r.Name, "/") {
			resources[r.Kind] = r
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err = notFoundIsNone(err); err != nil {
		g.listed.record(fmt.Errorf("looking up %s: %w", gvk.GroupVersion(), err), g.first, m.now())
		return nil
	}
	g.listed.record(nil, g.first, m.now())
	// After an error, the previous resources remain in use.
	g.resources = resources
	return nil
}

// Resolve returns the mapping of the kind in any version. If the requested version is not served, unserved is set and
// the mapping is for another version. The mapping has no resource if no version is served. err is set only if this
// cannot be determined now.
func (m *Mapper) Resolve(ctx context.Context, gvk schema.GroupVersionKind) (mapping Mapping, unserved *KindUnknownError, err error) {
	mapping, err = m.Mapping(ctx, gvk)
	unknown, isUnknown := errors.AsType[*KindUnknownError](err)
	if !isUnknown {
		return mapping, nil, err
	}
	said := *unknown // the cached error is shared
	if said.RetryAfter == 0 {
		return Mapping{}, &said, nil
	}
	mapping, err = m.AnyVersion(ctx, gvk.GroupKind())
	switch {
	case err == nil:
		said.Suggestion = fmt.Sprintf(": did you mean %s?", mapping.Resource.GroupVersion())
	case !errors.Is(err, ErrKindUnknown):
		return Mapping{}, nil, err
	}
	return mapping, &said, nil
}

// AnyVersion returns the resource of a kind in any version, preferably the preferred one. It returns a
// KindUnknownError if no version is served.
func (m *Mapper) AnyVersion(ctx context.Context, gk schema.GroupKind) (Mapping, error) {
	unknown := &KindUnknownError{GroupVersionKind: gk.WithVersion("v1")}
	if gk.Group == "" || !IsKind(unknown.GroupVersionKind) {
		return Mapping{}, unknown // the core group has only one version
	}
	unknown.Version, unknown.RetryAfter = "", maxWait
	versions, err := m.versionsOf(ctx, gk.Group)
	if err != nil {
		return Mapping{}, err
	}
	for _, version := range versions {
		mapping, err := m.Mapping(ctx, gk.WithVersion(version))
		if !errors.Is(err, ErrKindUnknown) {
			return mapping, err
		}
		unknown.RetryAfter = RetryAfter(err)
	}
	return Mapping{}, unknown
}

// versionsOf requests the served versions of a group, the preferred one first, or returns the cached ones. It returns
// none if the group does not exist.
func (m *Mapper) versionsOf(ctx context.Context, group string) ([]string, error) {
	g := m.group(schema.GroupVersion{Group: group})
	found, err := g.merge("", func() (any, error) {
		g.mu.Lock()
		versions, last := g.versions, g.listed
		g.mu.Unlock()
		if left := last.remaining(m.now()); left > 0 {
			if last.err != nil {
				return versions, &LookUpError{Err: last.err, RetryAfter: left}
			}
			return versions, nil
		}
		return m.discoverVersions(ctx, g, group)
	})
	return found.([]string), err
}

// discoverVersions sends the request of versionsOf and stores the result, also an error, unless the request was
// canceled.
func (m *Mapper) discoverVersions(ctx context.Context, g *servedGroup, group string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	answer := &metav1.APIGroup{}
	err := notFoundIsNone(m.client.Discovery.RESTClient().Get().AbsPath("/apis/" + group).Do(ctx).Into(answer))
	if err != nil {
		err = fmt.Errorf("looking up %s: %w", group, err)
	}
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return nil, err
	}
	var versions []string
	for _, v := range append([]metav1.GroupVersionForDiscovery{answer.PreferredVersion}, answer.Versions...) {
		if v.Version != "" && !slices.Contains(versions, v.Version) {
			versions = append(versions, v.Version)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listed.record(err, g.first, m.now())
	g.versions = versions
	if err != nil {
		return nil, &LookUpError{Err: err, RetryAfter: g.listed.wait}
	}
	return versions, nil
}

// changeWait is the time after a change of its definition in which a kind can appear or disappear.
const changeWait = 30 * time.Second

// maxCachedGroups limits the number of cached groups and versions, because users can refer to any number of
// them. A typical cluster has a few hundred.
const maxCachedGroups = 2048

// group returns the cache of a group and version, which it creates if there is none. If the cache is full of groups
// in use, the result is not stored, and each lookup sends requests.
func (m *Mapper) group(gv schema.GroupVersion) *servedGroup {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.groups[gv]; g != nil {
		return g
	}
	g := &servedGroup{first: unservedWait, typed: map[string]discoveryResult{}, mappings: map[string]Mapping{}}
	// After a change, the kind probably appears soon.
	if m.now().Sub(m.changed[gv.Group]) < changeWait {
		g.first = shortWait
	}
	if len(m.groups) >= maxCachedGroups {
		maps.DeleteFunc(m.groups, func(_ schema.GroupVersion, other *servedGroup) bool {
			return other.unserved() && other.hasExpired(m.now())
		})
	}
	if len(m.groups) >= maxCachedGroups {
		g.first = maxWait // the result is not cached, so increase the first delay
		return g
	}
	m.groups[gv] = g
	return g
}

// Forget drops the cached results of a group, after one of its kinds was added, changed or removed.
func (m *Mapper) Forget(group string) {
	m.forget(group, func(*servedGroup) bool { return true })
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	maps.DeleteFunc(m.changed, func(_ string, at time.Time) bool { return now.Sub(at) >= changeWait })
	m.changed[group] = now
}

// ForgetUnserved drops the cached results of a group if none of its kinds is served and no Application uses
// it.
func (m *Mapper) ForgetUnserved(group string) {
	m.forget(group, (*servedGroup).unserved)
}

func (m *Mapper) forget(group string, which func(*servedGroup) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.groups, func(gv schema.GroupVersion, g *servedGroup) bool { return gv.Group == group && which(g) })
}
