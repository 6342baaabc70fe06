package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// control is the server for commands to a running supervisor: a port on the loopback interface, published
// in control.json and protected by the token. Only the supervisor can restart a component, because
// components end with their parent process.
type control struct {
	server *http.Server
	dir    directory
}

type endpoint struct {
	URL, Token string
}

const controlFile = "control.json"

func (s *supervisor) serveControl(stop context.CancelFunc) (*control, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for commands: %w", err)
	}
	c := &control{dir: s.dir}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if s.ready.Load() {
			return
		}
		http.Error(w, "starting", http.StatusServiceUnavailable)
	})
	mux.HandleFunc("POST /stop", func(http.ResponseWriter, *http.Request) { stop() })
	mux.HandleFunc("POST /restart/{component}", func(w http.ResponseWriter, r *http.Request) {
		if err := s.restart(r.Context(), r.PathValue("component")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	c.server = &http.Server{Handler: guarded(s.token, mux), ReadHeaderTimeout: time.Minute}
	go func() { _ = c.server.Serve(listener) }()
	return c, s.dir.writeJSON(controlFile, endpoint{URL: "http://" + listener.Addr().String(), Token: s.token})
}

func guarded(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "not allowed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Close stops listening. It waits for running requests for a limited time, because a restart can take long.
func (c *control) Close() {
	_ = os.Remove(c.dir.path(controlFile))
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close()
	}
}

// command sends a command to the supervisor of the directory.
func (d directory) command(ctx context.Context, method, path string) error {
	var e endpoint
	if err := d.readJSON(controlFile, &e); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, e.URL+path, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+e.Token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	text, _ := io.ReadAll(response.Body)
	return statusError{url: path, code: response.StatusCode, body: string(text)}
}

// Down stops the control plane of the directory and returns when it has ended. It reports whether there was
// one.
func Down(ctx context.Context, path string) (bool, error) {
	dir := directory(path)
	running, err := dir.running()
	if err != nil || !running {
		return false, err
	}
	err = poll(ctx, func() error {
		if err := dir.command(ctx, http.MethodPost, "/stop"); err == nil {
			return nil
		}
		// The supervisor may be about to write control.json, or about to end.
		if running, err := dir.running(); running || err != nil {
			return errors.New("the supervisor does not answer")
		}
		return nil
	})
	if err != nil {
		return true, err
	}
	return true, poll(ctx, func() error {
		if running, err := dir.running(); running || err != nil {
			return errors.Join(errors.New("still stopping"), err)
		}
		return nil
	})
}

// Restart kills the component if it is still running, and starts it again with the same command line. It
// returns when the component is ready.
func Restart(ctx context.Context, path, component string) error {
	dir := directory(path)
	running, err := dir.running()
	if err != nil {
		return err
	}
	if !running {
		return fmt.Errorf("no control plane runs in %s", path)
	}
	return dir.command(ctx, http.MethodPost, "/restart/"+component)
}
