package reconcile

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

// namespaceGate limits the creates in a namespace. While it is unknown whether the namespace exists, creates are sent
// one at a time. If a response reports that the namespace is missing, all later creates fail with this error, without
// a request. So a missing namespace costs one request per plan.
type namespaceGate struct {
	// mu guards the fields below. While open is false, its holder also has the right to send a create.
	mu sync.Mutex
	// open is true if the namespace exists. It is never reset.
	open bool
	// missing is the error for all creates; nil if creates can succeed. It takes precedence over open.
	missing error
}

// createIn calls send, which creates an object in a namespace, or a cluster-scoped object if namespace is empty. It
// returns the error of an earlier create, without calling send, if that error shows that no object can be created in
// the namespace.
func (a *sender) createIn(namespace string, send func() (map[string]any, error)) (map[string]any, error) {
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
		// The lock is held during the request, so that other creates wait for its result.
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

// record updates the gate from a response. A response about rights, or about an invalid body, has no effect,
// because the API server checks these before it looks for the namespace.
func (d *namespaceGate) record(namespace string, err error) {
	switch status := code(err); {
	case isMissingNamespace(err, namespace), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		d.missing = err
	case status != http.StatusForbidden && status != http.StatusBadRequest:
		d.open = true
	}
}

// namespaceGate returns the gate of a namespace, and creates it if there is none.
func (a *sender) namespaceGate(namespace string) *namespaceGate {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.gates[namespace]
	if d == nil {
		d = &namespaceGate{open: a.knowsNamespace(namespace)}
		a.gates[namespace] = d
	}
	return d
}

// knowsNamespace reports whether a namespace existed a moment ago: it is the Application's namespace, it has objects,
// or it is itself a held object. The caller must hold the lock.
func (a *outcomeRecorder) knowsNamespace(namespace string) bool {
	if namespace == a.s.Input.Application.Namespace {
		return true
	}
	// This execution of the plan may have created it in an earlier stage.
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

// awaited returns the missing namespaces of desired objects, sorted, whether these are due now or at the next retry.
// It forgets other namespaces. It omits the Application's own namespace, which cannot be created while the
// Application exists.
func (m *State) awaited(own string, p *plan.Plan) []string {
	needed := map[string]bool{}
	for _, change := range p.Changes {
		needed[change.ID.Namespace] = needed[change.ID.Namespace] || !change.Prune
	}
	maps.DeleteFunc(m.missing, func(name string, _ time.Time) bool { return !needed[name] })
	names := slices.Sorted(maps.Keys(m.missing))
	return slices.DeleteFunc(names, func(name string) bool { return name == own })
}
