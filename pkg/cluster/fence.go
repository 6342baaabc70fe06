package cluster

import (
	"context"
	"fmt"
	"net/http"
)

type fenceKey struct{}

// WithFence has writes with the context be refused, and not sent, while held returns an
// error. A context has one fence, the last.
func WithFence(ctx context.Context, held func() error) context.Context {
	return context.WithValue(ctx, fenceKey{}, held)
}

// fenced refuses writes behind a fence that is closed: who was stopped for longer than its
// lease sends nothing when it goes on.
type fenced struct{ next http.RoundTripper }

func (t fenced) RoundTrip(request *http.Request) (*http.Response, error) {
	held, ok := request.Context().Value(fenceKey{}).(func() error)
	if ok && request.Method != http.MethodGet && request.Method != http.MethodHead {
		if err := held(); err != nil {
			return nil, fmt.Errorf("refused to send %s %s: %w", request.Method, request.URL.Path, err)
		}
	}
	return t.next.RoundTrip(request)
}
