package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/klog/v2"
)

// Options say where events go.
type Options struct {
	// URL is posted to: https, or http.
	URL string
	// Key signs each request; empty for none.
	Key []byte
	// Queue is how many events may wait; 0: 1,000.
	Queue int
	// First is the wait after the first failure, twice as long each time, up to Longest;
	// 0: 1 s and 5 min.
	First, Longest time.Duration
	// Timeout bounds one request; 0: 10 s.
	Timeout time.Duration
	// Last is for how long Run goes on with what waits when it is to end; 0: 5 s.
	Last time.Duration
	// UserAgent names the program.
	UserAgent string
	// Now is the clock; nil for the real one.
	Now func() time.Time
}

// SignatureHeader has the time and the signature of a request: t=SECONDS,v1=HEX. It is
// the HMAC-SHA256 of the time, a dot and the body.
const SignatureHeader = "Holdfast-Signature"

// Sender sends events.
type Sender struct {
	options Options
	client  *http.Client
	queue   chan event.Event

	sent, dropped, failed atomic.Int64
}

// New makes a sender; Run starts it. The error is about the URL, and does not quote it.
func New(options Options) (*Sender, error) {
	u, err := url.Parse(options.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("it is not a URL like https://example.com/hook")
	}
	if u.User != nil {
		return nil, errors.New("it names a user: sign the requests with a key instead")
	}
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{{&options.First, time.Second}, {&options.Longest, 5 * time.Minute}, {&options.Timeout, 10 * time.Second}, {&options.Last, 5 * time.Second}} {
		if *d.value <= 0 {
			*d.value = d.usual
		}
	}
	if options.Queue <= 0 {
		options.Queue = 1000
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	return &Sender{options: options, queue: make(chan event.Event, options.Queue), client: &http.Client{
		Transport: transport, Timeout: options.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Send has an event be sent. It never waits. Data must be without secrets, and a JSON value.
func (s *Sender) Send(kind, source, subject string, data any) {
	e := event.New()
	e.SetID(string(uuid.NewUUID()))
	e.SetType(kind)
	e.SetSource(source)
	e.SetSubject(subject)
	e.SetTime(s.options.Now())
	if err := e.SetData(event.ApplicationJSON, data); err != nil {
		s.dropped.Add(1)
		return
	}
	select {
	case s.queue <- e:
	default:
		s.dropped.Add(1)
	}
}

// Counts are how many events were sent and dropped, and how many requests have failed.
func (s *Sender) Counts() (sent, dropped, failed int64) {
	return s.sent.Load(), s.dropped.Load(), s.failed.Load()
}

// Waiting is how many events wait.
func (s *Sender) Waiting() int { return len(s.queue) }

// Run sends until the context ends, and then what waits, for as long as Options.Last
// says. What has not arrived by then is dropped, counted, and told in the log.
func (s *Sender) Run(ctx context.Context) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() { time.AfterFunc(s.options.Last, cancel) })
	lost := 0
	for e, ok := s.next(ctx); ok; e, ok = s.next(ctx) {
		if !s.deliver(sending, ctx.Done(), e) {
			s.dropped.Add(1)
			lost++
		}
	}
	if lost > 0 {
		klog.FromContext(ctx).Info("Notifications have not arrived, and are lost", "count", lost)
	}
}

// next waits for an event; ok is false if none waits and the context has ended.
func (s *Sender) next(ctx context.Context) (e event.Event, ok bool) {
	select {
	case e = <-s.queue:
		return e, true
	default:
	}
	select {
	case e = <-s.queue:
		return e, true
	case <-ctx.Done():
		return e, false
	}
}

// deliver sends an event until it has arrived, or the context ends: then it is false.
// When ending is closed it is sent once more without a wait.
func (s *Sender) deliver(ctx context.Context, ending <-chan struct{}, e event.Event) bool {
	body, err := json.Marshal(e)
	if err != nil {
		return false
	}
	wait := s.options.First
	for told := false; ctx.Err() == nil; told = true {
		err := s.post(ctx, body)
		if err == nil {
			s.sent.Add(1)
			return true
		}
		s.failed.Add(1)
		if !told { // once for each event
			klog.FromContext(ctx).Info("A notification has not arrived, and is sent again", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
		case <-ending:
			ending, wait = nil, s.options.First
		case <-time.After(wait):
			wait = min(2*wait, s.options.Longest)
		}
	}
	return false
}

func (s *Sender) post(ctx context.Context, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.options.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL cannot be used")
	}
	request.Header.Set("Content-Type", event.ApplicationCloudEventsJSON)
	if s.options.UserAgent != "" {
		request.Header.Set("User-Agent", s.options.UserAgent)
	}
	if len(s.options.Key) > 0 {
		request.Header.Set(SignatureHeader, Sign(s.options.Key, s.options.Now(), body))
	}
	response, err := s.client.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the URL
		}
		return fmt.Errorf("no answer: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection is used again
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("the answer is %d", response.StatusCode)
	}
	return nil
}

// Sign is the value of SignatureHeader for a body that is sent at a time.
func Sign(key []byte, at time.Time, body []byte) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(seconds + "."))
	mac.Write(body)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
