package cluster

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// StallTimeouts configures how long a watch can be inactive before it counts as stalled. Activity is a
// list, an event or a bookmark. The zero value selects the defaults.
type StallTimeouts struct {
	// Failing is the timeout for a watch whose last request has failed or has no response.
	Failing time.Duration
	// Quiet is the timeout for an open watch. API servers send a bookmark every minute, or up to three
	// seconds later, so a shorter timeout would cause requests when nothing happens. After it, the
	// reflector lists again. Each such request must get a response within Answer.
	Quiet, Answer time.Duration
	// Longest is the maximum of Quiet, which grows if the API server sends no bookmarks.
	Longest time.Duration
	// Check is the interval for finding stalled watches.
	Check time.Duration
}

var defaultStallTimeouts = StallTimeouts{
	Failing: time.Minute, Quiet: 65 * time.Second, Answer: 10 * time.Second, Longest: 10 * time.Minute, Check: 5 * time.Second,
}

// backoff returns the backoff for a failing watch. Its maximum is short enough that every watch is retried
// within Failing after the API server is back.
func (p StallTimeouts) backoff() *wait.Backoff {
	const first = 800 * time.Millisecond
	return &wait.Backoff{Duration: min(first, p.Failing/4), Cap: p.Failing / 4, Steps: 10, Factor: 2, Jitter: 1}
}

// errStalled is the error of a stalled watch whose requests have not failed.
var errStalled = errors.New("the API server has sent no events for more than a minute, and does not respond")

// watchHealth is the state of a watch: the time of the last activity, and the current error.
type watchHealth struct {
	patience StallTimeouts
	line     *connectionHealth

	mu    sync.Mutex
	heard time.Time
	// err is the error of the last request. It is nil after a response.
	err error
	// quiet is patience.Quiet, or longer if the API server sends no bookmarks.
	quiet time.Duration
	// asked is the time of a request without a response so far, or zero.
	asked time.Time
	// stale is true if the reflector has to list before it watches again.
	stale bool
	// connection identifies the connection of the last stream. It is empty if unknown.
	connection string
}

func newWatchHealth(patience StallTimeouts, line *connectionHealth) *watchHealth {
	return &watchHealth{patience: patience, line: line, quiet: patience.Quiet, heard: time.Now()}
}

// recordActivity records activity and returns the timeout for the next one.
func (p *watchHealth) recordActivity(bookmark bool) time.Duration {
	now := time.Now()
	p.line.answered(now)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard, p.err, p.asked = now, nil, time.Time{}
	if bookmark {
		p.quiet = p.patience.Quiet
	}
	return p.quiet
}

// recordResult records the result of a request. A successful response alone is no activity: a watch can be
// opened at a future version, and then delivers no events.
func (p *watchHealth) recordResult(err error) {
	if errors.Is(err, context.Canceled) {
		return // canceled by the reflector
	}
	status, responded := errors.AsType[*apierrors.StatusError](err)
	unreached := err != nil && !responded
	switch {
	case unreached:
		p.line.broke()
	case err == nil, status.Status().Code < http.StatusInternalServerError && status.Status().Code != http.StatusTooManyRequests:
		p.line.answered(time.Now())
	} // other errors neither start nor end an outage
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	// The API server may have been restored from a backup. A watch from a version that does not exist yet
	// would deliver no events until that version is reached, so the reflector has to list first.
	p.stale = p.stale || unreached
}

// recordTimeout records a period without activity. It makes the reflector list again and doubles the
// timeout.
func (p *watchHealth) recordTimeout() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stale, p.quiet = true, min(2*p.quiet, p.patience.Longest)
}

// beginRequest records a request, and endRequest its response.
func (p *watchHealth) beginRequest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = time.Now()
}

func (p *watchHealth) endRequest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = time.Time{}
}

// markStale makes the reflector list before it watches again.
func (p *watchHealth) markStale() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stale = true
}

// takeStale reports whether the reflector has to list, and resets the flag.
func (p *watchHealth) takeStale() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	stale := p.stale
	p.stale = false
	return stale
}

// recordConnection records the connection of a stream and reports whether it differs from the last one. In
// this case, the API server may have been down and may have been restored from a backup. No request needs
// to fail then: the HTTP client retries when a connection breaks, and waits while a server starts.
func (p *watchHealth) recordConnection(way string) (moved bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	moved = way != "" && p.connection != "" && way != p.connection
	p.connection = way
	return moved
}

// stalledSince returns the time of the last activity. The error is nil unless the watch is stalled.
func (p *watchHealth) stalledSince(now, from time.Time) (since time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	overdue := func(t time.Time, most time.Duration) bool {
		if t.Before(from) {
			t = from
		}
		return now.Sub(t) >= most
	}
	switch {
	case p.err != nil && overdue(p.heard, p.patience.Failing):
		return p.heard, p.err
	case !p.asked.IsZero() && overdue(p.asked, p.patience.Answer) && overdue(p.heard, p.patience.Failing):
		return p.heard, errStalled
	}
	return p.heard, nil
}

// stalled returns 1 for a stalled watch, and otherwise 0.
func (p *watchHealth) stalled(now time.Time) int {
	if _, err := p.stalledSince(now, time.Time{}); err != nil {
		return 1
	}
	return 0
}

// reportableStall returns stalledSince while the API server is reachable. During an outage no stall is
// reported, because its status could not be written anyway, and afterwards each watch gets time to recover.
// So an outage does not change the status of Applications.
func (p *watchHealth) reportableStall(now time.Time) (since time.Time, err error) {
	down, back := p.line.state()
	if down {
		back = now // nothing is overdue yet
	}
	return p.stalledSince(now, back)
}

// connectionHealth is the state of the connection to an API server. Several watches share it.
type connectionHealth struct {
	mu   sync.Mutex
	down bool
	back time.Time
}

func (l *connectionHealth) broke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
}

func (l *connectionHealth) answered(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		l.down, l.back = false, now
	}
}

func (l *connectionHealth) state() (down bool, back time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.down, l.back
}
