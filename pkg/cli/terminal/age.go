package terminal

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Ago returns a text for users about how long ago a time was. A time in the future, from another clock, is 0s ago.
//
//	Ago(now, now.Add(-90*time.Second))  90s ago
//	Ago(now, now.Add(-49*time.Hour))    2d1h ago
func Ago(now, at time.Time) string {
	return Span(now.Sub(at)) + " ago"
}

// Span returns a duration in the format of kubectl: 3s, 5m, 2h, 4d. A negative duration is 0s.
func Span(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }
