package notify

import (
	"bytes"
	"cmp"
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

// Options configures a Sender.
type Options struct {
	// URL is the receiver, with the scheme https or http.
	URL string
	// Key signs each request. If empty, requests are not signed.
	Key []byte
	// Queue is the maximum number of queued events. It defaults to 1,000.
	Queue int
	// First is the delay after the first failure. It doubles with each failure up to Longest. The defaults
	// are 1 s and 5 min.
	First, Longest time.Duration
	// Timeout limits one request. It defaults to 10 s.
	Timeout time.Duration
	// Last is the time for which Run continues to send queued events on shutdown. It defaults to 5 s.
	Last time.Duration
	// UserAgent is the User-Agent header.
	UserAgent string
	// Now is the clock. It defaults to time.Now.
	Now func() time.Time
}

// SignatureHeader is the header with the time and the signature of a request, as t=SECONDS,v1=HEX. The
// signature is the HMAC-SHA256 of the time, a dot and the body.
const SignatureHeader = "Holdfast-Signature"

// Sender sends events. One goroutine runs Run. All other methods can be called at any time, from any goroutine.
type Sender struct {
	options Options
	// client follows no redirect and uses no proxy.
	client *http.Client
	// queue contains the events that wait. The event that is being sent is no longer in it.
	queue chan event.Event

	// sent and dropped count events, failed counts requests.
	sent, dropped, failed atomic.Int64
}

// New returns a Sender. Run starts it. The error concerns the URL and does not quote it.
func New(options Options) (*Sender, error) {
	u, err := url.Parse(options.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("it is not a URL such as https://example.com/hook")
	}
	if u.User != nil {
		return nil, errors.New("it contains a user: sign the requests with a key instead")
	}
	options.Queue = cmp.Or(options.Queue, 1000)
	options.First, options.Longest = cmp.Or(options.First, time.Second), cmp.Or(options.Longest, 5*time.Minute)
	options.Timeout = cmp.Or(options.Timeout, 10*time.Second)
	options.Last = cmp.Or(options.Last, 5*time.Second)
	if options.Now == nil {
		options.Now = time.Now
	}
	// Proxies of the environment must not see the events.
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	return &Sender{options: options, queue: make(chan event.Event, options.Queue), client: &http.Client{
		Transport: transport, Timeout: options.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Send queues an event without blocking. data must be a JSON value without secrets. It is encoded before Send
// returns, so the caller can change it afterwards. If the queue is full or data cannot be encoded, the event is
// dropped and counted.
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

// Stats returns the numbers of sent events, dropped events and failed requests.
func (s *Sender) Stats() (sent, dropped, failed int64) {
	return s.sent.Load(), s.dropped.Load(), s.failed.Load()
}

// Run sends events until the context ends, and then the queued ones for at most Options.Last. The remaining events
// are dropped, counted and logged. Run must be called only once.
func (s *Sender) Run(ctx context.Context) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() { time.AfterFunc(s.options.Last, cancel) })
	lost := 0
	for e, ok := s.next(ctx); ok; e, ok = s.next(ctx) {
		if s.deliver(sending, ctx.Done(), e) {
			continue
		}
		s.dropped.Add(1)
		if ctx.Err() != nil {
			lost++
			continue
		}
		klog.FromContext(ctx).Info("The receiver rejects a notification, which is dropped", "id", e.ID(), "subject", e.Subject())
	}
	if lost > 0 {
		klog.FromContext(ctx).Info("Notifications were not delivered and are lost", "count", lost)
	}
}

// next returns the next event. It waits for one until the context ends. ok is false if the queue is empty then. The
// first select prefers a queued event to the end of the context.
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

// maxRejections is how often one event is sent to a receiver that rejects its content.
const maxRejections = 5

// errRejected is the error of a response that rejects the content of an event. Other responses, such as 401 or 404,
// concern all events.
var errRejected = errors.New("the receiver rejects the event")

// deliver sends an event until it has arrived. It returns false if the receiver rejects it maxRejections times, or if
// the context ends first. When ending is closed, deliver retries once without delay. It logs only the first failure of
// an event, and counts all of them.
func (s *Sender) deliver(ctx context.Context, ending <-chan struct{}, e event.Event) bool {
	body, err := json.Marshal(e)
	if err != nil {
		return false
	}
	wait := s.options.First
	rejections := 0
	for told := false; ctx.Err() == nil && rejections < maxRejections; told = true {
		err := s.post(ctx, body)
		if err == nil {
			s.sent.Add(1)
			return true
		}
		s.failed.Add(1)
		if errors.Is(err, errRejected) {
			rejections++
		}
		if !told { // once per event
			klog.FromContext(ctx).Info("A notification was not delivered and is sent again", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
		// A nil channel is never ready, so this happens only once.
		case <-ending:
			ending, wait = nil, s.options.First
		case <-time.After(wait):
			wait = min(2*wait, s.options.Longest)
		}
	}
	return false
}

// post sends one request. The signature contains the time of the request, so a repeated event has another signature.
// Errors contain neither the URL nor the response.
func (s *Sender) post(ctx context.Context, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.options.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL is invalid")
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
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the URL
		}
		return fmt.Errorf("no response: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be reused
	switch code := response.StatusCode; code {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return fmt.Errorf("%w with status %d", errRejected, code)
	default:
		if code < 200 || code > 299 {
			return fmt.Errorf("the response has status %d", code)
		}
		return nil
	}
}

// Sign returns the value of SignatureHeader for a body that is sent at the given time.
func Sign(key []byte, at time.Time, body []byte) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(seconds + "."))
	mac.Write(body)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
