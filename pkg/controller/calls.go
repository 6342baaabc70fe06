package controller

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/reconcile"
)

const (
	// callTimeout limits one call of a workload.
	callTimeout = 10 * time.Second
	// mostAnswer limits the header of the response, in bytes.
	mostAnswer = 16 << 10
)

// shutdownCaller calls workloads that are being shut down, and keeps the results. A result is known from begin to
// forget. The shutdown of each Application is recorded in its status, so a lost result costs only its message.
type shutdownCaller struct {
	// dial replaces the network in tests; nil for the cluster's network.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	// running counts the calls without a response so far. Calls are started only by workers, and Controller.work
	// waits after the workers have ended.
	running sync.WaitGroup

	// mu guards last. It is not held during a call.
	mu sync.Mutex
	// last stores the result of the last call, by the UID of the Application; nil while a call is running or after a
	// success.
	last map[types.UID]error
}

// newCalls returns a caller that connects with dial, or in the cluster's network if dial is nil.
func newCalls(dial func(ctx context.Context, network, address string) (net.Conn, error)) *shutdownCaller {
	return &shutdownCaller{dial: dial, last: map[types.UID]error{}}
}

// client returns an HTTP client that calls only one Service: it follows no redirect, uses no proxy, and
// connects to no address that is not the Service's.
func (s *shutdownCaller) client(service map[string]any) *http.Client {
	dial := s.dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: callTimeout, Control: func(_, address string, _ syscall.RawConn) error {
			return leadsTo(service, address)
		}}).DialContext
	}
	return &http.Client{
		Timeout: callTimeout,
		Transport: &http.Transport{
			// Without a Proxy function, the environment has no effect.
			DialContext: dial, DisableKeepAlives: true, TLSHandshakeTimeout: callTimeout, MaxResponseHeaderBytes: mostAnswer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// leadsTo returns an error if the name of a Service was resolved to an address that is not the Service's. The name
// may belong to another Service by now, or to an ExternalName. A headless Service has no address of its own: its name
// resolves to its Pods, or to the addresses of its EndpointSlices, and never to the controller's own host or link.
// leadsTo is called after the name resolution, for each address that the client tries.
func leadsTo(service map[string]any, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return errors.New("its address is invalid")
	}
	// A Service lists IPv4 addresses, which can be mapped to IPv6 here.
	ip := at.Addr().Unmap().WithZone("")
	spec, _ := service["spec"].(map[string]any)
	own, _ := spec["clusterIPs"].([]any)
	if len(own) == 0 {
		own = []any{spec["clusterIP"]}
	}
	switch {
	case own[0] == "None":
		if !ip.IsGlobalUnicast() {
			return errors.New("the name of the Service resolves to an address that no Pod can have")
		}
	case !slices.ContainsFunc(own, func(text any) bool { return sameAddress(text, ip) }):
		return errors.New("the name of the Service resolves to an address of another host")
	}
	return nil
}

// sameAddress reports whether a field of a Service contains an IP address. It returns false for a missing field.
func sameAddress(text any, ip netip.Addr) bool {
	parsed, err := netip.ParseAddr(fmt.Sprint(text))
	return err == nil && parsed == ip
}

// messageOf returns the error of the last call: the one that this process knows, or else the one in the status.
func (s *shutdownCaller) messageOf(application types.UID, state *v1alpha1.ShutdownStatus) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	err, known := s.last[application]
	switch {
	case err != nil:
		return reconcile.Trimmed(err.Error())
	case known || state == nil:
		return ""
	}
	return state.LastError
}

// begin drops the result of the previous call.
func (s *shutdownCaller) begin(application types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[application] = nil
}

// note records the result of a call, unless the Application was forgotten: it can be deleted before its
// workload responds.
func (s *shutdownCaller) note(application types.UID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.last[application]; known {
		s.last[application] = err
	}
}

// forget drops the result of an Application. A call that is running then records none.
func (s *shutdownCaller) forget(application types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, application)
}

// send calls the Service, and returns nil if the response has a status 2xx. service is the live Service; nil if it
// does not exist. The request does not contain the token, because the workload already has it. Errors contain nothing
// of the response.
func (s *shutdownCaller) send(ctx context.Context, app *v1alpha1.Application, hook v1alpha1.ShutdownHook, service map[string]any) error {
	if service == nil {
		return fmt.Errorf("the Service %s is not among the resources", hook.Service)
	}
	// Its name resolves to any host.
	if spec, _ := service["spec"].(map[string]any); spec["type"] == "ExternalName" {
		return fmt.Errorf("the Service %s has the type ExternalName, which is never called", hook.Service)
	}
	body, err := json.Marshal(map[string]any{"application": map[string]string{"namespace": app.Namespace, "name": app.Name}})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, shutdownURL(app, hook), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client(service).Do(request)
	if err != nil {
		return whyNoAnswer(err)
	}
	defer response.Body.Close()
	// The content is not used, and must not reach the status.
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 4096))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("it responded with status %d", response.StatusCode)
	}
	return nil
}

// whyNoAnswer returns why a call got no valid response, without the URL and without any content of the
// response. A user who configures a call must not be able to read through the controller what the port of
// the Service returns.
func whyNoAnswer(err error) error {
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return certificate
	}
	if connection, ok := errors.AsType[*net.OpError](err); ok {
		return connection
	}
	switch timeout, ok := errors.AsType[net.Error](err); {
	case ok && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("it did not respond within %s", callTimeout)
	case errors.Is(err, context.Canceled):
		return errors.New("the controller ended before the response")
	}
	return errors.New("it sent no valid HTTP response")
}

// shutdownURL returns the URL of the workload: the cluster name of the Service in the Application's namespace, with
// port, path and query of the hook. A path that cannot be parsed is used literally.
func shutdownURL(app *v1alpha1.Application, hook v1alpha1.ShutdownHook) string {
	scheme, path := cmp.Or(hook.Scheme, "http"), cmp.Or(hook.Path, "/")
	host := net.JoinHostPort(hook.Service+"."+app.Namespace+".svc", strconv.Itoa(int(hook.Port)))
	reference, err := url.Parse(path)
	if err != nil {
		reference = &url.URL{Path: path}
	}
	return (&url.URL{Scheme: scheme, Host: host, Path: reference.Path, RawPath: reference.RawPath, RawQuery: reference.RawQuery}).String()
}
