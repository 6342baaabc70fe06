package testcluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Request is a request that the API server has completed.
//
// A watch is logged when it ends, not when it starts. Other requests are logged before their responses end,
// so a test that has received a response finds the request.
type Request struct {
	// Verb is the Kubernetes verb: get, list, watch, create, update, patch, delete, deletecollection.
	Verb string
	// URI is the path with the query.
	URI                                           string
	Group, Resource, Subresource, Namespace, Name string
	UserAgent                                     string
	// User is the authenticated user. ImpersonatedUser is empty without impersonation.
	User, ImpersonatedUser string
	// Code is the HTTP status.
	Code int
	// Time is when the request arrived, Done when the response was complete.
	Time, Done time.Time
}

// String formats the request as one line for messages.
func (r Request) String() string {
	on := ""
	if r.ImpersonatedUser != "" {
		on = " for " + r.ImpersonatedUser
	}
	return fmt.Sprintf("%s %d %s %s%s (%s)", r.Time.Format("15:04:05.000"), r.Code, r.Verb, r.URI, on, r.UserAgent)
}

// Requests are in order of completion.
type Requests []Request

// By returns the requests whose user agent has the prefix.
func (rs Requests) By(userAgent string) Requests {
	return rs.Where(func(r Request) bool { return strings.HasPrefix(r.UserAgent, userAgent) })
}

// Writes returns the requests that can have changed something.
func (rs Requests) Writes() Requests {
	return rs.Where(func(r Request) bool { return !slices.Contains([]string{"get", "list", "watch"}, r.Verb) })
}

// Where returns the requests for which the condition is true.
func (rs Requests) Where(condition func(Request) bool) Requests {
	var kept Requests
	for _, r := range rs {
		if condition(r) {
			kept = append(kept, r)
		}
	}
	return kept
}

// String formats the requests for messages, one per line.
func (rs Requests) String() string {
	var text strings.Builder
	for _, r := range rs {
		fmt.Fprintln(&text, r)
	}
	return text.String()
}

// Mark is a position in the audit log.
type Mark int64

// Mark returns the current end of the audit log.
func (c *Cluster) Mark() Mark {
	info, err := os.Stat(c.auditLog())
	if err != nil {
		return 0
	}
	return Mark(info.Size())
}

// Requests returns the completed requests since the mark, including those of the API server to itself. The
// zero Mark is the start.
func (c *Cluster) Requests(since Mark) (Requests, error) {
	file, err := os.Open(c.auditLog())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(int64(since), io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	// The text after the last newline is an incomplete line.
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	var requests Requests
	for line := range bytes.Lines(text) {
		request, err := parseRequest(line)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", c.auditLog(), err)
		}
		requests = append(requests, request)
	}
	return requests, nil
}

func (c *Cluster) auditLog() string { return filepath.Join(c.dir, "audit.log") }

// parseRequest parses an event of audit.k8s.io/v1.
func parseRequest(line []byte) (Request, error) {
	var event struct {
		Verb             string
		RequestURI       string
		UserAgent        string
		User             struct{ Username string }
		ImpersonatedUser struct{ Username string }
		ObjectRef        struct{ APIGroup, Resource, Subresource, Namespace, Name string }
		ResponseStatus   struct{ Code int }
		Received         time.Time `json:"requestReceivedTimestamp"`
		Done             time.Time `json:"stageTimestamp"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return Request{}, err
	}
	return Request{
		Verb:             event.Verb,
		URI:              event.RequestURI,
		Group:            event.ObjectRef.APIGroup,
		Resource:         event.ObjectRef.Resource,
		Subresource:      event.ObjectRef.Subresource,
		Namespace:        event.ObjectRef.Namespace,
		Name:             event.ObjectRef.Name,
		UserAgent:        event.UserAgent,
		User:             event.User.Username,
		ImpersonatedUser: event.ImpersonatedUser.Username,
		Code:             event.ResponseStatus.Code,
		Time:             event.Received,
		Done:             event.Done,
	}, nil
}
