package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/slice"
)

// What a status has no room for of its history goes into slices: many entries at once, and
// before a status that is written. However often something drifts, an Application writes
// no more than one history in historyPause; what comes meanwhile waits in the memory.
const (
	historyBatch = 20               // so many entries do not wait for others
	historyDelay = 10 * time.Minute // nor does one that has waited for so long
	historyPause = time.Minute
)

// logHistory logs what the history has of drift, and of who has caused it. What comes and
// goes for the spec is a write of our own, which is logged as such.
func logHistory(ctx context.Context, happened []plan.HistoryRecord) {
	for _, h := range happened {
		switch h.Outcome {
		case v1alpha1.OutcomeCreated, v1alpha1.OutcomeAdopted, v1alpha1.OutcomeReleased, v1alpha1.OutcomeDeleted:
			continue
		}
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

// logValue is a JSON value that a log has as it is, whether its lines are text or JSON.
type logValue struct{ json.RawMessage }

// WriteText is how a line of text has it.
func (v logValue) WriteText(b *bytes.Buffer) { b.Write(v.RawMessage) }

// historyIn is how long older entries still wait to be written, 0 for not at all; false if
// there are none.
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

// withHistory is a status that names slices with the older entries, too, which are written
// now. It is not worth a failure: they wait then, and the status is written without.
func (t *Reconciler) withHistory(ctx context.Context, app *v1alpha1.Application, m *State, status v1alpha1.ApplicationStatus) (named v1alpha1.ApplicationStatus, done func()) {
	m.olderWritten = t.now()
	names, err := t.writeHistory(ctx, app, m.plan.Older)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("The older history is left for later", "reason", err.Error())
		return status, func() {}
	}
	status.HistorySlices = names
	return status, func() { m.plan.Older, m.olderSince = nil, time.Time{} }
}

// writeHistory writes slices that have more entries than those which the Application names.
// What these had is forgotten if it cannot be had any more.
func (t *Reconciler) writeHistory(ctx context.Context, app *v1alpha1.Application, more []v1alpha1.HistoryEntry) (names []string, err error) {
	older, err := slice.OlderHistory(app, t.getSlice(ctx, app.Namespace))
	var unavailable *slice.Unavailable
	if err != nil && !errors.As(err, &unavailable) {
		return nil, err
	}
	parts, names, err := slice.SplitHistory(app, plan.WithOlder(older, more))
	if err != nil {
		return nil, err
	}
	for i := range parts {
		if slices.Contains(app.Status.HistorySlices, parts[i].Name) {
			continue
		}
		if err := t.Slices.Create(ctx, &parts[i]); err != nil {
			return nil, err
		}
	}
	return names, nil
}
