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

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
)

// answer is what a call gets. Text is one of few constant texts.
type answer struct {
	code   int
	result string // for the metric
	text   string
}

// The answers. There is one for an unknown Application and a wrong token, so that
// nobody learns which Applications exist.
var (
	accepted   = answer{http.StatusOK, "accepted", ""}
	noPath     = answer{http.StatusNotFound, "not_found", "the path is /v1/applications/NAMESPACE/NAME/complete, shutdown or reconcile"}
	noMethod   = answer{http.StatusMethodNotAllowed, "method_not_allowed", "complete and shutdown are called with PUT, reconcile with POST"}
	tooLarge   = answer{http.StatusRequestEntityTooLarge, "too_large", "the body may have 4096 bytes"}
	badBody    = answer{http.StatusBadRequest, "bad_request", `the body must be {"token": "…"}, unless the token is sent as bearer`}
	noToken    = answer{http.StatusUnauthorized, "no_token", `send the token: as bearer, or in the body {"token": "…"}`}
	wrongToken = answer{http.StatusUnauthorized, "wrong_token", "there is no such Application, or the token is not its"}
	tooMany    = answer{http.StatusTooManyRequests, "too_many", "too many calls: try again later"}
	inDeletion = answer{http.StatusConflict, "in_deletion", "the Application is being deleted"}
	notAsked   = answer{http.StatusConflict, "not_shutting_down", "the Application is not shutting down"}
	notNow     = answer{http.StatusServiceUnavailable, "unavailable", "the call cannot be written down now: try again"}
)

// methods are those of the callbacks.
var methods = map[hooks.Purpose]string{
	hooks.Complete: http.MethodPut, hooks.Shutdown: http.MethodPut, hooks.Reconcile: http.MethodPost,
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := s.answer(w, r)
	s.options.Count(a.result)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	switch a.code {
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

func (s *Server) answer(w http.ResponseWriter, r *http.Request) answer {
	caller := hostOf(r.RemoteAddr)
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

// authenticate finds the Application whose token a request has.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, caller string) (*v1alpha1.Application, hooks.Purpose, *answer) {
	namespace, name, purpose, ok := split(r.URL.Path)
	if !ok {
		return nil, "", &noPath
	}
	if r.Method != methods[purpose] {
		w.Header().Set("Allow", methods[purpose])
		return nil, "", &noMethod
	}
	if !s.options.Ready() {
		return nil, "", &notNow
	}
	token, problem := tokenOf(w, r)
	if problem != nil {
		return nil, "", s.failed(caller, problem)
	}
	app := s.options.Lookup(namespace, name)
	if !hooks.Accepts(digestsOf(app, purpose), purpose, token) {
		return nil, "", s.failed(caller, &wrongToken)
	}
	return app, purpose, nil
}

// failed is the answer to a call without a valid token.
func (s *Server) failed(caller string, a *answer) *answer {
	if s.limits.failed(caller) {
		return &tooMany
	}
	return a
}

// split takes the path of a callback apart.
func split(path string) (namespace, name string, purpose hooks.Purpose, ok bool) {
	parts := strings.Split(path, "/")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "v1" || parts[2] != "applications" {
		return "", "", "", false
	}
	purpose = hooks.Purpose(parts[5])
	return parts[3], parts[4], purpose, methods[purpose] != ""
}

// tokenOf is the token of a request: the bearer's, or else that in the body, of
// which no more than a few bytes are read.
func tokenOf(w http.ResponseWriter, r *http.Request) (string, *answer) {
	if r.ContentLength > mostBody {
		return "", &tooLarge
	}
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return "", &noToken
		}
		return strings.TrimSpace(token), nil
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
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

// digestsOf are those of an Application's tokens, if it has a hook for the
// purpose; or else one that no token has, so that the answer takes as long.
func digestsOf(app *v1alpha1.Application, purpose hooks.Purpose) []string {
	if app == nil || app.Status.Hooks == nil || len(app.Status.Hooks.Tokens) == 0 || !slices.Contains(hooks.Purposes(app), purpose) {
		return []string{hooks.TokenDigest("", "")}
	}
	return app.Status.Hooks.Tokens
}

// marks are the annotations by which the controller knows that it was called.
var marks = map[hooks.Purpose]string{
	hooks.Complete: v1alpha1.AnnotationCompleted, hooks.Shutdown: v1alpha1.AnnotationShutDown, hooks.Reconcile: v1alpha1.AnnotationReconcile,
}

// accept writes the call down, unless that was done, or is too early or too late.
func (s *Server) accept(ctx context.Context, app *v1alpha1.Application, purpose hooks.Purpose) answer {
	if purpose == hooks.Shutdown && app.DeletionTimestamp == nil {
		app = s.newer(ctx, app) // whoever was called by another replica may be faster than the watch
	}
	deleting := app.DeletionTimestamp != nil
	at, said := app.Annotations[marks[purpose]]
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

// newer is an Application as the API server has it, if it can be read and is still
// the same one.
func (s *Server) newer(ctx context.Context, app *v1alpha1.Application) *v1alpha1.Application {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiTimeout) // who came first may hang up
	defer cancel()
	if s.options.Read == nil {
		return app
	}
	// Once for all that come at the same time: an Application has one turn.
	read, err, _ := s.reading.Do(string(app.UID), func() (any, error) {
		if !s.limits.begin(ctx) {
			return app, nil
		}
		defer s.limits.done()
		return s.options.Read(ctx, types.NamespacedName{Namespace: app.Namespace, Name: app.Name})
	})
	newer, _ := read.(*v1alpha1.Application)
	if err != nil || newer.UID != app.UID {
		return app
	}
	return newer
}

func (s *Server) justNow(at string) bool {
	last, err := time.Parse(time.RFC3339Nano, at)
	since := s.options.Now().Sub(last)
	return err == nil && since >= 0 && since < oftenest
}

// write writes a call down, once for all that come at the same time.
func (s *Server) write(ctx context.Context, app *v1alpha1.Application, purpose hooks.Purpose) answer {
	_, err, _ := s.writing.Do(string(app.UID)+"/"+string(purpose), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiTimeout) // who came first may hang up
		defer cancel()
		if !s.limits.begin(ctx) {
			return nil, errBusy
		}
		defer s.limits.done()
		return nil, s.options.Accept(ctx, app, purpose)
	})
	if err != nil {
		klog.FromContext(ctx).Error(err, "A callback cannot be written down", "application", klog.KObj(app), "purpose", purpose)
		return notNow
	}
	return accepted
}

var errBusy = errors.New("too many callbacks are being written down")
