package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

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
// what it found until Forget. That a kind is unknown is not remembered.
type Mapper struct {
	client *Client

	mu    sync.Mutex
	known map[schema.GroupVersion]map[string]Mapping // by kind
}

// NewMapper knows nothing yet.
func NewMapper(client *Client) *Mapper {
	return &Mapper{client: client, known: map[schema.GroupVersion]map[string]Mapping{}}
}

// Mapping returns where a kind is served: ErrKindUnknown if it certainly is
// not, another error if that cannot be told now.
func (m *Mapper) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (Mapping, error) {
	m.mu.Lock()
	mapping, ok := m.known[gvk.GroupVersion()][gvk.Kind]
	m.mu.Unlock()
	if ok {
		return mapping, nil
	}
	mapping, err := m.discover(gvk)
	if err != nil {
		return Mapping{}, err
	}
	if mapping.Type, err = m.typeOf(ctx, gvk, mapping); err != nil {
		return Mapping{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[gvk.GroupVersion()] == nil {
		m.known[gvk.GroupVersion()] = map[string]Mapping{}
	}
	m.known[gvk.GroupVersion()][gvk.Kind] = mapping
	return mapping, nil
}

// Forget drops what is known of a group: one of its kinds has come, changed or
// gone.
func (m *Mapper) Forget(group string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for gv := range m.known {
		if gv.Group == group {
			delete(m.known, gv)
		}
	}
}

// discover asks for one group and version only: a broken aggregated API of
// another group cannot hide this one.
func (m *Mapper) discover(gvk schema.GroupVersionKind) (Mapping, error) {
	list, err := m.client.Discovery.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return Mapping{}, fmt.Errorf("%s: %s %w", gvk.Kind, gvk.GroupVersion(), ErrKindUnknown)
	}
	if err != nil {
		return Mapping{}, fmt.Errorf("looking up %s: %w", gvk.Kind, err)
	}
	for _, r := range list.APIResources {
		if r.Kind == gvk.Kind && !strings.Contains(r.Name, "/") {
			return mappingOf(gvk, r), nil
		}
	}
	return Mapping{}, fmt.Errorf("%s: %s %w", gvk.Kind, gvk.GroupVersion(), ErrKindUnknown)
}

func mappingOf(gvk schema.GroupVersionKind, r metav1.APIResource) Mapping {
	verbs := discovery.SupportsAllVerbs{Verbs: []string{"list", "watch", "create", "patch", "delete"}}
	return Mapping{
		Resource:   gvk.GroupVersion().WithResource(r.Name),
		Namespaced: r.Namespaced,
		Watchable:  verbs.Match(gvk.GroupVersion().String(), &r),
	}
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
