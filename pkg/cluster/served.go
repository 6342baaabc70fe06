package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// The times for which a result is cached, unless a definition changes. They double each time.
const (
	// shortWait is the first delay for temporary results: the lookup has failed, or a definition has just
	// changed.
	shortWait = 500 * time.Millisecond
	// unservedWait is the first delay for kinds that are not served. The watch of definitions is faster,
	// but aggregated APIs have no definition, and the controller may not be allowed to watch definitions.
	unservedWait = 30 * time.Second
	maxWait      = 5 * time.Minute
)

// discoveryResult is the last result of a discovery request, and how long it is cached. The zero value means that
// there is none. The lock of its group guards it.
type discoveryResult struct {
	// err is the error of the request; nil if it succeeded, also if nothing was found.
	err error
	// wait is the time for which the result is cached. It doubles with each result, so a kind that remains missing
	// costs fewer and fewer requests.
	wait time.Duration
	// again is the time when the result expires.
	again time.Time
}

// record stores a result. first is the time for which the first of several equal results is cached.
func (a *discoveryResult) record(err error, first time.Duration, now time.Time) {
	if err != nil {
		first = shortWait
	}
	a.wait = min(max(2*a.wait, first), maxWait)
	a.err, a.again = err, now.Add(a.wait)
}

// remaining returns for how long the result remains cached.
func (a *discoveryResult) remaining(now time.Time) time.Duration {
	if now.Before(a.again) {
		return max(a.again.Sub(now), 10*time.Millisecond)
	}
	return 0
}
