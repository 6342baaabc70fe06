package plan_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// Plans can be chained without a cluster: the status that `plan -o json` prints goes into
// the Application, the changes into the live objects, and the next plan begins there.
func TestAPlansStatusLeadsToTheNextPlan(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(goldenRoot, "*", "application.yaml"))
	require.NoError(t, err)
	for _, file := range cases {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			in := readCase(t, dir)
			first := plan.Decide(in)
			for _, change := range first.Changes {
				switch change.Action {
				case plan.Create:
					in.Live[change.ID] = change.Manifest
				case plan.Update:
					in.Live[change.ID] = applyPatch(t, in.Live[change.ID], change)
				case plan.Delete:
					delete(in.Live, change.ID)
				case plan.Unchanged:
				}
			}
			in = after(t, in, first)
			second := plan.Decide(in)
			for _, change := range second.Changes {
				assert.Equal(t, plan.Unchanged, change.Action, "%s", change.ID)
			}
			third := plan.Decide(after(t, in, second))
			assert.JSONEq(t, string(printed(t, second)), string(printed(t, third)))
		})
	}
}

// printed is the status in what `plan -o json` prints.
func printed(t *testing.T, p *plan.Plan) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(p.View())
	require.NoError(t, err)
	var read struct {
		Status json.RawMessage `json:"status"`
	}
	require.NoError(t, json.Unmarshal(raw, &read))
	return read.Status
}

// after is the input with the status that a plan leads to, and nothing else remembered.
func after(t *testing.T, in plan.Input, p *plan.Plan) plan.Input {
	t.Helper()
	next := in.Application.DeepCopy()
	next.Status = v1alpha1.ApplicationStatus{}
	require.NoError(t, json.Unmarshal(printed(t, p), &next.Status))
	in.Application, in.Memory = next, &plan.Memory{}
	return in
}
