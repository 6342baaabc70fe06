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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"holdfast.dev/holdfast/pkg/kinds"
)

// Mapping is the resource of a kind.
type Mapping struct {
	// Resource is empty if only the kind is known, without a connection to an API server.
	Resource schema.GroupVersionResource
	// Namespaced is true if objects of the kind have a namespace.
	Namespaced bool
	// Watchable is false for kinds that cannot be listed and watched, such as reviews and bindings. Their
	// objects cannot be held.
	Watchable bool
	// Type is the typed schema, or nil if it is unknown.
	Type *kinds.Node
	// Published is the schema that this API server publishes. The mapper leaves it nil; callers set it if
	// they need to know all fields.
	Published *kinds.Node
}

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

// mappingOf returns the mapping of a resource in a discovery response, without its schema.
func mappingOf(gvk schema.GroupVersionKind, r metav1.APIResource) Mapping {
	verbs := discovery.SupportsAllVerbs{Verbs: []string{"list", "watch", "create", "patch", "delete"}}
	return Mapping{
		Resource:   gvk.GroupVersion().WithResource(r.Name),
		Namespaced: r.Namespaced,
		Watchable:  verbs.Match(gvk.GroupVersion().String(), &r),
	}
}

// isTerminating reports whether a kind is served only for its remaining objects, because its definition is
// being deleted.
func isTerminating(r metav1.APIResource) bool {
	return slices.Contains(r.Verbs, "watch") && slices.Contains(r.Verbs, "delete") && !slices.Contains(r.Verbs, "create")
}

var definitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// typeOf returns the typed schema of a kind: from the table for built-in kinds, from the definition for custom ones,
// and from the OpenAPI document for aggregated ones. It returns nil and no error if there is certainly no schema. The
// error is temporary: without the schema, a list with keys would be compared by position.
func (m *Mapper) typeOf(ctx context.Context, gvk schema.GroupVersionKind, mapping Mapping) (*kinds.Node, error) {
	if node := kinds.Builtin(gvk); node != nil || builtinGroup(gvk.Group) {
		return node, nil
	}
	// The name of a CustomResourceDefinition follows from its resource and group.
	name := mapping.Resource.Resource + "." + gvk.Group
	crd, err := m.client.Own.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return kinds.FromCRD(crd.Object, gvk), nil
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return nil, fmt.Errorf("reading the definition of %s: %w", gvk.Kind, err)
	}
	raw, err := m.client.OpenAPI(ctx, gvk.GroupVersion())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", gvk.Kind, err)
	}
	node, err := kinds.FromOpenAPI(raw, gvk)
	if err != nil {
		return nil, nil //nolint:nilerr // without a typed schema lists are paired by position
	}
	return node, nil
}

// OpenAPI returns the OpenAPI document of a group and version.
func (c *Client) OpenAPI(ctx context.Context, gv schema.GroupVersion) ([]byte, error) {
	return c.Discovery.RESTClient().Get().AbsPath("/openapi/v3"+apiPath(gv)).SetHeader("Accept", "application/json").Do(ctx).Raw()
}

// builtinGroup reports whether a group belongs to Kubernetes itself. The table contains all of its kinds
// that have lists.
func builtinGroup(group string) bool {
	return !strings.Contains(group, ".") ||
		strings.HasSuffix(group, ".k8s.io") && slices.Contains(builtinGroups, group)
}

var builtinGroups = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
	"authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io",
	"discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "networking.k8s.io",
	"node.k8s.io", "policy.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io",
	"scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}
