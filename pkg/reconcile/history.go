package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/slice"
)

// History entries that do not fit in the status are written to slices, many entries at once, and before the
// status that names the slices. However often a field drifts, an Application writes its history at most once
// per historyPause. Later entries wait in the State.
const (
	historyBatch = 20               // number of entries that do not wait for more
	historyDelay = 10 * time.Minute // maximum time that an entry waits for more
	// historyPause is the shortest time between two writes of slices.
	historyPause = time.Minute
)

// logHistory logs drift from the history, and the client that caused it. It skips objects that are created,
// adopted, released or deleted because of the spec, because these are the controller's own writes, which are
// logged as such.
func logHistory(ctx context.Context, happened []plan.HistoryRecord) {
	for _, h := range happened {
		switch h.Outcome {
		case v1alpha1.OutcomeCreated, v1alpha1.OutcomeAdopted, v1alpha1.OutcomeReleased, v1alpha1.OutcomeDeleted:
			continue
		}
		// Package plan has masked the values of Secrets in the records.
		values := []any{"object", h.ID.String()}
		for _, part := range []struct{ name, text string }{
			{"path", h.Path}, {"manager", h.Manager}, {"operation", string(h.Operation)}, {"subresource", h.Subresource},
			{"user", h.User}, {"impersonator", h.Impersonator}, {"sourceIP", h.SourceIP},
		} {
			if part.text != "" {
				values = append(values, part.name, part.text)
			}
		}
		for _, part := range []struct {
			name  string
			value *runtime.RawExtension
		}{{"from", h.From}, {"to", h.To}, {"correctedTo", h.CorrectedTo}} {
			if part.value != nil {
				values = append(values, part.name, logValue{part.value.Raw})
			}
		}
		if h.Duration != nil {
			values = append(values, "stood", h.Duration.Duration.String())
		}
		klog.FromContext(ctx).Info(string(h.Outcome), values...)
	}
}

// logValue is a JSON value that is logged unchanged, in text and in JSON.
type logValue struct{ json.RawMessage }

// WriteText writes the value to a line of text.
func (v logValue) WriteText(b *bytes.Buffer) { b.Write(v.RawMessage) }

// historyIn returns how long older history entries wait until they are written; 0 if they are due. waits is false if
// there are none. It records since when entries wait.
func (m *State) historyIn(now time.Time) (wait time.Duration, waits bool) {
	if len(m.plan.Older) == 0 {
		m.olderSince = time.Time{}
		return 0, false
	}
	if m.olderSince.IsZero() {
		m.olderSince = now
	}
	due := m.olderSince
	if len(m.plan.Older) < historyBatch {
		due = due.Add(historyDelay)
	}
	if next := m.olderWritten.Add(historyPause); next.After(due) {
		due = next
	}
	return max(due.Sub(now), 0), true
}

// withHistory writes the older entries to slices, and returns the status that names these slices. If this fails, it
// returns the status unchanged and the entries wait, because the history is not worth a failure. The caller calls
// done after it has written the status; done drops the entries that were written.
func (r *Reconciler) withHistory(ctx context.Context, app *v1alpha1.Application, m *State, status v1alpha1.ApplicationStatus) (named v1alpha1.ApplicationStatus, done func()) {
	m.olderWritten = r.Now()
	names, err := sliceStore{r.Slices}.writeHistory(ctx, app, m.plan.Older)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Deferring the older history", "reason", err.Error())
		return status, func() {}
	}
	status.HistorySlices = names
	return status, func() { m.plan.Older, m.olderSince = nil, time.Time{} }
}

// writeHistory writes slices with more entries than those that the Application names, and returns the names of all
// slices with history. It omits the entries of slices that are no longer available. The old slices remain until a
// status without them is written.
func (s sliceStore) writeHistory(ctx context.Context, app *v1alpha1.Application, more []v1alpha1.HistoryEntry) (names []string, err error) {
	older, err := slice.OlderHistory(app, s.getSlice(ctx, app.Namespace))
	if _, unavailable := errors.AsType[*slice.Unavailable](err); err != nil && !unavailable {
		return nil, err
	}
	// The name of a slice follows from its content, so a slice with unchanged entries keeps its name.
	parts, names, err := slice.SplitHistory(app, plan.WithOlder(older, more))
	if err != nil {
		return nil, err
	}
	return names, s.createAll(ctx, parts, app.Status.HistorySlices)
}
