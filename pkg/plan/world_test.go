package plan_test

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/writer"
)

// world simulates one Application and a cluster. It runs Decide, execution and Summarize in a loop, and
// stores the status as JSON in between.
type world struct {
	t    *testing.T
	app  *v1alpha1.Application
	live map[manifest.ID]map[string]any
	mem  *plan.State
	now  time.Time
	// respond changes a written object before it is stored in the cluster.
	respond func(object map[string]any)
	// client is the field manager that writes; the Application's if it is empty.
	client string
	// refuse maps actions that are not executed to their outcome.
	refuse map[plan.Action]plan.Outcome
	// unheard lists the problems of stalled watches.
	unheard []*plan.Problem
	// ended maps deleted objects to their last state in the watch.
	ended map[manifest.ID]map[string]any
	// written maps live objects to their writers, as seen in the watch.
	written map[manifest.ID]writer.Activity
	// users maps object versions to users, from audit events. It is nil if there are no audit events.
	users map[v1alpha1.ObjectVersion]plan.User
	uids  int
	kinds intent.Kinds
	// older maps shared objects to older Applications that may claim their fields.
	older map[manifest.ID][]string
	// profiles contains the profiles that the cluster administrator has set.
	profiles intent.Profiles
	// hooks run in addition to the engine's own steps; nil for none.
	hooks *hooks.Hooks
	// holders are the other Applications whose status can be read; nil if none is read.
	holders map[string]*v1alpha1.Application
	// source contains the translated manifests of a template; nil for none.
	source *intent.Source
	// blocked contains the objects that cannot be processed.
	blocked map[manifest.ID]*plan.Problem
	// unconfirmed is true if the user does not confirm the deletions that need it.
	unconfirmed bool
}

// newWorld returns a world with an Application that has this spec, as YAML.
func newWorld(t *testing.T, spec string) *world {
	t.Helper()
	w := &world{
		t: t, live: map[manifest.ID]map[string]any{}, mem: &plan.State{}, kinds: intent.Offline(),
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		app: &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop", UID: "app-1"}},
	}
	w.app.Status.ObservedGeneration = -1
	w.edit(spec)
	return w
}

// edit replaces the spec.
func (w *world) edit(spec string) {
	w.t.Helper()
	w.app.Spec = v1alpha1.ApplicationSpec{}
	require.NoError(w.t, yaml.UnmarshalStrict([]byte(spec), &w.app.Spec))
	w.app.Generation++
}

func (w *world) decide() *plan.Plan {
	in := plan.Input{
		Application: w.app, Live: w.live, Kinds: w.kinds, Memory: w.mem, Now: w.now, Profiles: w.profiles, Hooks: w.hooks,
		Observations: plan.Observations{ObservedWrites: w.written, Users: w.users, FinishedJobs: w.ended, StaleKinds: w.unheard},
		Others:       plan.Others{Precedence: w.older, Holders: w.holders},
		Source:       w.source, Blocked: w.blocked,
	}
	p := plan.Decide(in)
	if digest := unconfirmedDigest(p); digest != "" && !w.unconfirmed {
		w.confirm(digest)
		p = plan.Decide(in)
	}
	return p
}

// confirm writes the annotation that confirms deletions.
func (w *world) confirm(digest string) { w.annotate(v1alpha1.AnnotationConfirm, digest) }

func (w *world) annotate(key, value string) {
	annotations := maps.Clone(w.app.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	w.app.Annotations = annotations
}

// unconfirmedDigest returns the digest that confirms the deletions that a plan does not make, or "" if there are
// none.
func unconfirmedDigest(p *plan.Plan) string {
	for _, c := range p.Changes {
		if c.Problem != nil && c.Problem.Reason == v1alpha1.ReasonDeletionUnconfirmed {
			_, digest, _ := strings.Cut(c.Problem.Remedy.Command, " --confirm ")
			return digest
		}
	}
	return ""
}

// protect stores the write-ahead record of a plan.
func (w *world) protect(p *plan.Plan) {
	w.t.Helper()
	if value, changed := p.PendingCreates(true); changed {
		w.annotate(v1alpha1.AnnotationCreating, value)
	}
	if status := p.WriteAheadStatus(); status != nil {
		w.store(plan.Result{Status: *status, Memory: *w.mem})
	}
}

// die simulates the death of the process, before or after the plan is executed. The in-process state is
// lost.
func (w *world) die(executed bool) *plan.Plan {
	w.t.Helper()
	p := w.decide()
	w.protect(p)
	for _, c := range p.Changes {
		if executed && c.Writes() {
			w.execute(c)
		}
	}
	w.mem = &plan.State{}
	return p
}

// round decides, executes and summarizes.
func (w *world) round() (*plan.Plan, plan.Result) {
	w.t.Helper()
	p := w.decide()
	w.protect(p)
	outcomes := map[manifest.ID]plan.Outcome{}
	for _, c := range p.Changes {
		if !c.Writes() || p.IsNoOp() {
			continue
		}
		outcome, refused := w.refuse[c.Action]
		if !refused {
			outcome = w.execute(c)
		}
		outcomes[c.ID] = outcome
	}
	return p, w.store(p.Summarize(outcomes, w.now))
}

// quiet runs a round and fails if there is anything to write or report.
func (w *world) quiet() {
	w.t.Helper()
	before, err := json.Marshal(w.app.Status)
	require.NoError(w.t, err)
	p, result := w.round()
	for _, c := range p.Changes {
		require.False(w.t, c.Writes(), "%s %s: %v", c.Action, c.ID, c.Fields)
	}
	require.False(w.t, result.Again)
	require.Nil(w.t, result.Event)
	after, err := json.Marshal(w.app.Status)
	require.NoError(w.t, err)
	require.JSONEq(w.t, string(before), string(after), "a quiet round changes no status")
}

// store stores the status as an API server does, and keeps the state.
func (w *world) store(r plan.Result) plan.Result {
	w.t.Helper()
	raw, err := json.Marshal(r.Status)
	require.NoError(w.t, err)
	w.app.Status, w.mem = v1alpha1.ApplicationStatus{}, &r.Memory
	require.NoError(w.t, json.Unmarshal(raw, &w.app.Status))
	return r
}

// refused executes the only change of a plan. The API server rejects one leaf of it.
func (w *world) refused(p *plan.Plan, path string, problem *plan.Problem) (plan.Change, plan.Result) {
	w.t.Helper()
	id := p.Changes[0].ID
	refused := p.RecordRejection(plan.Leaf{ID: id, Path: path}, problem)
	change := p.Replan(id, w.live[id], refused)
	outcome := plan.Outcome{Object: w.live[id], Problem: refused.Problem}
	if change.Writes() {
		outcome = w.execute(change)
	}
	outcome.Change, outcome.Rejected = change, []plan.RejectedLeaf{refused}
	return change, w.store(p.Summarize(map[manifest.ID]plan.Outcome{id: outcome}, w.now))
}

func (w *world) execute(c plan.Change) plan.Outcome {
	w.t.Helper()
	switch c.Action {
	case plan.Create:
		w.uids++
		object := observer.CopyMap(c.Manifest)
		metadata := object["metadata"].(map[string]any)
		metadata["namespace"] = c.ID.Namespace
		metadata["uid"] = "u-" + strconv.Itoa(w.uids)
		metadata["resourceVersion"] = "1"
		w.live[c.ID] = object
	case plan.Update:
		w.live[c.ID] = applyPatch(w.t, w.live[c.ID], c)
	default:
		delete(w.live, c.ID)
		return plan.Outcome{Action: plan.Delete, Gone: true}
	}
	if w.respond != nil {
		w.respond(w.live[c.ID])
	}
	return plan.Outcome{Action: c.Action, Object: observer.CopyMap(w.live[c.ID])}
}

// only returns the single live object.
func (w *world) only() map[string]any {
	w.t.Helper()
	require.Len(w.t, w.live, 1)
	for _, object := range w.live {
		return object
	}
	return nil
}

// set changes the single live object as another client.
func (w *world) set(value any, fields ...string) { set(w.only(), value, fields...) }

var (
	set  = observertest.Set
	get  = observertest.Get
	raws = observertest.Raws
)

// stored returns the first item of a list in the status.
func (w *world) stored(items []runtime.RawExtension) map[string]any {
	w.t.Helper()
	require.NotEmpty(w.t, items)
	content, err := manifest.DecodeJSON(items[0].Raw)
	require.NoError(w.t, err)
	return content
}

func (w *world) condition(kind string) (status, reason, message string) {
	for _, c := range w.app.Status.Conditions {
		if c.Type == kind {
			return string(c.Status), c.Reason, c.Message
		}
	}
	return "", "", ""
}

// paths returns the field paths of a plan, with their reasons.
func paths(p *plan.Plan) []string { return pathsOf(p.Changes...) }

func pathsOf(changes ...plan.Change) []string {
	var found []string
	for _, c := range changes {
		for _, d := range c.Fields {
			text := d.Path + " " + string(d.Reason)
			if d.HeldBack {
				text += " held back"
			}
			found = append(found, text)
		}
	}
	return found
}
