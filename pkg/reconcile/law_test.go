package reconcile_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// TestApplicationsAreHeldDespiteFaults runs random Applications with a few objects. Meanwhile requests
// fail, responses are lost, the controller dies, watches lag, and another client makes changes. The
// invariants are checked during the run (law_checks_test.go), and the final state after all faults have
// ended.
func TestApplicationsAreHeldDespiteFaults(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := newCluster(t, r, observertest.DrawServer(r), drawNames(r))
		c.maxBytes = rapid.SampledFrom([]int{0, 1, 1500}).Draw(r, "max bytes")
		for _, id := range c.names {
			c.plain[id] = rapid.Bool().Draw(r, "plain "+short(id))
		}
		c.arrive()
		c.storm = true
		r.Repeat(map[string]func(*rapid.T){
			"the spec changes":      func(*rapid.T) { c.edit() },
			"another client writes": func(*rapid.T) { c.somebody(rapid.SampledFrom(c.names).Draw(r, "name")) },
			"the process dies":      func(*rapid.T) { c.die() },
			"a watch lags":          func(*rapid.T) { c.lag(rapid.SampledFrom(c.names).Draw(r, "name")) },
			"a submit dies":         func(*rapid.T) { c.submitByHalves() },
			"20 minutes pass":       func(*rapid.T) { c.wait() },
			"a round":               func(*rapid.T) { c.round() },
			"a round, then an edit": func(*rapid.T) { c.round(); c.edit() },
			"an edit, then a round": func(*rapid.T) { c.edit(); c.round() },
			"a write, then a round": func(*rapid.T) { c.somebody(rapid.SampledFrom(c.names).Draw(r, "name")); c.round() },
		})
		c.calm()
		c.mend()
		c.rest()
		c.checkAtRest()

		c.remove()
		c.note("the Application is deleted, policy %q", c.app.Spec.DeletionPolicy)
		c.storm = true
		for range rapid.IntRange(0, 3).Draw(r, "tries") {
			if c.round(); c.over {
				break
			}
		}
		c.calm()
		c.rest()
		c.checkGone()
	})
}

// cluster consists of an Application, an API server and a controller.
type cluster struct {
	*process

	t      *testing.T
	r      *rapid.T
	server *apiServer
	kinds  intent.Kinds
	app    *v1alpha1.Application
	now    time.Time
	names  []manifest.ID
	// others contains the clusters of the other Applications, by name.
	others map[string]*cluster
	// storm is true while faults are injected.
	storm, deleted, over bool
	// refusedOnce contains the objects of which a patch was rejected. Their last accepted state may be held
	// instead of the desired state.
	refusedOnce map[manifest.ID]bool
	// plain contains the objects that only ever have default schemas, and that no other client edits.
	plain map[manifest.ID]bool
	// maxBytes is the size limit of the Application without slices; 0 for none.
	maxBytes int
	slices   map[string]*reconcile.Slice
	data     map[string][]byte // of the slices

	// lagging contains the objects for which the watch delivers no events.
	lagging map[manifest.ID]bool

	wanted  desires                        // as submitted
	decided desires                        // the spec that the process reconciles
	basis   v1alpha1.ApplicationStatus     // the recorded status that it is based on
	seen    map[manifest.ID]map[string]any // the objects on which the decision is based
	ever    map[manifest.ID][]any          // all manifests that were ever submitted
	ours    map[string]bool                // UIDs of objects that have had the tracking metadata
	special map[string]string              // UIDs of objects that can differ from a newly created one, and why
	// relearned contains the objects that were created without learned values.
	relearned map[manifest.ID]bool
	panicked  any // see guard
	share     *sharing
	log       *[]string
}

// desires is a spec.
type desires struct {
	adoption, deletion string
	suspend, faulty    bool
	observe            bool
	resources          map[manifest.ID]*desire
	fields             []v1alpha1.ResourceFields
}

// desire is one resource of a spec. Entry is its schema, or nil for the default schema.
type desire struct{ manifest, entry map[string]any }

func drawNames(r *rapid.T) []manifest.ID {
	names := []manifest.ID{
		{Group: "example.com", Kind: "Thing", Namespace: "default", Name: "a"},
		{Kind: "Secret", Namespace: "default", Name: "a"},
		{Group: "example.com", Kind: "Thing", Namespace: "default", Name: "b"},
		{Kind: "Secret", Namespace: "default", Name: "b"},
	}
	return names[:rapid.IntRange(2, 4).Draw(r, "names")]
}

func newCluster(t *testing.T, r *rapid.T, s observertest.Server, names []manifest.ID) *cluster {
	t.Helper()
	c := &cluster{
		t: t, r: r, kinds: intent.Offline(), names: names, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		app:         &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop", UID: "app-1"}},
		wanted:      desires{resources: map[manifest.ID]*desire{}},
		plain:       map[manifest.ID]bool{},
		ever:        map[manifest.ID][]any{},
		ours:        map[string]bool{},
		special:     map[string]string{},
		refusedOnce: map[manifest.ID]bool{},
		relearned:   map[manifest.ID]bool{},
		others:      map[string]*cluster{},
		slices:      map[string]*reconcile.Slice{},
		data:        map[string][]byte{},
		log:         &[]string{},
	}
	if s.Typed {
		c.kinds = typed{c.kinds}
	}
	c.server = &apiServer{
		Server: s, objects: map[manifest.ID]map[string]any{}, theirs: map[string]map[string]any{}, managers: map[string]*observertest.Managers{}, events: map[manifest.ID][]event{}, now: func() time.Time { return c.now },
		taken: map[any]bool{}, refused: map[string]bool{},
	}
	c.server.judge, c.server.admitted = c.judge, c.admitted
	c.app.Status.ObservedGeneration = -1
	c.start()
	c.note("%+v", s)
	return c
}

func (c *cluster) note(format string, args ...any) {
	*c.log = append(*c.log, fmt.Sprintf(format, args...))
}

// fail fails the test and prints the log of the run.
func (c *cluster) fail(format string, args ...any) {
	c.r.Helper()
	defer c.guard()
	c.r.Fatalf("%s\n\nafter\n  %s", fmt.Sprintf(format, args...), strings.Join(*c.log, "\n  "))
}

func short(id manifest.ID) string { return id.Kind + "/" + id.Name }

func (c *cluster) round() {
	c.note("round of %s", c.app.Name)
	for range 3 {
		if c.over || !c.reconcile() {
			return
		}
		c.now = c.now.Add(time.Second)
	}
}

// calm ends all faults.
func (c *cluster) calm() {
	c.storm = false
	clear(c.server.taken)
	clear(c.server.refused)
	clear(c.lagging)
	c.note("calm")
}

// rest reconciles until one reconciliation changes nothing, and checks that the next one changes nothing
// either.
func (c *cluster) rest() {
	c.r.Helper()
	for range 15 {
		c.now = c.now.Add(time.Hour)
		for _, id := range c.server.ids() {
			if o := c.server.objects[id]; get(o, "metadata", "deletionTimestamp") != nil {
				c.server.edit(id, func(o map[string]any) { delete(o["metadata"].(map[string]any), "finalizers") })
			}
		}
		if c.idle() {
			if !c.idle() {
				c.fail("something is done after a quiet round")
			}
			return
		}
	}
	c.fail("no rest")
}

// idle reports whether a reconciliation has changed nothing. An Application may retry repeatedly to check
// for the next step of another one.
func (c *cluster) idle() bool {
	if c.over {
		c.collect()
		return len(c.slices) == 0
	}
	c.note("quiet round of %s", c.app.Name)
	writes, status := c.server.writes, jsonOf(c.status())
	again := c.reconcile() && len(c.others) == 0
	return !again && writes == c.server.writes && (c.over || status == jsonOf(c.status()))
}

func (c *cluster) oneOf(what string, choices ...int) int {
	defer c.guard()
	return rapid.SampledFrom(choices).Draw(c.r, what)
}

func (c *cluster) chance(what string, oneIn int) bool {
	defer c.guard()
	return rapid.IntRange(1, oneIn).Draw(c.r, what) == oneIn
}

func (c *cluster) die() {
	c.note("the process of %s dies", c.app.Name)
	c.start()
}

// wait advances the clock so far that a lagging watch counts as stalled.
func (c *cluster) wait() {
	c.now = c.now.Add(20 * time.Minute)
	clear(c.lagging)
	c.note("20 minutes pass")
}

// lag makes a watch lag, or catch up.
func (c *cluster) lag(id manifest.ID) {
	if c.lagging[id] = !c.lagging[id]; c.lagging[id] {
		c.note("the watch of %s lags", short(id))
		return
	}
	c.note("the watch of %s has caught up", short(id))
}

// admitted records which objects have tracking metadata, and which have been held with a user's schema. The
// latter can differ from a newly created object.
func (c *cluster) admitted(id manifest.ID, object map[string]any) {
	if claim.IsTrackedBy(c.app, id, object) {
		c.ours[uidOf(object)] = true
	}
	usersOnRecord := slices.ContainsFunc(c.status().Resources, func(r v1alpha1.ResourceStatus) bool {
		return manifest.IDFromReference(r.ResourceReference) == id && r.Schema == v1alpha1.SchemaUser
	})
	if c.wanted.hasEntry(id) || c.decided.hasEntry(id) || usersOnRecord {
		c.special[uidOf(object)] = "held by a user's schema"
	}
}

func (d desires) hasEntry(id manifest.ID) bool {
	return d.resources[id] != nil && d.resources[id].entry != nil
}

// The helpers that package plan's tests use, too.
var (
	set    = observertest.Set
	get    = observertest.Get
	raws   = observertest.Raws
	keys   = observertest.Keys
	jsonOf = observertest.JSON
)

var thing = observertest.Type()

// typed adds the generated kind to the known kinds.
type typed struct{ intent.Kinds }

func (k typed) Type(gvk schema.GroupVersionKind) *kinds.Node {
	if gvk == observertest.GVK {
		return thing
	}
	return k.Kinds.Type(gvk)
}

func sortedIDs(ids iter.Seq[manifest.ID]) []manifest.ID {
	return slices.SortedFunc(ids, func(a, b manifest.ID) int { return strings.Compare(a.String(), b.String()) })
}
