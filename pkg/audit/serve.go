package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"holdfast.dev/holdfast/pkg/worker"
)

// Limits of the server. An event contains an object of at most 1.5 MiB twice, in the request and in the
// response. An API server sends up to 400 events in one batch.
const (
	maxEventBytes      = 4 << 20
	maxBodyBytes       = 64 << 20
	maxHeaderBytes     = 16 << 10
	maxConnections     = 64
	maxConcurrentLists = 4
	queueTimeout       = 5 * time.Second
	headerTimeout      = 5 * time.Second
	requestTimeout     = 30 * time.Second
	idleTimeout        = 2 * time.Minute
)

// Handler receives lists of audit events. Serve must be called before it handles a request.
type Handler struct {
	Users *Users
	// Token returns the bearer token that clients must send. If nil, clients are authenticated by TLS.
	Token func() []byte
	// Leading reports whether this process is the leader. If it is not, the API server has to retry with
	// another replica. If nil, the process always leads.
	Leading func() bool

	// slots limits the lists that are read at the same time, because each needs memory. A sender takes a slot.
	slots chan struct{}
	// queue and request override queueTimeout and requestTimeout in tests.
	queue, request time.Duration
}

// ServeHTTP returns 200 if it has read the list to its end. An API server repeats the list after another status, so
// events can arrive twice, which has no effect.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if code := h.rejectionCode(r); code != 0 {
		w.Header().Set("Connection", "close") // so that the next request can reach another replica of the Service
		http.Error(w, http.StatusText(code), code)
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-time.After(cmp.Or(h.queue, queueTimeout)):
		http.Error(w, "too many lists at the same time", http.StatusTooManyRequests)
		return
	case <-r.Context().Done():
		return
	}
	received, dropped, err := read(http.MaxBytesReader(w, r.Body, maxBodyBytes), h.Users.add)
	h.Users.addCounts(received, dropped)
	_, isTooLong := errors.AsType[*http.MaxBytesError](err)
	switch {
	case isTooLong || errors.Is(err, errTooLarge):
		http.Error(w, "an event, or the list, is too large", http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "it is not a valid list of audit events", http.StatusBadRequest)
	}
}

// rejectionCode returns the HTTP status for a request that is rejected before its body is read, or 0. It compares
// digests of the tokens, so that the time does not depend on their length.
func (h *Handler) rejectionCode(r *http.Request) int {
	if h.Token != nil {
		scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		given, wanted := sha256.Sum256([]byte(shown)), sha256.Sum256(h.Token())
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(given[:], wanted[:]) != 1 {
			return http.StatusUnauthorized
		}
	}
	switch {
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed
	case h.Leading != nil && !h.Leading():
		return http.StatusServiceUnavailable
	}
	return 0
}

// Serve receives events until the context ends, and then closes all connections. API servers send the events of
// aborted requests again. config must authenticate clients, unless Handler.Token does.
func Serve(ctx context.Context, listener net.Listener, config *tls.Config, h *Handler) error {
	h.slots = make(chan struct{}, maxConcurrentLists)
	request := cmp.Or(h.request, requestTimeout)
	// The limit applies before the handshake.
	listener = tls.NewListener(netutil.LimitListener(listener, maxConnections), config)
	server := &http.Server{
		Handler:           worker.RecoverPanics(ctx, h),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: request, WriteTimeout: request + queueTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		Protocols:      new(http.Protocols),
		ErrorLog:       worker.ErrorLog(ctx, "A connection of an API server with audit events has failed"),
	}
	server.Protocols.SetHTTP1(true) // HTTP/1 allows only one list at a time per connection
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
