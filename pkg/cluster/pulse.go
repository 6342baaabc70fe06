package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// patience is for how long a watch may be without a sign of life: a list, an event,
// or a bookmark.
type patience struct {
	// failing is for one whose last request has failed.
	failing time.Duration
	// quiet is for one that is open: an API server sends a bookmark in a minute. Then
	// everything is listed again, which is to be answered within answer.
	quiet, answer time.Duration
	// longest is what quiet grows to where an API server sends no bookmarks.
	longest time.Duration
	// look is how often it is looked for watches without a sign of life.
	look time.Duration
}

var usualPatience = patience{
	failing: time.Minute, quiet: 75 * time.Second, answer: 15 * time.Second, longest: 10 * time.Minute, look: 10 * time.Second,
}

// errSilent is why a watch that has no error is not believed.
var errSilent = errors.New("the API server has said nothing about them for more than a minute, and does not answer")

// pulse is how a watch is: when there was a sign of life, and what is wrong with it.
type pulse struct {
	patience patience
	line     *line

	mu    sync.Mutex
	heard time.Time
	// err is that of the last request; nil if it has an answer.
	err error
	// quiet is patience.quiet, or more where there are no bookmarks.
	quiet time.Duration
	// quieted is true if the watch was ended because it said nothing, and asked is when
	// everything was asked for after that; zero: it was not, or there was an answer.
	quieted bool
	asked   time.Time
	// stale is true if a list must come before the watch goes on.
	stale bool
}

func newPulse(patience patience, line *line) *pulse {
	return &pulse{patience: patience, line: line, quiet: patience.quiet, heard: time.Now()}
}

// hear notes a sign of life, and returns how long until the next one is due.
func (p *pulse) hear(bookmark bool) time.Duration {
	now := time.Now()
	p.line.answered(now)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard, p.err, p.asked, p.quieted = now, nil, time.Time{}, false
	if bookmark {
		p.quiet = p.patience.quiet
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
	if unreached {
		p.line.broke()
	} else {
		p.line.answered(time.Now())
	}
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
	p.stale, p.quieted, p.quiet = true, true, min(2*p.quiet, p.patience.longest)
}

// ask notes that everything is asked for.
func (p *pulse) ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quieted {
		p.quieted, p.asked = false, time.Now()
	}
}

// listFirst reports whether a list must come before the watch goes on, once.
func (p *pulse) listFirst() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	stale := p.stale
	p.stale = false
	return stale
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
	case p.err != nil && overdue(p.heard, p.patience.failing):
		return p.heard, p.err
	case !p.asked.IsZero() && overdue(p.asked, p.patience.answer):
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
