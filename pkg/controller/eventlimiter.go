package controller

import (
	"hash/fnv"
	"maps"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// eventLimiter stores the texts of recent events. The event recorder keeps each of them for the same time, so
// their number must be limited.
type eventLimiter struct {
	now func() time.Time
	// limit limits the new texts per second. mu guards sent.
	limit *rate.Limiter
	mu    sync.Mutex
	// sent maps the digest of each text to the time when it was last sent.
	sent map[string]time.Time
}

// newNotes returns a limiter without texts.
func newNotes(now func() time.Time) *eventLimiter {
	return &eventLimiter{now: now, limit: rate.NewLimiter(eventRate, eventBurst), sent: map[string]time.Time{}}
}

func digestOf(note string) string {
	h := fnv.New64a()
	h.Write([]byte(note))
	return strconv.FormatUint(h.Sum64(), 16)
}

// admit adds a text, and reports whether it may be sent. It returns false if there are too many texts, or too many
// new ones per second. A known text is always admitted, because it adds no series.
func (n *eventLimiter) admit(digest string) bool {
	now := n.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	_, known := n.sent[digest]
	if !known && len(n.sent) >= mostNotes {
		maps.DeleteFunc(n.sent, func(_ string, at time.Time) bool { return now.Sub(at) > eventSeries })
		if len(n.sent) >= mostNotes {
			return false
		}
	}
	if !known && !n.limit.AllowN(now, 1) {
		return false
	}
	n.sent[digest] = now
	return true
}

// Limits of events about single fields, for Applications and for objects separately: the burst, and the events
// per second after it. During a storm of drift, the API server is needed for corrections.
const (
	eventBurst = 100
	eventRate  = 10
)

// mostNotes limits the number of texts in an eventLimiter. Each text is kept for eventSeries.
const mostNotes = 2048
