package controller_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// removables are objects with options: parts that a manifest has or not, with one of several values for $V. An API server
// rejects none of their combinations: after a rejection, the Application holds its last accepted state, and owns it.
var removables = []struct {
	base    string
	options []string
}{
	{`{apiVersion: v1, kind: ConfigMap, data: {base: a}}`, []string{
		`{data: {x: $V}}`, `{data: {z: $V}}`, `{metadata: {labels: {team: $V}}}`, `{metadata: {annotations: {example.com/note: $V}}}`,
	}},
	{`{apiVersion: v1, kind: Service, spec: {ports: [{name: a, port: 80, protocol: TCP}], selector: {base: a}}}`, []string{
		`{spec: {selector: {x: $V}}}`, `{spec: {selector: {z: $V}}}`, `{spec: {ports: [{name: b, port: 81, protocol: TCP, appProtocol: $V}]}}`,
		// The API server drops sessionAffinityConfig with sessionAffinity, whoever wrote it.
		`{spec: {internalTrafficPolicy: Local}}`,
	}},
}

// removal is a world of the law: an object with the authors of its fields.
type removal struct {
	*fixture
	random *rand.Rand
	counts map[string]int
	name   string
	kind   int
	adopts bool
	// options has the value of each option of the manifest, and absent ones -1.
	options []int
	// isHeld is true if the last manifest was accepted.
	isHeld bool
	// known has the fields at the last call of note.
	known map[string]removalLeaf
	// authors has the client that last wrote each field, and applied those that a client applies.
	authors map[string]string
	applied map[string]bool
	emptied bool
	// first is true if a client has applied something since managedFields were emptied.
	first bool
}

// TestLawOfRemovalOnAnAPIServer: of the fields that a manifest drops, those that the Application wrote are removed, and
// those that another client wrote or applies remain, and an event reports them.
func TestLawOfRemovalOnAnAPIServer(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.Create("user", fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %[1]s},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[1]s}]}`, f.namespace, applier))
	f.Run(controller.Options{})
	seed := samples.Of(1, uint64(time.Now().UnixNano()))
	t.Logf("the seed is %d", seed)
	counts := map[string]int{}
	worlds := make([]*removal, samples.Of(24, 300))
	for i := range worlds {
		w := &removal{
			fixture: f, random: rand.New(rand.NewPCG(seed, uint64(i))), counts: counts, name: fmt.Sprintf("w%d", i), kind: i % len(removables), //nolint:gosec // only for test data
			authors: map[string]string{}, applied: map[string]bool{},
		}
		w.begin()
		worlds[i] = w
	}
	for range 2 {
		for _, w := range worlds {
			w.submit(true)
		}
		for _, w := range worlds {
			w.AwaitApplication(w.name, "suspended", func(app *v1alpha1.Application) bool { return app.Spec.Suspend })
			w.edit()
		}
		judges := make([]func(), len(worlds))
		for i, w := range worlds {
			judges[i] = w.drop()
		}
		for _, judge := range judges {
			judge()
		}
	}
	t.Logf("%v", counts)
	for _, verdict := range []string{"removed", "left to another client", "left to a client that applies it"} {
		assert.Positive(t, counts[verdict], verdict)
	}
}

// begin submits the first manifest. The object may exist.
func (w *removal) begin() {
	w.t.Helper()
	for range removables[w.kind].options {
		w.options = append(w.options, w.random.IntN(4)-1)
	}
	if w.adopts = w.random.IntN(3) == 0; w.adopts {
		before := slices.Clone(w.options)
		w.options[w.random.IntN(len(before))] = -1
		_, err := w.in("owner", w.resource()).Create(w.t.Context(), &unstructured.Unstructured{Object: w.manifest(w.options)}, metav1.CreateOptions{})
		w.options = before
		if w.adopts = err == nil; w.adopts { // without one of its options, it may be invalid
			w.note("owner")
		}
	}
	w.submit(false)
	w.isHeld = w.awaitDecision()
}

// manifest returns the object with these options.
func (w *removal) manifest(options []int) map[string]any {
	w.t.Helper()
	object := w.object(removables[w.kind].base).Object
	for i, value := range options {
		if value >= 0 {
			object = joined(object, w.option(i, value)).(map[string]any)
		}
	}
	(&unstructured.Unstructured{Object: object}).SetName(w.name)
	return object
}

// option returns an option with one of its values.
func (w *removal) option(i, value int) map[string]any {
	w.t.Helper()
	text := strings.ReplaceAll(removables[w.kind].options[i], "$V", "v"+fmt.Sprint(value))
	return w.object(text).Object
}

// joined returns two values in one: maps by field, and lists of maps with names by name.
func joined(a, b any) any {
	switch b := b.(type) {
	case map[string]any:
		all, _ := a.(map[string]any)
		all = maps.Clone(all)
		if all == nil {
			all = map[string]any{}
		}
		for name, value := range b {
			all[name] = joined(all[name], value)
		}
		return all
	case []any:
		all, _ := a.([]any)
		if len(b) == 0 || nameOf(b[0]) == "" {
			return b
		}
		all = slices.Clone(all)
		for _, element := range b {
			i := slices.IndexFunc(all, func(e any) bool { return nameOf(e) == nameOf(element) })
			if i < 0 {
				all = append(all, element)
			} else {
				all[i] = joined(all[i], element)
			}
		}
		return all
	}
	return b
}

func (w *removal) submit(suspend bool) {
	w.t.Helper()
	spec, err := yaml.Marshal(map[string]any{"manifest": []any{w.manifest(w.options)}, "adoption": "Always", "suspend": suspend})
	require.NoError(w.t, err)
	w.Submit(w.name, string(spec))
}

// awaitDecision waits until the manifest is held, or rejected. It reports whether it is held.
func (w *removal) awaitDecision() (isHeld bool) {
	w.t.Helper()
	w.AwaitApplication(w.name, "held or rejected", func(app *v1alpha1.Application) bool {
		isHeld = apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionHeld)
		return isHeld || condition(app, v1alpha1.ConditionReady).Reason == v1alpha1.ReasonRejected
	})
	return isHeld
}

func (w *removal) live() map[string]any {
	w.t.Helper()
	return w.Get(w.resource(), w.name)
}

// removalLeaf is a single value, or a list without keys. whole is the path of the value around it that is one value.
type removalLeaf struct {
	value any
	whole string
}

// leaves returns the fields that a manifest can have.
func (w *removal) leaves(object map[string]any) map[string]removalLeaf {
	found := map[string]removalLeaf{}
	u := &unstructured.Unstructured{Object: object}
	content := map[string]any{}
	for _, field := range []string{"data", "spec"} {
		if object[field] != nil {
			content[field] = object[field]
		}
	}
	content["labels"], content["annotations"] = map[string]any{}, map[string]any{}
	for name, value := range u.GetLabels() {
		content["labels"].(map[string]any)[name] = value
	}
	for name, value := range u.GetAnnotations() {
		content["annotations"].(map[string]any)[name] = value
	}
	for _, marks := range []string{"labels", "annotations"} {
		maps.DeleteFunc(content[marks].(map[string]any), func(name string, _ any) bool { return strings.Contains(name, "holdfast.dev/") })
	}
	addLeaves(found, intent.Offline().Type(u.GroupVersionKind()), "", "", content)
	return found
}

func addLeaves(found map[string]removalLeaf, t *kinds.Node, path, whole string, value any) {
	switch value := value.(type) {
	case map[string]any:
		if t.IsOneValue() && whole == "" {
			whole = path
		}
		for name, child := range value {
			addLeaves(found, t.Field(name), path+"."+name, whole, child)
		}
	case []any:
		list := new(observer.List)
		if !list.ByIdentity(t) {
			found[path] = removalLeaf{value, path}
			return
		}
		for i, label := range list.Labels(t, value) {
			addLeaves(found, t.Elem(), path+label, whole, value[i])
		}
	default:
		found[path] = removalLeaf{value, whole}
	}
}

// note records the author of the fields that have changed since the last call; "" is the Application. What one client
// changes, others do not apply any more.
func (w *removal) note(author string) {
	w.t.Helper()
	was, is := w.known, w.leaves(w.live())
	for path, leaf := range is {
		if old, had := was[path]; had && observer.Equal(old.value, leaf.value) {
			continue
		}
		w.authors[path] = author
		maps.DeleteFunc(w.applied, func(other string, _ bool) bool {
			return other == path || leaf.whole != "" && is[other].whole == leaf.whole
		})
	}
	for path, leaf := range was {
		if _, still := is[path]; !still {
			delete(w.authors, path)
			maps.DeleteFunc(w.applied, func(other string, _ bool) bool {
				return other == path || leaf.whole != "" && was[other].whole == leaf.whole
			})
		}
	}
	w.known = is
}

// edit lets other clients write up to three times.
func (w *removal) edit() {
	w.t.Helper()
	w.note("")
	if len(w.known) == 0 {
		return // the API server has rejected the create
	}
	for range w.random.IntN(4) {
		switch w.random.IntN(12) {
		case 0:
			w.PatchJSON("user", w.resource(), w.name, `[{op: replace, path: /metadata/managedFields, value: [{}]}]`)
			w.emptied, w.first = true, false
			clear(w.applied)
		case 1, 2, 3, 4:
			i := w.random.IntN(len(w.options))
			object := &unstructured.Unstructured{Object: joined(w.live(), w.option(i, w.random.IntN(3))).(map[string]any)}
			if _, err := w.in("mallory", w.resource()).Update(w.t.Context(), object, metav1.UpdateOptions{}); err == nil {
				w.note("mallory")
			}
		default:
			w.apply()
		}
	}
}

// apply lets another client apply some options, usually with the values of the manifest.
func (w *removal) apply() {
	w.t.Helper()
	base := w.object(removables[w.kind].base)
	config := &unstructured.Unstructured{Object: map[string]any{"apiVersion": base.GetAPIVersion(), "kind": base.GetKind()}}
	for i, value := range w.options {
		switch w.random.IntN(4) {
		case 0:
			value = w.random.IntN(3)
		case 1, 2:
			continue
		}
		if value >= 0 {
			config.Object = joined(config.Object, w.option(i, value)).(map[string]any)
		}
	}
	config.SetName(w.name)
	_, err := w.in("argo", w.resource()).Apply(w.t.Context(), w.name, config, metav1.ApplyOptions{FieldManager: "argo", Force: w.random.IntN(2) == 0})
	if apierrors.IsConflict(err) {
		w.counts["conflicts of an apply"]++
	}
	if err != nil {
		return
	}
	w.note("argo")
	clear(w.applied)
	for path := range w.leaves(config.Object) {
		w.applied[path] = true
	}
	w.first = w.emptied
	w.counts["applies"]++
}

// drop submits a manifest without some of the options. The result judges what remains.
func (w *removal) drop() (judge func()) {
	w.t.Helper()
	before, was, wasHeld := w.known, w.leaves(w.manifest(w.options)), w.isHeld
	authors, applied := maps.Clone(w.authors), maps.Clone(w.applied)
	for i := range w.options {
		if w.random.IntN(2) == 0 {
			w.options[i] = -1
		}
	}
	w.submit(false)
	return func() {
		w.t.Helper()
		w.isHeld = w.awaitDecision()
		if !wasHeld || !w.isHeld {
			w.counts["excluded: the API server rejects the manifest"]++
			return
		}
		now, want, isTold := w.leaves(w.live()), w.leaves(w.manifest(w.options)), false
		isOurs := func(path string) bool { return authors[path] == "" && !applied[path] }
		for path, leaf := range before {
			if _, isWanted := want[path]; isWanted || leaf.whole != "" && hasPrefix(want, leaf.whole) {
				continue // a value with one of its parts is held exactly
			}
			old, wasDesired := was[path]
			isApplied := wasDesired && observer.Equal(old.value, leaf.value)
			remains := observer.Equal(now[path].value, leaf.value)
			isShared := slices.ContainsFunc(elementsOf(path), func(element string) bool {
				return !hasPrefix(want, element) && slices.ContainsFunc(slices.Collect(maps.Keys(before)), func(other string) bool { return strings.HasPrefix(other, element) && !isOurs(other) })
			})
			switch {
			case !isOurs(path) && !remains && w.emptied && isApplied:
				w.counts["excluded: no manager has an applied value, because managedFields were emptied"]++
			case !isOurs(path) && !remains && !applied[path] && leaf.whole != "" && (w.adopts || isApplied):
				w.counts["excluded: the last client that wrote in a value owns all of it"]++
			case !isOurs(path) && !remains:
				w.t.Fatalf("%s: %s of %q (applied: %t) was %v, and is gone\n%v\n%v", w.name, path, authors[path], applied[path], leaf.value, before, w.live())
			case applied[path]:
				w.counts["left to a client that applies it"]++
				isTold = isTold || wasDesired
			case !isOurs(path):
				w.counts["left to another client"]++
				isTold = isTold || wasDesired
			case !wasDesired: // a default
			case !remains:
				w.counts["removed"]++
			case w.emptied && (w.adopts || w.first || len(elementsOf(path)) > 0):
				w.counts["excluded: the writer is unknown, because managedFields were emptied"]++
			case isShared:
				w.counts["kept in an element of another client"]++
			default:
				w.t.Fatalf("%s: %s was written by the Application, has left the manifest, and remains %v\n%v", w.name, path, leaf.value, w.live())
			}
		}
		if isTold && !w.adopts && !w.emptied {
			w.AwaitNote(w.name, "not removed: ")
			w.counts["worlds with an event"]++
		}
	}
}

func (w *removal) resource() schema.GroupVersionResource {
	w.t.Helper()
	return resourceOf(w.object(removables[w.kind].base))
}

// elementsOf returns the list elements on a path.
func elementsOf(path string) (elements []string) {
	for i, r := range path {
		if r == ']' {
			elements = append(elements, path[:i+1])
		}
	}
	return elements
}

func hasPrefix(leaves map[string]removalLeaf, prefix string) bool {
	for path := range leaves {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
