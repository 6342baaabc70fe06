package reconcile

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// refusing returns the given errors for create requests, one after the other.
type refusing struct {
	Target
	errs []error
}

func (r *refusing) Create(context.Context, cluster.Location, map[string]any) (map[string]any, error) {
	err := r.errs[0]
	r.errs = r.errs[1:]
	return nil, err
}

func (r *refusing) Problem(err error, at cluster.Location, verb string) *plan.Problem {
	return ProblemOf(err, at, verb, "user")
}

// A learned value may belong to another object by now. The second create omits learned values, and the
// hooks are called again.
func TestASecondCreate(t *testing.T) {
	refused := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid}}
	for _, row := range []struct {
		name   string
		hook   error
		last   []error
		reason string
		maybe  bool // the object may have been created
	}{
		{"whose hook fails is not sent", errors.New("not today"), nil, v1alpha1.ReasonHookFailed, false},
		{"without an answer may have happened", nil, []error{errors.New("the connection is lost")}, v1alpha1.ReasonRetrying, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			h, calls := hooks.New(), 0
			h.ResourcePreCreate.Listen("gate", func(*hooks.CreateEvent) error {
				if calls++; calls == 2 {
					return row.hook
				}
				return nil
			})
			id := manifest.ID{Kind: "Service", Name: "web"}
			target := &refusing{errs: slices.Concat(slices.Repeat([]error{refused}, 1+len(freeing)), row.last)}
			a := &sender{
				reconciler:      &Reconciler{Hooks: h, Sleep: func(context.Context, time.Duration) error { return nil }},
				outcomeRecorder: &outcomeRecorder{target: target, s: &Snapshot{memory: &State{}}},
			}
			outcome, again := a.create(t.Context(), cluster.Location{ID: id}, plan.Change{
				Action: plan.Create, ID: id, Body: plan.Body{Manifest: map[string]any{"spec": "10.0.0.1"}, Fallback: map[string]any{}},
			})
			assert.False(t, again)
			assert.Equal(t, 2, calls)
			assert.Empty(t, target.errs, "each was asked for")
			assert.Equal(t, row.reason, outcome.Problem.Reason)
			assert.Equal(t, row.maybe, a.s.memory.unanswered[id])
			assert.Equal(t, row.maybe, outcome.WithoutLearned)
		})
	}
}
