package page

import (
	"cmp"
	"net/url"
	"slices"

	"holdfast.dev/holdfast/pkg/cli/report"
)

// Writers says who changes what is held, over all Applications: a sum for each writer, or
// all that one of them did.
type Writers struct {
	Namespaces []string
	Namespace  string
	// By is the writer that is looked at, if IsOne is true; "" is whoever is not known.
	By    string
	IsOne bool
	Sums  []WriterSum
	// Changes are those of one writer, the newest first.
	Changes  []HistoryItem
	Pictures []Picture
	// Only is the namespace that the list is of, if that is one.
	Only string
}

// WriterSum is one writer, and where to look for what it did.
type WriterSum struct {
	*report.WriterSum

	Link string
	// LongestStood is how long the longest change stood; "" if that is not known.
	LongestStood string
}

// writersOf sums up the last entries of all Applications.
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
		w.Changes = append(w.Changes, w.happening(e))
	}
	if last := w.Changes[:min(len(w.Changes), pictured)]; len(last) > 0 {
		of := pictureOf("By Application", last, func(h HistoryItem) string { return h.Namespace + "/" + h.Application })
		if !w.IsOne {
			of = pictureOf("By writer", last, HistoryItem.who)
		}
		w.Pictures = []Picture{of}
	}
	return w
}

// sum adds a sum for each writer.
func (w *Writers) sum(entries []report.EntryView) {
	for _, sum := range report.WhoFights(entries) {
		one := WriterSum{WriterSum: sum, Link: w.with(sum.Manager)}
		if sum.Longest > 0 {
			one.LongestStood = shortSpan(sum.Longest)
		}
		w.Sums = append(w.Sums, one)
	}
}

func (w Writers) happening(e report.EntryView) HistoryItem {
	h := plainHappening(e, e.Application.Namespace)
	h.Namespace, h.Application, h.Ref = e.Application.Namespace, e.Application.Name, RefOf(idOf(e.Resource))
	return h
}

// with is the address that has a writer. As a whole, a template leaves it as it is.
func (w Writers) with(by string) string {
	query := url.Values{"by": {by}}
	if w.Namespace != "" {
		query.Set("namespace", w.Namespace)
	}
	return "/history?" + query.Encode()
}

// Name is that of the writer who is looked at.
func (w Writers) Name() string { return cmp.Or(w.By, "whoever is not known") }

// Chunks are the changes in pieces which a browser lays out only when they are in sight.
func (w Writers) Chunks() [][]HistoryItem { return slices.Collect(slices.Chunk(w.Changes, 50)) }

// SumsChunks are the sums in such pieces.
func (w Writers) SumsChunks() [][]WriterSum { return slices.Collect(slices.Chunk(w.Sums, 50)) }
