package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// Preview decides as the controller would if an Application were submitted. before is the decision about the stored
// version with the same input; nil if there is none, or if no decision is possible. unreadable reports the objects
// that the user may not read; their changes are blocked in both decisions. err is set if the stored Application
// cannot be read. Both decisions use the same gathered objects, so a difference between them is an effect of the
// submission only.
func (c *Cluster) Preview(ctx context.Context, s *files.Submission, now time.Time) (after, before *files.Decision, unreadable, err error) {
	subject, stored, err := c.submitted(ctx, files.Subject{Application: s.App})
	if err != nil {
		return nil, nil, nil, err
	}
	d, unreadable := c.decide(ctx, subject, now)
	if stored != nil {
		before = d.ForApplication(stored)
	}
	return &d, before, unreadable, nil
}

// DryRunResults contains the results of the dry runs for the objects of an Application.
type DryRunResults struct {
	// Asked is the number of dry runs, and Fine the number of those that the API server accepted.
	Asked, Fine int
	// Notes are about objects without a dry run, and about problems outside of the objects, such as
	// permissions or changes by other clients.
	Notes []string
	// Refused joins the problems of the objects that the API server rejects; nil if there are none.
	Refused error
}

// DryRun sends a dry run for each object that would be created or changed, with all its fields and the
// rights of the user. It does not send dry runs for deletions. Several requests are sent at a time, and
// the results have the order of the plan.
//
//	problem of the object          listed as
//	none, accepted                 Fine
//	rejected for good (stall)      Refused
//	the kind is not served yet     a note
//	the namespace is missing       a note
//	rights, conflicts, any other   a note with the reason
//
// The API server runs its validation and admission, which includes webhooks without side effects.
func (c *Cluster) DryRun(ctx context.Context, d *files.Decision) DryRunResults {
	problems := make([]*plan.Problem, len(d.Changes))
	asked := make([]bool, len(d.Changes))
	var requests errgroup.Group
	requests.SetLimit(reconcile.ReadsAtOnce)
	for i, change := range d.Changes {
		if problems[i] = change.Problem; change.Problem != nil || change.Action != plan.Create && change.Action != plan.Update {
			continue
		}
		asked[i] = true
		requests.Go(func() error {
			_, problems[i] = c.sendDryRun(ctx, d, change)
			return nil
		})
	}
	_ = requests.Wait() // the errors are in problems
	var answers DryRunResults
	var refused []error
	for i, problem := range problems {
		if asked[i] {
			answers.Asked++
		}
		switch {
		case problem == nil && asked[i]:
			answers.Fine++
		case problem == nil:
		case problem.Disposition() == v1alpha1.DispositionStall && asked[i]:
			refused = append(refused, problem)
		case problem.Disposition() == v1alpha1.DispositionInstall:
			answers.Notes = append(answers.Notes, fmt.Sprintf("%s was not validated: its kind is not served yet", d.Changes[i].ID))
		case problem.Disposition() == v1alpha1.DispositionWait:
			answers.Notes = append(answers.Notes, problem.Message)
		default:
			answers.Notes = append(answers.Notes, problem.Reason+": "+problem.Message)
		}
	}
	answers.Refused = errors.Join(refused...)
	return answers
}

// settle sends one dry run for each object with doubtful values, with the rights of the user, to find the values
// that differ only in their spelling. It changes the decision, which then shows only the other values. If a dry run
// fails, the values remain doubtful. For example, only the API server knows whether a field of an unknown type is a
// quantity, for which "1000m" and "1" are equal.
func (c *Cluster) settle(ctx context.Context, d *files.Decision) {
	var requests errgroup.Group
	requests.SetLimit(reconcile.ReadsAtOnce)
	for _, change := range d.Changes {
		asked := change
		if asked.Patch = d.Doubtful(change); asked.Patch == nil {
			continue
		}
		// The plan may do nothing, for example in observe-only mode. The dry run needs a patch.
		asked.Action = plan.Update
		requests.Go(func() error {
			if answer, problem := c.sendDryRun(ctx, d, asked); problem == nil {
				change.Settle(answer)
			}
			return nil
		})
	}
	_ = requests.Wait() // no request returns an error
}

// sendDryRun sends one object of a decision as a dry run with the rights of the user, and returns the object that would
// be stored, or a problem. Exactly one of them is nil. It creates the object, or sends the patch of the change. It is
// safe for concurrent use.
func (c *Cluster) sendDryRun(ctx context.Context, d *files.Decision, change plan.Change) (map[string]any, *plan.Problem) {
	mapping, err := c.Kinds.Mapping(ctx, change.GVK())
	if err != nil {
		return nil, &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: err.Error()}
	}
	answer := &unstructured.Unstructured{}
	verb, client := "create", c.Own.Resource(mapping.Resource).Namespace(change.ID.Namespace)
	// The field manager is the controller's, so that the API server sees the same writer.
	dryRun, manager := DryRunServer.Options(), v1alpha1.FieldManagerOf(d.Application.Namespace, d.Application.Name)
	if change.Action == plan.Create {
		answer, err = client.Create(ctx, &unstructured.Unstructured{Object: change.Manifest},
			metav1.CreateOptions{DryRun: dryRun, FieldManager: manager, FieldValidation: metav1.FieldValidationStrict})
	} else if patch, encodeErr := json.Marshal(change.Patch); encodeErr == nil {
		verb = "patch"
		answer, err = client.Patch(ctx, change.ID.Name, types.JSONPatchType, patch,
			metav1.PatchOptions{DryRun: dryRun, FieldManager: manager, FieldValidation: metav1.FieldValidationStrict})
	}
	switch {
	case err == nil:
		return answer.Object, nil
	// The kind is served, so only the namespace can be missing.
	case apierrors.IsNotFound(err) && verb == "create":
		return nil, &plan.Problem{Reason: v1alpha1.ReasonWaiting, Message: fmt.Sprintf("%s was not validated: the namespace %s does not exist yet", change.ID, change.ID.Namespace)}
	case apierrors.IsAlreadyExists(err):
		return nil, &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: fmt.Sprintf("%s already exists", change.ID)}
	default:
		return nil, reconcile.ProblemOf(err, cluster.Location{ID: change.ID, Mapping: mapping}, verb, "")
	}
}
