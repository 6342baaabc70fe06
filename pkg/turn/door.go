package turn

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// namespaceGate lets creates into a namespace. While nobody knows whether the namespace is there,
// they go one at a time; when an answer says that it is not, that is the answer to all
// that follow, without a request.
type namespaceGate struct {
	mu      sync.Mutex
	open    bool
	missing error
}

// createIn creates an object in a namespace, or without one, or returns why nothing can be
// created there.
func (a *executor) createIn(namespace string, send func() (map[string]any, error)) (map[string]any, error) {
	if namespace == "" {
		return send()
	}
	d := a.namespaceGate(namespace)
	d.mu.Lock()
	switch {
	case d.missing != nil:
		defer d.mu.Unlock()
		return nil, d.missing
	case !d.open:
		defer d.mu.Unlock()
		object, err := send()
		d.record(namespace, err)
		return object, err
	}
	d.mu.Unlock()
	object, err := send()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.record(namespace, err)
	return object, err
}

// record learns from an answer. One about rights, or about a body that cannot be read, says
// nothing of the namespace: it comes before anybody looks for that.
func (d *namespaceGate) record(namespace string, err error) {
	switch status := code(err); {
	case isMissingNamespace(err, namespace), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		d.missing = err
	case status != http.StatusForbidden && status != http.StatusBadRequest:
		d.open = true
	}
}

func (a *executor) namespaceGate(namespace string) *namespaceGate {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.doors[namespace]
	if d == nil {
		d = &namespaceGate{open: a.knows(namespace)}
		a.doors[namespace] = d
	}
	return d
}

// knows reports whether a namespace was there a moment ago: it is that of the Application,
// has objects, or is itself an object that is held. The lock is held.
func (a *executor) knows(namespace string) bool {
	if namespace == a.s.Input.Application.Namespace {
		return true
	}
	itself := manifest.ID{Kind: "Namespace", Name: namespace}
	if outcome := a.result[itself]; outcome.Action == plan.Create && outcome.Object != nil {
		return true
	}
	for id := range a.s.Input.Live {
		if id.Namespace == namespace || id == itself {
			return true
		}
	}
	return false
}

// awaited are the missing namespaces of what is desired, be it due now or at
// the next try; others are forgotten. If it is the Application's own, nobody waits.
func (m *State) awaited(own string, p *plan.Plan) []string {
	needed := map[string]bool{}
	for _, change := range p.Changes {
		needed[change.ID.Namespace] = needed[change.ID.Namespace] || !change.Prune
	}
	maps.DeleteFunc(m.missing, func(name string, _ time.Time) bool { return !needed[name] })
	names := slices.Sorted(maps.Keys(m.missing))
	return slices.DeleteFunc(names, func(name string) bool { return name == own })
}
