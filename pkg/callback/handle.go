package callback

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
)

// response is the response to a call. Its text is one of a few constants.
type response struct {
	// code is the HTTP status. text is the message for the caller.
	code   int
	result string // label of the metric
	text   string
}

// The responses. An unknown Application and an invalid token get the same response, so that callers cannot
// find out which Applications exist.
var (
	accepted   = response{http.StatusOK, "accepted", ""}
	noPath     = response{http.StatusNotFound, "not_found", "the path is /v1/applications/NAMESPACE/NAME/complete, shutdown or reconcile"}
	noMethod   = response{http.StatusMethodNotAllowed, "method_not_allowed", "complete and shutdown are called with PUT, reconcile with POST"}
	tooLarge   = response{http.StatusRequestEntityTooLarge, "too_large", "the body may have 4096 bytes"}
	badBody    = response{http.StatusBadRequest, "bad_request", `the body must be {"token": "…"}, unless the token is sent as bearer`}
	noToken    = response{http.StatusUnauthorized, "no_token", `send the token: as bearer, or in the body {"token": "…"}`}
	wrongToken = response{http.StatusUnauthorized, "wrong_token", "unknown Application, or the token is not valid for it"}
	tooMany    = response{http.StatusTooManyRequests, "too_many", "too many calls: retry later"}
	inDeletion = response{http.StatusConflict, "in_deletion", "the Application is being deleted"}
	notAsked   = response{http.StatusConflict, "not_shutting_down", "the Application is not shutting down"}
	notNow     = response{http.StatusServiceUnavailable, "unavailable", "the call cannot be recorded now: retry"}
)

// methods maps each purpose to its HTTP method.
var methods = map[hooks.Purpose]string{
	hooks.Complete: http.MethodPut, hooks.Shutdown: http.MethodPut, hooks.Reconcile: http.MethodPost,
}

// ServeHTTP handles one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := s.answer(w, r)
	s.options.Count(a.result)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	switch a.code {
	// Clients such as curl --retry then wait this long.
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(a.code)
	body := map[string]string{"status": a.result}
	if a.text != "" {
		body["error"] = a.text
	}
	_ = json.NewEncoder(w).Encode(body)
}

// answer handles one call and returns its response. It sets only the header Allow itself. The token is checked even
// if the address has exceeded its rate, because a valid token has a rate of its own.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) response {
	caller := hostAddress(r.RemoteAddr)
	allowed := s.limits.allow(caller)
	app, purpose, problem := s.authenticate(w, r, caller)
	switch {
	case !allowed && (problem != nil || !s.limits.allowApplication(app.UID)):
		return tooMany
	case problem != nil:
		return *problem
	}
	return s.accept(r.Context(), app, purpose)
}

// authenticate returns the Application for which the request has a valid token, and the purpose; or else the
// response. The Application is from the cache, which can be behind.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, caller string) (*v1alpha1.Application, hooks.Purpose, *response) {
	namespace, name, purpose, ok := parsePath(r.URL.Path)
	if !ok {
		return nil, "", &noPath
	}
	if r.Method != methods[purpose] {
		w.Header().Set("Allow", methods[purpose])
		return nil, "", &noMethod
	}
	// Before the first list, every Application would seem unknown.
	if !s.options.Ready() {
		return nil, "", &notNow
	}
	token, problem := requestToken(w, r)
	if problem != nil {
		return nil, "", s.rejectToken(caller, problem)
	}
	// A missing Application takes the same path: see tokenDigests.
	app := s.options.Lookup(namespace, name)
	if !hooks.Accepts(tokenDigests(app, purpose), purpose, token) {
		return nil, "", s.rejectToken(caller, &wrongToken)
	}
	return app, purpose, nil
}

// rejectToken returns the response to a call without a valid token, and counts it. After too many of them, the
// address gets tooMany instead.
func (s *Server) rejectToken(caller string, a *response) *response {
	if s.limits.failed(caller) {
		return &tooMany
	}
	return a
}

// parsePath splits the path of a callback, /v1/applications/NAMESPACE/NAME/PURPOSE. It does not validate the names:
// an unknown Application has no token.
func parsePath(path string) (namespace, name string, purpose hooks.Purpose, ok bool) {
	parts := strings.Split(path, "/")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "v1" || parts[2] != "applications" {
		return "", "", "", false
	}
	purpose = hooks.Purpose(parts[5])
	return parts[3], parts[4], purpose, methods[purpose] != ""
}

// requestToken returns the token of a request: the bearer token, or else the one in the body. The size of the body is
// limited. Either the token is not empty, or the response is not nil.
func requestToken(w http.ResponseWriter, r *http.Request) (string, *response) {
	if r.ContentLength > maxBodyBytes {
		return "", &tooLarge
	}
	// The body is not read then.
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return "", &noToken
		}
		return strings.TrimSpace(token), nil
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	_, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case isTooLarge:
		return "", &tooLarge
	case err != nil:
		return "", &badBody
	case len(raw) == 0:
		return "", &noToken
	}
	var body struct {
		Token string `json:"token"`
	}
	if json.Unmarshal(raw, &body) != nil {
		return "", &badBody
	}
	if body.Token == "" {
		return "", &noToken
	}
	return body.Token, nil
}

// tokenDigests returns the digests of the Application's tokens if it has a hook for the purpose. Otherwise
// it returns a digest that no token has, so that the response takes the same time.
func tokenDigests(app *v1alpha1.Application, purpose hooks.Purpose) []string {
	if app == nil || app.Status.Hooks == nil || len(app.Status.Hooks.Tokens) == 0 || !slices.Contains(hooks.Purposes(app), purpose) {
		return []string{hooks.TokenDigest("", "")}
	}
	return app.Status.Hooks.Tokens
}

// annotations maps each purpose to the annotation that records the call.
var annotations = map[hooks.Purpose]string{
	hooks.Complete: v1alpha1.AnnotationCompleted, hooks.Shutdown: v1alpha1.AnnotationShutDown, hooks.Reconcile: v1alpha1.AnnotationReconcile,
}

// accept records the call, unless it is already recorded, or is too early or too late. A repeated call gets the same
// response, because a workload repeats a call whose response was lost.
func (s *Server) accept(ctx context.Context, app *v1alpha1.Application, purpose hooks.Purpose) response {
	if purpose == hooks.Shutdown && app.DeletionTimestamp == nil {
		app = s.refetch(ctx, app) // another replica may have started the hook, and the watch may be behind
	}
	deleting := app.DeletionTimestamp != nil
	at, said := app.Annotations[annotations[purpose]]
	switch {
	case purpose == hooks.Shutdown && !deleting:
		return notAsked
	case purpose != hooks.Reconcile && said:
		return accepted
	case purpose != hooks.Shutdown && deleting:
		return inDeletion
	case purpose == hooks.Reconcile && s.justNow(at):
		return tooMany
	}
	return s.write(ctx, app, purpose)
}

// refetch returns the Application as read from the API server. If it cannot be read, or was replaced by another one
// of the same name, refetch returns the given one. Only callers with a valid token cause this request.
func (s *Server) refetch(ctx context.Context, app *v1alpha1.Application) *v1alpha1.Application {
	read, err := s.request(ctx, &s.reading, string(app.UID), func(ctx context.Context) (any, error) {
		return s.options.Read(ctx, types.NamespacedName{Namespace: app.Namespace, Name: app.Name})
	})
	newer, _ := read.(*v1alpha1.Application)
	if err != nil || newer.UID != app.UID {
		return app
	}
	return newer
}

// justNow reports whether a recorded time is less than minReconcileInterval ago. It returns false for another text,
// because users set the annotation, too.
func (s *Server) justNow(at string) bool {
	last, err := time.Parse(time.RFC3339Nano, at)
	since := s.options.Now().Sub(last)
	return err == nil && since >= 0 && since < minReconcileInterval
}

// write records a call. The caller gets notNow after an error, which is logged, and must repeat the call.
func (s *Server) write(ctx context.Context, app *v1alpha1.Application, purpose hooks.Purpose) response {
	_, err := s.request(ctx, &s.writing, string(app.UID)+"/"+string(purpose), func(ctx context.Context) (any, error) {
		return nil, s.options.Annotate(ctx, app, annotations[purpose], s.options.Now().UTC().Format(time.RFC3339Nano))
	})
	if err != nil {
		klog.FromContext(ctx).Error(err, "A callback cannot be recorded", "application", klog.KObj(app), "purpose", purpose)
		return notNow
	}
	return accepted
}

// request calls the API server, within apiTimeout. Concurrent calls with the same key share a request and its slot. It
// returns errBusy if there is no free slot.
func (s *Server) request(ctx context.Context, group *singleflight.Group, key string, call func(context.Context) (any, error)) (any, error) {
	result, err, _ := group.Do(key, func() (any, error) {
		// The first of several merged callers may disconnect.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiTimeout)
		defer cancel()
		if !s.limits.begin(ctx) {
			return nil, errBusy
		}
		defer s.limits.done()
		return call(ctx)
	})
	return result, err
}

var errBusy = errors.New("too many callbacks are being recorded")
