package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"holdfast.dev/holdfast/pkg/kinds"
)

// Mapping says where the objects of a kind are served.
type Mapping struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
	// Watchable is false for kinds that cannot be listed and watched, such as
	// reviews and bindings: nothing of them can be held.
	Watchable bool
	// Type is the typed schema; nil if nothing is known of it.
	Type *kinds.Node
}

// ErrKindUnknown says that the API server does not serve a kind. It is certain:
// a server that could not answer gives another error.
var ErrKindUnknown = errors.New("is not served by the API server")

// Mapper finds out about kinds, one group and version at a time, and remembers
// what it found until Forget. That a kind is unknown is not remembered. Who asks
// for what is being asked for already waits for that answer.
type Mapper struct {
	client *Client

	mu     sync.Mutex
	groups map[schema.GroupVersion]*servedGroup
}

// servedGroup is what is known of one group and version. An answer that is on
// its way when the group is forgotten is forgotten with it.
type servedGroup struct {
	flight singleflight.Group

	mu        sync.Mutex
	resources map[string]metav1.APIResource // by kind
	mappings  map[string]Mapping            // by kind
}

// NewMapper knows nothing yet.
func NewMapper(client *Client) *Mapper {
	return &Mapper{client: client, groups: map[schema.GroupVersion]*servedGroup{}}
}

// Mapping returns where a kind is served: ErrKindUnknown if it certainly is
// not, another error if that cannot be told now.
func (m *Mapper) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (Mapping, error) {
	g := m.group(gvk.GroupVersion())
	if mapping, ok := g.mapping(gvk.Kind); ok {
		return mapping, nil
	}
	found, err, _ := g.flight.Do(gvk.Kind, func() (any, error) { return m.look(ctx, g, gvk) })
	if err != nil {
		return Mapping{}, err
	}
	return found.(Mapping), nil
}

func (m *Mapper) group(gv schema.GroupVersion) *servedGroup {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups[gv] == nil {
		m.groups[gv] = &servedGroup{mappings: map[string]Mapping{}}
	}
	return m.groups[gv]
}

func (g *servedGroup) mapping(kind string) (Mapping, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	mapping, ok := g.mappings[kind]
	return mapping, ok
}

func (g *servedGroup) resource(kind string) (metav1.APIResource, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	resource, ok := g.resources[kind]
	return resource, ok
}

// Forget drops what is known of a group: one of its kinds has come, changed or
// gone.
func (m *Mapper) Forget(group string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for gv := range m.groups {
		if gv.Group == group {
			delete(m.groups, gv)
		}
	}
}

// look asks the API server for what is not known of a kind.
func (m *Mapper) look(ctx context.Context, g *servedGroup, gvk schema.GroupVersionKind) (Mapping, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	resource, ok := g.resource(gvk.Kind)
	if !ok {
		if _, err, _ := g.flight.Do("", func() (any, error) { return nil, m.discover(ctx, g, gvk) }); err != nil {
			return Mapping{}, err
		}
		if resource, ok = g.resource(gvk.Kind); !ok {
			return Mapping{}, fmt.Errorf("%s: %s %w", gvk.Kind, gvk.GroupVersion(), ErrKindUnknown)
		}
	}
	if ending(resource) {
		return Mapping{}, fmt.Errorf("%s: %s is being removed from the API server", gvk.Kind, gvk.GroupVersion())
	}
	mapping := mappingOf(gvk, resource)
	var err error
	if mapping.Type, err = m.typeOf(ctx, gvk, mapping); err != nil {
		return Mapping{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mappings[gvk.Kind] = mapping
	return mapping, nil
}

// AnyVersion returns where a kind is served in any version, the preferred one
// first: ErrKindUnknown if it certainly is served in none.
func (m *Mapper) AnyVersion(ctx context.Context, gk schema.GroupKind) (Mapping, error) {
	unknown := fmt.Errorf("%s %w", gk, ErrKindUnknown)
	if gk.Group == "" {
		return Mapping{}, unknown // there is one version of it
	}
	group := &metav1.APIGroup{}
	err := m.client.Discovery.RESTClient().Get().AbsPath("/apis/" + gk.Group).Do(ctx).Into(group)
	if apierrors.IsNotFound(err) {
		return Mapping{}, unknown
	}
	if err != nil {
		return Mapping{}, fmt.Errorf("looking up %s: %w", gk, err)
	}
	for _, v := range append([]metav1.GroupVersionForDiscovery{group.PreferredVersion}, group.Versions...) {
		mapping, err := m.Mapping(ctx, gk.WithVersion(v.Version))
		if !errors.Is(err, ErrKindUnknown) {
			return mapping, err
		}
	}
	return Mapping{}, unknown
}

// lookTimeout bounds what is asked about one kind.
const lookTimeout = 30 * time.Second

// discover asks for one group and version only: a broken aggregated API of
// another group cannot hide this one.
func (m *Mapper) discover(ctx context.Context, g *servedGroup, gvk schema.GroupVersionKind) error {
	path := "/apis/" + gvk.GroupVersion().String()
	if gvk.Group == "" {
		path = "/api/" + gvk.Version
	}
	list := &metav1.APIResourceList{}
	err := m.client.Discovery.RESTClient().Get().AbsPath(path).Do(ctx).Into(list)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s: %s %w", gvk.Kind, gvk.GroupVersion(), ErrKindUnknown)
	}
	if err != nil {
		return fmt.Errorf("looking up %s: %w", gvk.Kind, err)
	}
	resources := make(map[string]metav1.APIResource, len(list.APIResources))
	for _, r := range list.APIResources {
		if _, has := resources[r.Kind]; !has && !strings.Contains(r.Name, "/") {
			resources[r.Kind] = r
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.resources = resources
	return nil
}

func mappingOf(gvk schema.GroupVersionKind, r metav1.APIResource) Mapping {
	verbs := discovery.SupportsAllVerbs{Verbs: []string{"list", "watch", "create", "patch", "delete"}}
	return Mapping{
		Resource:   gvk.GroupVersion().WithResource(r.Name),
		Namespaced: r.Namespaced,
		Watchable:  verbs.Match(gvk.GroupVersion().String(), &r),
	}
}

// ending tells whether a kind is served for what is left of it only: its
// definition is being deleted.
func ending(r metav1.APIResource) bool {
	return slices.Contains(r.Verbs, "watch") && slices.Contains(r.Verbs, "delete") && !slices.Contains(r.Verbs, "create")
}

var definitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// typeOf reads the typed schema: of built-in kinds from the table, of custom
// ones from their definition, of aggregated ones from the OpenAPI document.
func (m *Mapper) typeOf(ctx context.Context, gvk schema.GroupVersionKind, mapping Mapping) (*kinds.Node, error) {
	if node := kinds.Builtin(gvk); node != nil || builtinGroup(gvk.Group) {
		return node, nil
	}
	name := mapping.Resource.Resource + "." + gvk.Group
	crd, err := m.client.Own.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return kinds.FromCRD(crd.Object, gvk), nil
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return nil, fmt.Errorf("reading the definition of %s: %w", gvk.Kind, err)
	}
	raw, err := m.client.Discovery.RESTClient().Get().
		AbsPath("/openapi/v3/apis", gvk.Group, gvk.Version).SetHeader("Accept", "application/json").Do(ctx).Raw()
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

// builtinGroup tells whether a group is one of Kubernetes itself, whose kinds
// are all in the table if they have anything to say.
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
