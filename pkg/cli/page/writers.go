package page

import (
	"cmp"
	"net/url"
	"slices"

	"holdfast.dev/holdfast/pkg/cli/report"
)

// Writers is the page about the clients that change held fields, in all Applications: a summary for each
// writer, or all changes of one writer.
type Writers struct {
	// Namespaces lists the namespaces with changes; the page offers them as a filter.
	Namespaces []string
	// Namespace is the chosen filter; "" for all.
	Namespace string
	// By is the selected writer, if IsOne is true; "" selects unknown writers.
	By    string
	IsOne bool
	// Sums is nil if IsOne is true.
	Sums []WriterSummary
	// Changes are the changes of the selected writers, the newest first.
	Changes  []HistoryItem
	Pictures []Picture
	// Only is the namespace to which the list is limited; "" if it is not limited.
	Only string
}

// WriterSummary is the summary of one writer, with the address that lists its changes.
type WriterSummary struct {
	*report.WriterSummary

	Link string
	// LongestStood is the longest time that a change lasted; "" if it is not known.
	LongestStood string
}

// writersOf returns the page about the last history entries of all Applications. query contains the filters of the
// address.
func writersOf(all []Summary, query url.Values) Writers {
	w := Writers{Namespace: query.Get("namespace"), By: query.Get("by"), IsOne: query.Has("by")}
	var entries []report.EntryView
	for _, s := range all {
		if len(s.history) > 0 && !slices.Contains(w.Namespaces, s.Namespace) {
			w.Namespaces = append(w.Namespaces, s.Namespace)
		}
		for _, e := range s.history {
			if e.IsForeign() && (w.Namespace == "" || w.Namespace == s.Namespace) && (!w.IsOne || e.Manager == w.By) {
				entries = append(entries, e)
			}
		}
	}
	report.SortHistory(entries)
	if !w.IsOne {
		w.sum(entries)
	}
	for _, e := range entries {
		h := historyItem(e, e.Application.Namespace)
		h.Ref = RefOf(report.ResourceID(e.Resource))
		w.Changes = append(w.Changes, h)
	}
	if last := w.Changes[:min(len(w.Changes), pictured)]; len(last) > 0 {
		of := pictureOf("By Application", last, func(h HistoryItem) string { return h.Namespace + "/" + h.Application })
		if !w.IsOne {
			of = pictureOf("By writer", last, HistoryItem.client)
		}
		w.Pictures = []Picture{of}
	}
	return w
}

// sum adds a summary for each writer.
func (w *Writers) sum(entries []report.EntryView) {
	for _, sum := range report.SummarizeWriters(entries) {
		one := WriterSummary{WriterSummary: sum, Link: w.with(sum.Manager)}
		if sum.Longest > 0 {
			one.LongestStood = shortSpan(sum.Longest)
		}
		w.Sums = append(w.Sums, one)
	}
}

// with returns the address for a writer. It returns the complete address, because html/template does not
// change that.
func (w Writers) with(by string) string {
	query := url.Values{"by": {by}}
	if w.Namespace != "" {
		query.Set("namespace", w.Namespace)
	}
	return "/history?" + query.Encode()
}

// Name returns the name of the selected writer.
func (w Writers) Name() string { return cmp.Or(w.By, "unknown writers") }

// Chunks returns the changes in pieces. The browser lays out a piece only when it is visible.
func (w Writers) Chunks() [][]HistoryItem { return slices.Collect(slices.Chunk(w.Changes, 50)) }

// IsOfSeveral is true: the changes are of one writer, so the table names the Applications.
func (w Writers) IsOfSeveral() bool { return true }

// SumsChunks returns the summaries in such pieces.
func (w Writers) SumsChunks() [][]WriterSummary { return slices.Collect(slices.Chunk(w.Sums, 50)) }
