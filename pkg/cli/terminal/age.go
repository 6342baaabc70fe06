package terminal

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Ago is how long ago something was, in words for people.
func Ago(now, at time.Time) string {
	return Span(now.Sub(at)) + " ago"
}

// Span is a length of time as kubectl writes it: 3s, 5m, 2h, 4d.
func Span(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }
