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

	"golang.org/x/sync/singleflight"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/suggest"
)

// servedGroup caches discovery for one group and version. Without a version, it caches the versions of a group. When
// the group is forgotten, responses of pending requests are discarded, too.
//
// mu is not held during requests. flight merges them: the key "" is the discovery of the group, other keys are kinds.
type servedGroup struct {
	// flight merges concurrent requests: see merge.
	flight singleflight.Group

	// first is the time for which the first response is cached.
	first time.Duration

	// mu guards the fields below.
	mu        sync.Mutex
	listed    discoveryResult
	ends      discoveryResult               // for kinds that are being removed
	resources map[string]metav1.APIResource // by kind
	versions  []string                      // the preferred version first
	typed     map[string]discoveryResult    // errors of reading schemas, by kind
	mappings  map[string]Mapping            // by kind
}

// merge returns the result of one request for all concurrent callers with a key. The request uses the context of one
// caller. If that is canceled, the others repeat the request.
func (g *servedGroup) merge(key string, request func() (any, error)) (any, error) {
	for {
		own := false
		result, err, _ := g.flight.Do(key, func() (any, error) {
			own = true
			return request()
		})
		if own || !errors.Is(err, context.Canceled) {
			return result, err
		}
	}
}

// hasExpired reports whether the last response has expired.
func (g *servedGroup) hasExpired(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.listed.remaining(now) == 0
}

// unserved reports whether no kind of the group is known to be served.
func (g *servedGroup) unserved() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.resources) == 0
}

// mapping returns the cached mapping of a kind. Positive results do not expire; Forget drops them.
func (g *servedGroup) mapping(kind string) (Mapping, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	mapping, ok := g.mappings[kind]
	return mapping, ok
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
	mapping.Type, err = m.typeOf(ctx, gvk, mapping)
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

// errNotAsked is returned if the resources have to be requested.
var errNotAsked = errors.New("not asked")

// resource returns the resource of a kind from the last response, if that has not expired. A kind that is being
// removed is returned only once. The error is errNotAsked, a LookUpError or a KindUnknownError.
func (g *servedGroup) resource(gvk schema.GroupVersionKind, now time.Time) (metav1.APIResource, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	resource, has := g.resources[gvk.Kind]
	left := g.listed.remaining(now)
	switch {
	case has && isTerminating(resource):
		// The next lookup asks again, with a backoff of its own.
		delete(g.resources, gvk.Kind)
		g.listed.again = time.Time{}
		g.ends.record(nil, shortWait, now)
		return resource, &LookUpError{
			Err: fmt.Errorf("%s: %s is being removed from the API server", gvk.Kind, gvk.GroupVersion()), RetryAfter: g.ends.wait,
		}
	case has:
		return resource, nil
	case left == 0:
		return resource, errNotAsked
	case g.listed.err != nil:
		return resource, &LookUpError{Err: g.listed.err, RetryAfter: left}
	}
	return resource, &KindUnknownError{
		GroupVersionKind: gvk, RetryAfter: left,
		Suggestion: suggest.DidYouMean(gvk.Kind, slices.Collect(maps.Keys(g.resources))),
	}
}

// typeAnswer returns the last error of reading the schema of a kind; the zero value if there is none.
func (g *servedGroup) typeAnswer(kind string) discoveryResult {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.typed[kind]
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
