package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/worker"
)

// The limits of a connection. An event has an object of at most 1.5 MiB twice, as it was
// sent and as it is; an API server sends 400 of them at once.
const (
	mostEvent       = 4 << 20
	mostBody        = 64 << 20
	mostHeader      = 16 << 10
	mostConnections = 64
	mostAtOnce      = 4
	longestQueue    = 5 * time.Second
	headerTimeout   = 5 * time.Second
	requestTimeout  = 30 * time.Second
	idleTimeout     = 2 * time.Minute
)

// Handler takes lists of events.
type Handler struct {
	Users *Users
	// Token is what a client has to show; nil: TLS has asked it who it is.
	Token func() []byte
	// Leading reports whether this process works: if not, the API server is to find the one
	// that does. nil: it does.
	Leading func() bool

	slots chan struct{}
	// queue and request are how long a list waits, and takes; 0: longestQueue and
	// requestTimeout.
	queue, request time.Duration
}

// ServeHTTP answers with 200 if the list was read to its end.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if code := h.refuses(r); code != 0 {
		w.Header().Set("Connection", "close") // a Service may find another process then
		http.Error(w, http.StatusText(code), code)
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-time.After(cmp.Or(h.queue, longestQueue)):
		http.Error(w, "too many lists at once", http.StatusTooManyRequests)
		return
	case <-r.Context().Done():
		return
	}
	received, dropped, err := read(http.MaxBytesReader(w, r.Body, mostBody), h.Users.add)
	h.Users.count(received, dropped)
	var larger *http.MaxBytesError
	switch {
	case errors.Is(err, errTooLarge) || errors.As(err, &larger):
		http.Error(w, "an event, or the list, is too large", http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "it is not a list of audit events that can be read", http.StatusBadRequest)
	}
}

// refuses is the status of a request that is not read; 0 for none.
func (h *Handler) refuses(r *http.Request) int {
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

// Serve takes events until the context ends.
func Serve(ctx context.Context, listener net.Listener, config *tls.Config, h *Handler) error {
	h.slots = make(chan struct{}, mostAtOnce)
	request := cmp.Or(h.request, requestTimeout)
	listener = tls.NewListener(netutil.LimitListener(listener, mostConnections), config)
	server := &http.Server{
		Handler:           worker.Recovering(ctx, h),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: request, WriteTimeout: request + longestQueue, IdleTimeout: idleTimeout,
		MaxHeaderBytes: mostHeader,
		Protocols:      new(http.Protocols),
		ErrorLog:       log.New(&complaints{klog.FromContext(ctx), rate.NewLimiter(1, 10)}, "", 0),
	}
	server.Protocols.SetHTTP1(true) // one list at a time on a connection
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// complaints are what the library has to say of connections. Whoever can connect can cause
// them, so most are dropped when there are many.
type complaints struct {
	logger klog.Logger
	limit  *rate.Limiter
}

func (c *complaints) Write(line []byte) (int, error) {
	if c.limit.Allow() {
		c.logger.Info("A connection of an API server with audit events has failed", "problem", string(bytes.TrimSpace(line)))
	}
	return len(line), nil
}
