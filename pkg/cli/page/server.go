package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/worker"
)

// Server is a server of the pages of one user. It reads with the rights of that user. Set the exported fields
// before Serve.
type Server struct {
	// Connect connects to the cluster. The server calls it again from time to time, because its mappings of
	// kinds become outdated.
	Connect func() (*connection.Cluster, error)
	// Namespace is the only namespace whose Applications are listed. If it is "", the server lists the
	// Applications of all namespaces, if the user may list them.
	Namespace string
	// Program is the name by which the user called this program.
	Program string
	Now     func() time.Time

	// applications is the store for the overview.
	applications *applications
	// only is the namespace to which the list is limited; "" for all.
	only string
	// atOnce has an element for each page that is being rendered, and streams one for each open stream.
	atOnce  chan struct{}
	streams chan struct{}

	// mu guards connected and since.
	mu        sync.Mutex
	connected *connection.Cluster
	// since is the time of the connection.
	since time.Time
}

// Limits of a server.
const (
	// decisionsAtOnce is the maximum number of pages that are rendered at the same time.
	decisionsAtOnce = 4
	// streamsAtOnce is the maximum number of open streams of events.
	streamsAtOnce = 64
	// mappingsAge is the maximum age of the mappings of kinds.
	mappingsAge = time.Minute
	// answerTime is the timeout of a page.
	answerTime = 30 * time.Second
)

// Serve serves the pages until the context ends, and then returns nil. It calls started with the address to
// open. It returns an error if the user may not list Applications. It closes listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener, started func(address string)) error {
	s.applications, s.atOnce, s.streams = newApplications(), make(chan struct{}, decisionsAtOnce), make(chan struct{}, streamsAtOnce)
	c, err := s.cluster()
	if err == nil {
		s.only, err = mayList(ctx, c, cmp.Or(s.Namespace, c.Namespace), s.Namespace == "")
	}
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	// The store is filled in the background; the first page waits for it.
	watching.Go(func() { s.applications.watch(ctx, c, s.only) })
	defer watching.Wait()
	defer stop()

	guarded, address := newGuard(listener.Addr(), s.routes())
	server := &http.Server{
		Handler: worker.RecoverPanics(ctx, guarded), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	// Shutdown would wait for the streams of open pages.
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	started(address)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the page: %w", err)
	}
	return nil
}

// routes returns the handler of all addresses. Events are not bounded, because a stream is open as long as its
// page.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.listed(s.overview))
	mux.HandleFunc("GET /history", s.listed(s.writers))
	mux.HandleFunc("GET /applications/{namespace}/{name}", s.decided(s.application))
	mux.HandleFunc("GET /applications/{namespace}/{name}/history", s.decided(s.history))
	mux.HandleFunc("GET /applications/{namespace}/{name}/{resource...}", s.decided(s.object))
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /assets/{file}", serveAsset)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		s.problem(w, http.StatusNotFound, errors.New("there is no such page"))
	})
	return mux
}

// serveAsset serves an embedded file.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	asset, ok := assets[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", asset.contentType)
	_, _ = w.Write([]byte(asset.text)) // the client may have disconnected
}

// bounded limits how many pages are rendered at once, and how long each takes, including the time to wait.
func (s *Server) bounded(handle func(http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		select {
		case s.atOnce <- struct{}{}:
			defer func() { <-s.atOnce }()
			handle(w, r.WithContext(ctx))
		case <-ctx.Done():
			s.problem(w, http.StatusServiceUnavailable, errors.New("too many requests for pages at the same time"))
		}
	}
}

// cluster returns the connection, and replaces it from time to time.
func (s *Server) cluster() (*connection.Cluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connected != nil && s.Now().Sub(s.since) < mappingsAge {
		return s.connected, nil
	}
	c, err := s.Connect()
	if err == nil {
		s.connected, s.since = c, s.Now()
	}
	return c, err
}

// listed serves a page about all Applications. Any change of an Application updates the page.
func (s *Server) listed(page func(all []Summary, query url.Values) document) http.HandlerFunc {
	return s.bounded(func(w http.ResponseWriter, r *http.Request) {
		all, revision, err := s.applications.list(r.Context())
		if err != nil {
			s.problem(w, http.StatusBadGateway, err)
			return
		}
		d := page(all, r.URL.Query())
		d.Watched, d.Revision = "*", revision
		d.write(w, http.StatusOK)
	})
}

// overview returns the list of Applications.
func (s *Server) overview(all []Summary, query url.Values) document {
	o := overviewOf(all, Filter{query.Get("q"), query.Get("namespace"), query.Get("state")}, s.Now())
	o.Only = s.only
	d := s.document("Applications", "overview.html", o)
	d.Crumbs[0].Link = "" // this page
	return d
}

// writers returns the clients that change held fields, or the changes of one.
func (s *Server) writers(all []Summary, query url.Values) document {
	const title = "Clients with most changes"
	who := writersOf(all, query)
	who.Only = s.only
	if who.IsOne {
		return s.document("What "+who.Name()+" changed", "writers.html", who, crumb{title, "/history"}, crumb{who.Name(), ""})
	}
	return s.document(title, "writers.html", who, crumb{title, ""})
}

// decided serves a page about the Application that an address names. A change of this Application updates the page.
func (s *Server) decided(page func(r *http.Request, c *connection.Cluster, d files.Decision) (document, error)) http.HandlerFunc {
	return s.bounded(func(w http.ResponseWriter, r *http.Request) {
		// The revision is read before the Application, so that a change in between updates the page.
		_, revision, _, _ := s.applications.since(math.MaxInt64)
		var shown document
		d, c, err := s.decision(r)
		if err == nil {
			shown, err = page(r, c, d)
		}
		if err != nil {
			s.problem(w, statusOf(err), err)
			return
		}
		shown.Watched, shown.Revision = d.Namespace+"/"+d.Name, revision
		shown.write(w, http.StatusOK)
	})
}

// decision returns the decision about the Application that an address names.
func (s *Server) decision(r *http.Request) (files.Decision, *connection.Cluster, error) {
	c, err := s.cluster()
	if err != nil {
		return files.Decision{}, nil, err
	}
	at := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	if err := files.ValidName(at.Name); err != nil {
		return files.Decision{}, nil, err
	}
	d, err := c.Decided(r.Context(), at, s.Now())
	return d, c, err
}

// application returns the page of an Application.
func (s *Server) application(r *http.Request, c *connection.Cluster, d files.Decision) (document, error) {
	view := report.StatusOf(d)
	view.Attend(d.Application, s.Now())
	events, eventsErr := report.Events(r.Context(), c, d.Application)
	view.Events = events
	isOwned, warnings := r.URL.Query().Get("tree") == "owned", []string(nil)
	if isOwned {
		warnings = view.AddOwned(r.Context(), c, d)
	}
	a := applicationOf(d, view, s.Program)
	if eventsErr != nil {
		a.Notes = append(a.Notes, eventsErr.Error())
	}
	a.Owned, a.Notes = isOwned, append(a.Notes, warnings...)
	return s.document(a.title(), "application.html", a, crumb{d.Namespace + "/" + d.Name, ""}), nil
}

// history returns the history of an Application.
func (s *Server) history(r *http.Request, c *connection.Cluster, d files.Decision) (document, error) {
	older, err := c.OlderHistory(r.Context(), d.Application)
	h := historyOf(d, older)
	if err != nil {
		h.Note = err.Error()
	}
	name := d.Namespace + "/" + d.Name
	return s.document("History of "+name, "history.html", h, crumb{name, "/applications/" + name}, crumb{"History", ""}), nil
}

// object returns the page of a resource. It returns an error if the Application is invalid.
func (s *Server) object(r *http.Request, _ *connection.Cluster, d files.Decision) (document, error) {
	if err := files.NotDecided(d); err != nil {
		return document{}, err
	}
	id, err := findRef(r.PathValue("resource"), files.IDsOf(d))
	if err != nil {
		return document{}, err
	}
	o, name := objectOf(d, id, entriesOf(d, id), s.Now()), d.Namespace+"/"+d.Name
	return s.document(o.Name+" · "+name, "object.html", o, crumb{name, "/applications/" + name}, crumb{o.Name, ""}), nil
}

// statusOf returns the HTTP status of an error page. Most errors are about an Application that does not exist.
func statusOf(err error) int {
	switch {
	case apierrors.IsForbidden(err):
		return http.StatusForbidden
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	default:
		return http.StatusNotFound
	}
}

// document returns a page with a link to the list of Applications, followed by other links.
func (s *Server) document(title, template string, content any, crumbs ...crumb) document {
	return document{
		Title: title, Template: template, Content: content, Now: s.Now(), Program: s.Program,
		Crumbs: append([]crumb{{"Applications", "/"}}, crumbs...),
	}
}

// problem responds with a page that shows an error.
func (s *Server) problem(w http.ResponseWriter, status int, err error) {
	s.document("Error", "problem.html", err.Error()).write(w, status)
}

// events streams the changes of Applications to a page, as server-sent events. The request names the last
// revision that the page knows: in Last-Event-ID after the browser has reconnected, or else in the address.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	known, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil {
		known, _ = strconv.ParseInt(r.URL.Query().Get("since"), 10, 64)
	}
	beat := time.NewTicker(20 * time.Second)
	defer beat.Stop()
	// No trouble has this text, so each stream begins with the current trouble.
	said := "unknown"
	for {
		keys, now, trouble, news := s.applications.since(known)
		known = now
		if len(keys) > 0 {
			text, _ := json.Marshal(keys) // strings can always be encoded
			fmt.Fprintf(w, "id: %d\nevent: changed\ndata: %s\n\n", now, text)
		}
		if trouble != said {
			said = trouble
			text, _ := json.Marshal(trouble)
			fmt.Fprintf(w, "event: trouble\ndata: %s\n\n", text)
		}
		if out.Flush() != nil {
			return
		}
		select {
		case <-news:
		case <-beat.C:
			fmt.Fprint(w, ": still here\n\n")
		case <-r.Context().Done():
			return
		}
	}
}
