package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Summary is an Application in the overview.
type Summary struct {
	Namespace, Name string
	Badge           Badge
	Reason, Message string
	// Resources is "ready/all". Contested is the number of contested fields.
	Resources string
	Contested int
	// Drifted is true if a held field does not have its desired value.
	Drifted, Suspended bool
	// Owner is the kind of the custom resource from which it was created; "" if there is none.
	Owner   string
	Created time.Time

	// history contains the entries in the status, without those in slices.
	history []report.EntryView
}

// summaryOf returns the summary of a stored Application.
func summaryOf(u *unstructured.Unstructured) Summary {
	ready := connection.ReadyOf(u.Object)
	suspended, _, _ := unstructured.NestedBool(u.Object, "spec", "suspend")
	observing := manifest.NestedString(u.Object, "spec", "mode") == string(v1alpha1.ModeObserve)
	// The deletion is executed in any mode.
	if u.GetDeletionTimestamp() != nil {
		suspended, observing = false, false
	}
	contested, _, _ := unstructured.NestedSlice(u.Object, "status", "contested")
	s := Summary{
		Namespace: u.GetNamespace(), Name: u.GetName(), Badge: readyBadge(ready.Status, ready.Reason, suspended, observing),
		Reason: ready.Reason, Message: terminal.Visible(ready.Message), Resources: cmp.Or(manifest.NestedString(u.Object, "status", "summary"), "–"), Contested: len(contested),
		Suspended: suspended, Created: u.GetCreationTimestamp().Time, history: lastOf(u),
	}
	for _, c := range manifest.NestedMaps(u.Object, "status", "conditions") {
		if c["type"] == "Held" {
			s.Drifted = c["status"] == "False"
		}
	}
	if owner := metav1.GetControllerOf(u); owner != nil {
		s.Owner = owner.Kind
	}
	return s
}

// lastOf returns the history entries in the status; nil if they cannot be read.
func lastOf(u *unstructured.Unstructured) []report.EntryView {
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: u.GetNamespace(), Name: u.GetName()}}
	entries, _, _ := unstructured.NestedSlice(u.Object, "status", "history")
	raw, err := json.Marshal(entries)
	if err != nil || json.Unmarshal(raw, &app.Status.History) != nil {
		return nil
	}
	return report.HistoryOf(app)
}

// key returns the key that sorts Applications, and identifies one in the stream of events.
func (s Summary) key() string { return s.Namespace + "/" + s.Name }

// Overview is the list of all Applications that match a filter.
type Overview struct {
	Filter     Filter
	Namespaces []string
	States     []StateCount
	Rows       []Summary
	All        int
	// Only is the namespace to which the list is limited; "" if it is not limited.
	Only string
	Now  time.Time
}

// Filter is a selection of Applications. An empty filter selects all.
type Filter struct{ Query, Namespace, State string }

// StateCount is the number of Applications in a state, with the address that lists them.
type StateCount struct {
	Badge
	Count    int
	Link     string
	IsChosen bool
}

// states are the states by which the overview filters. One Application can be in several.
var states = []struct {
	badge Badge
	fits  func(Summary) bool
}{
	{Badge{Class: "all", Word: "All"}, func(Summary) bool { return true }},
	{Badge{Class: "ready", Sign: "✓", Word: "Ready"}, func(s Summary) bool { return s.Badge.Class == "ready" }},
	{Badge{Class: "failed", Sign: "!", Word: "Not ready"}, func(s Summary) bool { return s.Badge.Class == "failed" }},
	{Badge{Class: "waiting", Sign: "…", Word: "In progress"}, func(s Summary) bool { return s.Badge.Class == "waiting" }},
	{Badge{Class: "drifted", Sign: "~", Word: "Drifted"}, func(s Summary) bool { return s.Drifted }},
	{Badge{Class: "contested", Sign: "!", Word: "Contested"}, func(s Summary) bool { return s.Contested > 0 }},
	{Badge{Class: "observing", Sign: "◎", Word: "Observing"}, func(s Summary) bool { return s.Badge.Class == "observing" }},
	{Badge{Class: "suspended", Sign: "‖", Word: "Suspended"}, func(s Summary) bool { return s.Suspended }},
}

// overviewOf returns the Applications that match a filter, failed and drifted ones first. The query is
// searched in the name, the reason and the message, in any case. The counts of the states ignore the chosen
// state.
func overviewOf(all []Summary, f Filter, now time.Time) Overview {
	o := Overview{Filter: f, All: len(all), Now: now}
	for _, s := range all {
		if !slices.Contains(o.Namespaces, s.Namespace) {
			o.Namespaces = append(o.Namespaces, s.Namespace)
		}
	}
	slices.Sort(o.Namespaces)
	var found []Summary
	// The states below count only Applications that match the other filters.
	for _, s := range all {
		text := strings.ToLower(s.key() + " " + s.Reason + " " + s.Message)
		if (f.Namespace == "" || s.Namespace == f.Namespace) && strings.Contains(text, strings.ToLower(f.Query)) {
			found = append(found, s)
		}
	}
	for _, state := range states {
		fitting := slices.DeleteFunc(slices.Clone(found), func(s Summary) bool { return !state.fits(s) })
		chosen := state.badge.Class == cmp.Or(f.State, "all")
		if len(fitting) > 0 || chosen || state.badge.Class == "all" {
			o.States = append(o.States, StateCount{state.badge, len(fitting), f.with(state.badge.Class), chosen})
		}
		if chosen {
			o.Rows = fitting
		}
	}
	slices.SortFunc(o.Rows, func(a, b Summary) int {
		return cmp.Or(cmp.Compare(urgency(a), urgency(b)), strings.Compare(a.key(), b.key()))
	})
	return o
}

// with returns the address for another state. It returns the complete address, because html/template does not
// change that.
func (f Filter) with(state string) string {
	query := url.Values{}
	for name, value := range map[string]string{"q": f.Query, "namespace": f.Namespace, "state": strings.TrimSuffix(state, "all")} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return "/?" + query.Encode()
}

// urgency returns the rank of an Application in the list, the lowest for the most urgent.
func urgency(s Summary) int {
	if s.Drifted || s.Contested > 0 {
		return 0
	}
	return slices.Index([]string{"failed", "waiting", "suspended", "observing", "ready"}, s.Badge.Class)
}

// Chunks returns the rows in pieces. The browser lays out a piece only when it is visible.
func (o Overview) Chunks() [][]Summary { return slices.Collect(slices.Chunk(o.Rows, 50)) }

// CountText returns a text with the number of listed Applications.
func (o Overview) CountText() string {
	if len(o.Rows) == o.All {
		return terminal.Plural(o.All, "Application")
	}
	return fmt.Sprintf("%d of %s", len(o.Rows), terminal.Plural(o.All, "Application"))
}
