package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// ErrNotHeld is returned for actions that need the Lease. It was not renewed in time, so another replica
// can hold it.
var ErrNotHeld = errors.New("the lease was not renewed in time: another replica may hold it now")

// Fence guards actions that need a Lease. It is open for a deadline after the last renewal. It closes without any
// event, also while the process is suspended, so an action must ask immediately before it writes. All methods can be
// called from any goroutine.
type Fence struct {
	// deadline is how long the fence is open after a renewal. mu guards renewed.
	deadline time.Duration
	mu       sync.Mutex
	// renewed is the start of the last successful renewal; zero before the first one.
	renewed time.Time
}

// NewFence returns a closed fence. Renewed opens it for the deadline.
func NewFence(deadline time.Duration) *Fence { return &Fence{deadline: deadline} }

// Renewed opens the fence. The time must be taken before the request, because the request can take long.
func (f *Fence) Renewed(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = at
}

// Err returns ErrNotHeld while the fence is closed. It uses both clocks: the monotonic clock stops while the machine is
// suspended, and users can set the wall clock.
func (f *Fence) Err() error {
	f.mu.Lock()
	renewed := f.renewed
	f.mu.Unlock()
	now := time.Now()
	if max(now.Sub(renewed), now.Round(0).Sub(renewed.Round(0))) >= f.deadline {
		return ErrNotHeld
	}
	return nil
}

// fenceKey is the key of the fence in the context of a request.
type fenceKey struct{}

// WithFence returns a context in which writes fail without being sent while held returns an error. held is called
// for each write, from any goroutine. It cannot stop a request that is already sent.
func WithFence(ctx context.Context, held func() error) context.Context {
	return context.WithValue(ctx, fenceKey{}, held)
}

// fencedTransport rejects writes behind a closed fence. A process that was suspended for longer than its
// Lease must not send pending writes when it resumes.
type fencedTransport struct{ next http.RoundTripper }

func (t fencedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	held, ok := request.Context().Value(fenceKey{}).(func() error)
	if ok && request.Method != http.MethodGet && request.Method != http.MethodHead {
		if err := held(); err != nil {
			return nil, fmt.Errorf("refused to send %s %s: %w", request.Method, request.URL.Path, err)
		}
	}
	return t.next.RoundTrip(request)
}
