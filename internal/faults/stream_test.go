package faults_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ways in which a watch ends.
const (
	closes  = "closed watch"
	cuts    = "cut watch"
	expires = "expired watch"
	silent  = "silent watch"
)

const tooOld = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old","reason":"Expired","code":410}}` + "\n"

// watch limits a watch to some events, and injects faults into them.
func (i *injector) watch(request *http.Request) (*http.Response, error) {
	fate := i.fate(request)
	if fate.draw(10) == 0 {
		return i.fail(request, http.StatusServiceUnavailable, "ServiceUnavailable")
	}
	response, err := i.next.RoundTrip(request)
	life, end := fate.draw(30), fate.draw(4)
	if err != nil || response.StatusCode != http.StatusOK || life < 0 {
		return response, err
	}
	reader, writer := io.Pipe()
	s := &stream{fate: fate, left: life + 1, listing: request.URL.Query().Get("sendInitialEvents") == "true", body: response.Body, to: writer, end: []string{closes, cuts, expires, silent}[max(end, 0)]}
	go s.copy()
	response.Body = &body{PipeReader: reader, upstream: s.body}
	return response, nil
}

// body closes both ends.
type body struct {
	*io.PipeReader
	upstream io.Closer
}

func (b *body) Close() error {
	_ = b.upstream.Close()
	return b.PipeReader.Close()
}

// stream is one watch.
type stream struct {
	*fate
	left    int  // events until it ends
	listing bool // the events still belong to the initial list; none of these is dropped
	body    io.ReadCloser
	to      *io.PipeWriter
	end     string
}

// copy copies events until the watch ends. No client could notice dropped events, so copy soon ends such a
// watch with the error that its version is too old.
func (s *stream) copy() {
	var over <-chan time.Time
	lines := make(chan []byte)
	stop := make(chan struct{})
	go s.read(lines, stop)
	defer close(stop)
	defer s.body.Close()
	for {
		select {
		case <-over:
			s.finish()
			return
		case line, ok := <-lines:
			if !ok {
				if s.end == expires {
					s.finish()
				}
				_ = s.to.Close()
				return
			}
			if s.listing {
				s.listing = !bytes.Contains(line, []byte(metav1.InitialEventsAnnotationKey))
			} else if s.left--; s.left == 0 {
				over = time.After(0)
			}
			switch lot := s.draw(20); {
			case lot == 0 && !s.listing:
				s.injector.note("lost event", s.request)
				s.injector.say("%.300s", line)
				s.end, over = expires, time.After(time.Second)
				continue
			case lot == 1 || lot == 2:
				s.injector.note("event twice", s.request)
				if _, err := s.to.Write(line); err != nil {
					return
				}
			}
			if _, err := s.to.Write(line); err != nil {
				return
			}
		}
	}
}

func (s *stream) read(lines chan<- []byte, stop <-chan struct{}) {
	defer close(lines)
	reader := bufio.NewReader(s.body)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return
		}
		select {
		case lines <- line:
		case <-stop:
			return
		}
	}
}

func (s *stream) finish() {
	s.injector.note(s.end, s.request)
	switch s.end {
	case cuts:
		_, _ = s.to.Write([]byte(`{"type":"MODIFIED","object":{"kind":"Conf`))
	case expires:
		_, _ = s.to.Write([]byte(tooOld))
	case silent:
		<-time.After(2 * time.Second)
	}
	_ = s.to.Close()
}
