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

// Patience is for how long a watch may be without a sign of life: a list, an event,
// or a bookmark. The zero value stands for the usual one.
type Patience struct {
	// Failing is for one whose last request has failed, or has no answer.
	Failing time.Duration
	// Quiet is for one that is open. An API server sends a bookmark every minute, or up
	// to three seconds later: who asked sooner would ask every minute at rest. After it
	// everything is listed again. Whatever is asked is to be answered within Answer.
	Quiet, Answer time.Duration
	// Longest is what Quiet grows to where an API server sends no bookmarks.
	Longest time.Duration
	// Check is how often it is looked for watches without a sign of life.
	Check time.Duration
}

var usualPatience = Patience{
	Failing: time.Minute, Quiet: 65 * time.Second, Answer: 10 * time.Second, Longest: 10 * time.Minute, Check: 5 * time.Second,
}

// tries are when a watch that fails is tried again: at last so often that one falls into
// the patience that it is given when an API server is back.
func (p Patience) tries() *wait.Backoff {
	const first = 800 * time.Millisecond
	return &wait.Backoff{Duration: min(first, p.Failing/4), Cap: p.Failing / 4, Steps: 10, Factor: 2, Jitter: 1}
}

// errSilent is why a watch that has no error is not believed.
var errSilent = errors.New("the API server has said nothing about them for more than a minute, and does not answer")

// pulse is how a watch is: when there was a sign of life, and what is wrong with it.
type pulse struct {
	patience Patience
	line     *line

	mu    sync.Mutex
	heard time.Time
	// err is that of the last request; nil if it has an answer.
	err error
	// quiet is patience.Quiet, or more where there are no bookmarks.
	quiet time.Duration
	// asked is when something was asked for that has no answer yet; zero: there is nothing.
	asked time.Time
	// stale is true if a list must come before the watch goes on.
	stale bool
	// way is the connection of the last stream; empty if it is not known.
	way string
}

func newPulse(patience Patience, line *line) *pulse {
	return &pulse{patience: patience, line: line, quiet: patience.Quiet, heard: time.Now()}
}

// hear notes a sign of life, and returns how long until the next one is due.
func (p *pulse) hear(bookmark bool) time.Duration {
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

// note notes what came of a request, which alone is no sign of life: a watch can be
// opened at a version that is still to come, and says nothing then.
func (p *pulse) note(err error) {
	var status apierrors.APIStatus
	if errors.Is(err, context.Canceled) {
		return // by us
	}
	unreached := err != nil && !errors.As(err, &status)
	switch {
	case unreached:
		p.line.broke()
	case err == nil, status.Status().Code < http.StatusInternalServerError && status.Status().Code != http.StatusTooManyRequests:
		p.line.answered(time.Now())
	} // or else it is no outage, and not the end of one
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	// Who was away may come back as an older one, restored from a backup. What is
	// watched from a version that it does not have yet would stay silent until then.
	p.stale = p.stale || unreached
}

// tooQuiet notes that nothing was heard for as long as patience is, and has everything
// listed again.
func (p *pulse) tooQuiet() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stale, p.quiet = true, min(2*p.quiet, p.patience.Longest)
}

// ask notes that something is asked for, and answered that there was an answer.
func (p *pulse) ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = time.Now()
}

func (p *pulse) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = time.Time{}
}

// takeStale reports whether a list must come before the watch goes on, once.
func (p *pulse) takeStale() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	stale := p.stale
	p.stale = false
	return stale
}

// noteWay notes over which connection a stream is, and reports whether the last one was
// over another. Then the API server may have been away, and be an older one now: a client
// tries again by itself, and nobody is told, where a connection breaks, or a server is
// about to start.
func (p *pulse) noteWay(way string) (moved bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	moved = way != "" && p.way != "" && way != p.way
	p.way = way
	return moved
}

// dead is since when there was no sign of life, and why. There is no error if that is
// not too long.
func (p *pulse) dead(now, from time.Time) (since time.Time, err error) {
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
		return p.heard, errSilent
	}
	return p.heard, nil
}

// silent is dead as long as the API server can be reached. While it cannot be, nobody
// could be told; when it is back, each watch has the time to come back, too. So an
// outage makes no Application report anything.
func (p *pulse) silent(now time.Time) (since time.Time, err error) {
	down, back := p.line.state()
	if down {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.heard, nil
	}
	return p.dead(now, back)
}

// line is the way to an API server, which some watches share.
type line struct {
	mu   sync.Mutex
	down bool
	back time.Time
}

func (l *line) broke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
}

func (l *line) answered(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		l.down, l.back = false, now
	}
}

func (l *line) state() (down bool, back time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.down, l.back
}
