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

// Mapping says where the objects of a kind are served.
type Mapping struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
	// Watchable is false for kinds that cannot be listed and watched, such as
	// reviews and bindings: nothing of them can be held.
	Watchable bool
	// Type is the typed schema; nil if nothing is known of it.
	Type *kinds.Node
	// Published is what this API server publishes of the kind. The mapper leaves it nil: it
	// is for who wants to know of every field.
	Published *kinds.Node
}

// Mapper finds out about kinds, one group and version at a time, and remembers
// what it found until Forget. That a kind is not served, or that this cannot be
// told, is remembered for everybody, too, for a while that grows to minutes. Nothing
// is remembered of a kind that is being removed. Who asks for what is being asked for
// already waits for that answer.
type Mapper struct {
	client *Client
	now    func() time.Time

	mu     sync.Mutex
	groups map[schema.GroupVersion]*servedGroup
	// changed is when a group was forgotten, if that was lately.
	changed map[string]time.Time
}

// NewMapper knows nothing yet.
func NewMapper(client *Client) *Mapper {
	return &Mapper{client: client, now: time.Now, groups: map[schema.GroupVersion]*servedGroup{}, changed: map[string]time.Time{}}
}

// Mapping returns where a kind is served: a KindUnknownError if it certainly is
// not, a LookUpError if that cannot be told now.
func (m *Mapper) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (Mapping, error) {
	if !IsKind(gvk) {
		return Mapping{}, &KindUnknownError{GroupVersionKind: gvk}
	}
	g := m.group(gvk.GroupVersion())
	if mapping, ok := g.mapping(gvk.Kind); ok {
		return mapping, nil
	}
	found, err, _ := g.flight.Do(gvk.Kind, func() (any, error) { return m.lookUp(ctx, g, gvk) })
	if err != nil {
		return Mapping{}, err
	}
	return found.(Mapping), nil
}

// Resolve is Mapping for who can do with another version of the kind, too. Where
// the one that was asked for is not served, unserved says so, and the mapping is
// that of another one; it has no resource if there is none.
func (m *Mapper) Resolve(ctx context.Context, gvk schema.GroupVersionKind) (mapping Mapping, unserved *KindUnknownError, err error) {
	mapping, err = m.Mapping(ctx, gvk)
	var unknown *KindUnknownError
	if !errors.As(err, &unknown) {
		return mapping, nil, err
	}
	said := *unknown // others have it, too
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

// AnyVersion returns where a kind is served in any version, the preferred one
// first: a KindUnknownError if it certainly is served in none.
func (m *Mapper) AnyVersion(ctx context.Context, gk schema.GroupKind) (Mapping, error) {
	unknown := &KindUnknownError{GroupVersionKind: gk.WithVersion("v1")}
	if gk.Group == "" || !IsKind(unknown.GroupVersionKind) {
		return Mapping{}, unknown // there is one version of the core group
	}
	unknown.Version, unknown.RetryAfter = "", longestWait
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

// changeWait is how long after a change of its definition a kind may be served, or be
// served no more.
const changeWait = 30 * time.Second

// mostGroups is how many groups and versions are remembered, about which there is
// no end of questions. A cluster has some hundred.
const mostGroups = 2048

func (m *Mapper) group(gv schema.GroupVersion) *servedGroup {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.groups[gv]; g != nil {
		return g
	}
	g := &servedGroup{first: unservedWait, typed: map[string]*answer{}, mappings: map[string]Mapping{}}
	if m.now().Sub(m.changed[gv.Group]) < changeWait {
		g.first = soonWait
	}
	if len(m.groups) >= mostGroups {
		maps.DeleteFunc(m.groups, func(_ schema.GroupVersion, other *servedGroup) bool { return other.unserved() && other.over(m.now()) })
	}
	if len(m.groups) >= mostGroups {
		g.first = longestWait // it is not remembered, so it is not asked for often
		return g
	}
	m.groups[gv] = g
	return g
}

// Forget drops what is known of a group: one of its kinds has come, changed or
// gone.
func (m *Mapper) Forget(group string) {
	m.forget(group, func(*servedGroup) bool { return true })
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	maps.DeleteFunc(m.changed, func(_ string, at time.Time) bool { return now.Sub(at) >= changeWait })
	m.changed[group] = now
}

// ForgetUnserved drops what is known of a group as far as nothing is served of it:
// nobody asks any more.
func (m *Mapper) ForgetUnserved(group string) {
	m.forget(group, (*servedGroup).unserved)
}

func (m *Mapper) forget(group string, which func(*servedGroup) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.groups, func(gv schema.GroupVersion, g *servedGroup) bool { return gv.Group == group && which(g) })
}

func mappingOf(gvk schema.GroupVersionKind, r metav1.APIResource) Mapping {
	verbs := discovery.SupportsAllVerbs{Verbs: []string{"list", "watch", "create", "patch", "delete"}}
	return Mapping{
		Resource:   gvk.GroupVersion().WithResource(r.Name),
		Namespaced: r.Namespaced,
		Watchable:  verbs.Match(gvk.GroupVersion().String(), &r),
	}
}

// ending reports whether a kind is served for what is left of it only: its
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

// OpenAPI is the document that the API server publishes of a group and version.
func (c *Client) OpenAPI(ctx context.Context, gv schema.GroupVersion) ([]byte, error) {
	path := "/openapi/v3/apis/" + gv.String()
	if gv.Group == "" {
		path = "/openapi/v3/api/" + gv.Version
	}
	return c.Discovery.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
}

// builtinGroup reports whether a group is one of Kubernetes itself, whose kinds
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
