package cluster

import (
	"context"
	"fmt"
	"net/http"
)

// fenceKey is the key of the fence in the context of a request.
type fenceKey struct{}

// WithFence returns a context in which writes fail without being sent while held returns an error. If fences are
// nested, only the innermost one applies. held is called for each write, from any goroutine. It cannot stop a request
// that is already sent.
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
