package terminal

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Ago returns a text for users about how long ago a time was.
func Ago(now, at time.Time) string {
	return Span(now.Sub(at)) + " ago"
}

// Span returns a duration in the format of kubectl: 3s, 5m, 2h, 4d.
func Span(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }
