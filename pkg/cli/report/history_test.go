package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/report"
)

// The history shows the users from audit events next to the field manager, or alone. It can be searched for
// them.
func TestUsersInTheHistory(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	entry := func(manager, user, impersonator, address string) v1alpha1.HistoryEntry {
		return v1alpha1.HistoryEntry{
			Time: metav1.NewTime(now), Outcome: v1alpha1.OutcomeCorrected, Path: "data.a",
			Resource: v1alpha1.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web"},
			From:     &runtime.RawExtension{Raw: []byte(`"ours"`)}, To: &runtime.RawExtension{Raw: []byte(`"theirs"`)},
			Manager: manager, Operation: "Update", User: user, Impersonator: impersonator, SourceIP: address,
		}
	}
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Status: v1alpha1.ApplicationStatus{History: []v1alpha1.HistoryEntry{
		entry("kubectl-edit", "alice", "admin", "10.0.0.7"), entry("kubectl-edit", "bob", "", ""), entry("", "eve\x1b[2J", "", "::1"), entry("kubectl-edit", "", "", ""),
	}}}
	all := report.HistoryOf(app)
	var lines []string
	for _, e := range all {
		lines = append(lines, e.Line(now, false))
	}
	assert.Equal(t, []string{
		"Corrected ConfigMap web data.a: theirs → ours, by kubectl-edit (Update), user alice (impersonated by admin) from 10.0.0.7",
		"Corrected ConfigMap web data.a: theirs → ours, by kubectl-edit (Update), user bob",
		"Corrected ConfigMap web data.a: theirs → ours, by user eve\\x1b[2J from ::1",
		"Corrected ConfigMap web data.a: theirs → ours, by kubectl-edit (Update)",
	}, lines)
	for _, outcome := range []v1alpha1.HistoryOutcome{v1alpha1.OutcomeLearned, v1alpha1.OutcomeAdded} {
		app.Status.History = []v1alpha1.HistoryEntry{{Outcome: outcome, Path: "data.b", To: &runtime.RawExtension{Raw: []byte(`1`)}}}
		assert.Contains(t, report.HistoryOf(app)[0].Line(now, false), "data.b: 1, by", "the live value remains")
	}
	app.Status.History = []v1alpha1.HistoryEntry{{
		Outcome: v1alpha1.OutcomeCorrected, Path: "spec.replicas", To: &runtime.RawExtension{Raw: []byte(`5`)}, Manager: "kubectl",
		Resource: v1alpha1.ResourceReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
	}}
	assert.Equal(t, "Corrected Deployment web spec.replicas: 5 → absent (the default is 1), by kubectl", report.HistoryOf(app)[0].Line(now, false))
	for by, want := range map[string]int{"alice": 1, "admin": 1, "bob": 1, "kubectl-edit": 3, "": 4, "nobody": 0} {
		found, err := report.HistoryFilter{By: by}.Select(all)
		require.NoError(t, err)
		assert.Len(t, found, want, by)
	}
}

// TestMaskedValuesAreTwo checks that an entry about a Secret still shows a change.
func TestMaskedValuesAreTwo(t *testing.T) {
	app := &v1alpha1.Application{}
	masked := runtime.RawExtension{Raw: []byte(`"***"`)}
	app.Status.History = []v1alpha1.HistoryEntry{{
		Outcome: v1alpha1.OutcomeCorrected, Resource: v1alpha1.ResourceReference{APIVersion: "v1", Kind: "Secret", Name: "a"}, Path: "data.a",
		From: &masked, To: &masked, Manager: "mallory",
	}}
	assert.Equal(t, "Corrected Secret a data.a: *** → ***, by mallory", report.HistoryOf(app)[0].Line(time.Time{}, false))
}

// A value can have characters that YAML does not escape, such as marks that reverse the text after them.
func TestValuesInTheHistoryAreEscaped(t *testing.T) {
	app := &v1alpha1.Application{Status: v1alpha1.ApplicationStatus{History: []v1alpha1.HistoryEntry{{
		Outcome: "Corrected\x1b[2J", Path: "data.a", Resource: v1alpha1.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Name: "web"},
		From: &runtime.RawExtension{Raw: []byte(`"a\u202eb"`)}, To: &runtime.RawExtension{Raw: []byte(`{"\u202ek":1}`)},
	}}}}
	assert.Equal(t, `Corrected\x1b[2J ConfigMap web data.a: {\u202ek: 1} → a\u202eb, by an unknown client`, report.HistoryOf(app)[0].Line(time.Time{}, false))
}

// A repeated deletion of an object counts for its writer, like a single one and like a contested field.
func TestContestedDeletionsCountForWriters(t *testing.T) {
	entry := v1alpha1.HistoryEntry{Outcome: v1alpha1.OutcomeContested, Manager: "cleaner", Count: 7, Resource: v1alpha1.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Name: "web"}}
	app := &v1alpha1.Application{Status: v1alpha1.ApplicationStatus{History: []v1alpha1.HistoryEntry{entry}}}
	sums := report.SummarizeWriters(report.HistoryOf(app))
	require.Len(t, sums, 1)
	assert.Equal(t, []int{7, 1, 1}, []int{sums[0].Changes, sums[0].Fields, sums[0].Contested})
}
