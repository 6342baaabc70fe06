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

// Request is one that the API server has answered.
//
// A watch is in the log when it ends, not when it begins. Any other request is there
// before its response ends: a test that has a response finds it.
type Request struct {
	// Verb is that of Kubernetes: get, list, watch, create, update, patch, delete, deletecollection.
	Verb string
	// URI is the path with the query.
	URI                                           string
	Group, Resource, Subresource, Namespace, Name string
	UserAgent                                     string
	// User is who authenticated; ImpersonatedUser is on whose behalf, and often empty.
	User, ImpersonatedUser string
	// Code is the HTTP status.
	Code int
	// Time is when the request arrived, Done when the response was complete.
	Time, Done time.Time
}

// String is for messages: one line.
func (r Request) String() string {
	on := ""
	if r.ImpersonatedUser != "" {
		on = " for " + r.ImpersonatedUser
	}
	return fmt.Sprintf("%s %d %s %s%s (%s)", r.Time.Format("15:04:05.000"), r.Code, r.Verb, r.URI, on, r.UserAgent)
}

// Requests are in the order in which they were completed.
type Requests []Request

// By keeps the requests whose user agent begins with the prefix.
func (rs Requests) By(userAgent string) Requests {
	return rs.Where(func(r Request) bool { return strings.HasPrefix(r.UserAgent, userAgent) })
}

// Writes keeps the requests that could have changed something.
func (rs Requests) Writes() Requests {
	return rs.Where(func(r Request) bool { return !slices.Contains([]string{"get", "list", "watch"}, r.Verb) })
}

// Where keeps the requests for which the condition holds.
func (rs Requests) Where(condition func(Request) bool) Requests {
	var kept Requests
	for _, r := range rs {
		if condition(r) {
			kept = append(kept, r)
		}
	}
	return kept
}

// String is for messages: a line for each.
func (rs Requests) String() string {
	var text strings.Builder
	for _, r := range rs {
		fmt.Fprintln(&text, r)
	}
	return text.String()
}

// Mark is a moment: a place in the audit log.
type Mark int64

// Mark returns the present moment.
func (c *Cluster) Mark() Mark {
	info, err := os.Stat(c.auditLog())
	if err != nil {
		return 0
	}
	return Mark(info.Size())
}

// Requests returns what the API server has answered since the mark, its own requests
// to itself included; the zero Mark is the start.
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
	// What follows the last newline is a line that is being written.
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

// parseRequest reads an event of audit.k8s.io/v1.
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
