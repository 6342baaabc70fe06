package controller_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// many creates ConfigMaps with the label of the front tier.
func (f *fixture) many(from, to int) {
	f.t.Helper()
	var work errgroup.Group
	work.SetLimit(16)
	client := f.in("helm", configMaps)
	for i := from; i < to; i++ {
		object := f.object(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: many-%d, labels: {tier: front}}, data: {level: info}}`, i))
		work.Go(func() error {
			_, err := client.Create(f.t.Context(), object, metav1.CreateOptions{})
			return err
		})
	}
	require.NoError(f.t, work.Wait())
}

func (f *fixture) awaitSelected(objects int) *v1alpha1.Application {
	f.t.Helper()
	return f.AwaitApplication("app", fmt.Sprintf("%d selected objects", objects), func(app *v1alpha1.Application) bool {
		s := app.Status.Selected
		return len(s) == 1 && int(s[0].Objects) == objects && s[0].Ready == s[0].Objects && condition(app, v1alpha1.ConditionHeld).Status == metav1.ConditionTrue
	})
}

// As many objects as the limit allows cost one patch each, and one list to check the right to read them. At
// rest they cost nothing.
func TestSelecting(t *testing.T) {
	f := given(t)
	n := samples.Of(100, v1alpha1.DefaultMaxObjects)
	f.many(0, n)
	f.Create("helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: other, labels: {tier: back}}, data: {level: info}}`)
	before := bare(f.Get(configMaps, "many-7"))
	f.Mark()
	limit := samples.Of(fmt.Sprintf("maxObjects: %d\n", n), "")
	f.Submit("app", limit+`select: [{apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {tier: front}}, hold: {data: {level: debug, of: $(metadata.name)}}}]`)
	f.AwaitHeld("app")
	f.Quiet(quiet)
	asked := counts(f.Requests())
	assert.Equal(t, n, asked["patch configmaps"])
	assert.Equal(t, 1, asked["list configmaps"], "%v", asked)
	assert.Zero(t, asked["get configmaps"])
	f.awaitSelected(n)
	assert.Equal(t, "many-7", value(f.Get(configMaps, "many-7"), "data", "of"))
	assert.Equal(t, "info", value(f.Get(configMaps, "other"), "data", "level"))

	t.Run("one drift costs one patch", func(*testing.T) {
		f.Mark()
		f.Patch("mallory", configMaps, "many-7", `{data: {level: error}}`)
		f.AwaitValue(configMaps, "many-7", "debug", "data", "level")
		f.Quiet(quiet)
		assert.Equal(t, map[string]int{"patch configmaps": 1}, counts(f.touched()), "%s", f.touched())
	})
	t.Run("more objects than the limit are refused", func(t *testing.T) {
		f.Mark()
		f.many(n, n+1)
		_, message := f.AwaitReason("app", v1alpha1.ReasonTooManyObjects)
		assert.Contains(t, message, fmt.Sprintf("matches %d objects, but spec.maxObjects allows %d", n+1, n))
		f.Patch("mallory", configMaps, "many-8", `{data: {level: error}}`)
		f.Quiet(quiet)
		assert.Empty(t, counts(f.touched()))
		assert.Equal(t, "debug", value(f.Get(configMaps, "many-9"), "data", "level"), "held objects are kept")
	})
	t.Run("a new object replaces a deleted one", func(*testing.T) {
		f.Delete(configMaps, "many-0")
		f.AwaitValue(configMaps, fmt.Sprintf("many-%d", n), "debug", "data", "level")
		f.AwaitValue(configMaps, "many-8", "debug", "data", "level")
		f.awaitSelected(n)
		f.Quiet(quiet)
	})
	t.Run("an object that no longer matches is released", func(t *testing.T) {
		f.Mark()
		f.Patch("helm", configMaps, "many-7", `{metadata: {labels: {tier: back}}}`)
		f.AwaitValue(configMaps, "many-7", "info", "data", "level")
		app := f.awaitSelected(n - 1)
		assert.Len(t, app.Status.Resources, n-1)
		f.Quiet(quiet)
		assert.Equal(t, map[string]int{"patch configmaps": 1}, counts(f.touched()))
		f.Patch("helm", configMaps, "many-7", `{metadata: {labels: {tier: front}}}`)
		f.awaitSelected(n)
	})
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	assert.Equal(t, before, bare(f.Get(configMaps, "many-7")))
	assert.Empty(t, f.Requests().Where(func(r testcluster.Request) bool { return r.Verb == "delete" && r.Resource == "configmaps" }).By(f.agent))

	// The audit log contains a watch only after it has ended.
	var streams testcluster.Requests
	f.eventually("the end of the stream", func() bool {
		streams = f.streams("configmaps").Where(func(r testcluster.Request) bool { return strings.Contains(r.URI, "/namespaces/"+f.namespace+"/") })
		return len(streams) > 0
	})
	for _, r := range streams {
		assert.Contains(t, r.URI, "labelSelector=tier%3Dfront", "what is not selected is not sent, and costs nothing")
	}
}

func TestSelectingWithoutTheRight(t *testing.T) {
	f := given(t)
	f.mayPatch()
	f.Create("helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: canary}, data: {level: canary}}`)
	f.Submit("app", `select: [{apiVersion: v1, kind: ConfigMap, hold: {data: {level: debug}}}]`)
	app, message := f.AwaitReason("app", v1alpha1.ReasonForbidden)
	assert.Contains(t, message, "may not list configmaps in namespace "+f.namespace)
	assert.Contains(t, message, "--verb=get,list,watch,patch --resource=configmaps")
	assert.NotContains(t, fmt.Sprint(app.Status), "canary")
	f.Quiet(time.Second)
	assert.Empty(t, counts(f.touched()))

	f.Grant("cluster-admin", applier)
	f.AwaitValue(configMaps, "canary", "debug", "data", "level")
	f.AwaitHeld("app")
}

// recipe returns the spec of the first Application in docs/share.md that contains the text. It uses the
// ServiceAccount of the tests.
func (f *fixture) recipe(with string) string {
	f.t.Helper()
	text, err := os.ReadFile("../../docs/share.md")
	require.NoError(f.t, err)
	for block := range strings.SplitSeq(string(text), "```yaml\n") {
		block, _, _ = strings.Cut(block, "```")
		if _, spec, is := strings.Cut(block, "\nspec:\n"); is && strings.Contains(block, with) {
			return strings.Replace(strings.TrimRight(spec, "\n"), "  serviceAccountName: labels\n", "", 1)
		}
	}
	require.Fail(f.t, "docs/share.md has no recipe with "+with)
	return ""
}

// The selected kinds are cluster-scoped, or not served yet.
func TestSelectingKinds(t *testing.T) {
	f := given(t)
	f.GrantEverywhere()
	for _, name := range []string{"a", "b"} {
		f.Create("user", `{apiVersion: v1, kind: Namespace, metadata: {name: $NS-`+name+`}}`)
		t.Cleanup(func() {
			_ = f.in("user", namespaces).Delete(cleanupContext(), f.namespace+"-"+name, metav1.DeleteOptions{})
		})
	}
	f.Submit("labels", f.recipe("kind: Namespace")+`
    names: [$NS, $NS-*]`)
	for _, name := range []string{"", "-a", "-b"} {
		live := f.AwaitValue(namespaces, f.namespace+name, "baseline", "metadata", "labels", "pod-security.kubernetes.io/enforce")
		assert.Equal(t, f.namespace+name, value(live, "metadata", "labels", "name"))
	}
	f.Submit("app", `
select:
- {apiVersion: v1, kind: Namespace, names: ["$NS", "$NS-*"], hold: {metadata: {labels: {team: net, of: $(metadata.name)}}}}
- {apiVersion: $NS.example.com/v1, kind: Song, hold: {spec: {key: ours}}}`)
	for _, name := range []string{"", "-a", "-b"} {
		f.AwaitValue(namespaces, f.namespace+name, f.namespace+name, "metadata", "labels", "of")
	}
	_, message := f.AwaitReason("app", v1alpha1.ReasonKindUnknown)
	assert.Equal(t, 1, strings.Count(message, "Song in "), message)

	f.Definition("Song", "songs", `{type: object, properties: {spec: {type: object, properties: {key: {type: string}}}}}`)
	songs := schema.GroupVersionResource{Group: f.namespace + ".example.com", Version: "v1", Resource: "songs"}
	f.Create("user", `{apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: one}, spec: {key: theirs}}`)
	f.AwaitValue(songs, "one", "ours", "spec", "key")
	f.AwaitHeld("app")
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	assert.Equal(t, "theirs", value(f.Get(songs, "one"), "spec", "key"))
	assert.Nil(t, value(f.Get(namespaces, f.namespace), "metadata", "labels", "team"))
}

// Two Applications each make an object leave the other one's selection. They must not write forever. One of them reports
// it, whether it waits, holds the object, or may not restore it any more (spec.maxDeletions).
func TestSelectionsInACircle(t *testing.T) {
	f := given(t)
	f.Create("helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {level: info}}`)
	f.Submit("one", `select: [{apiVersion: v1, kind: ConfigMap, names: [theirs], selector: {matchExpressions: [{key: b, operator: DoesNotExist}]}, hold: {metadata: {labels: {a: "1"}}}}]`)
	f.Submit("two", `select: [{apiVersion: v1, kind: ConfigMap, names: [theirs], selector: {matchLabels: {a: "1"}}, hold: {metadata: {labels: {b: "1"}}}}]`)
	var reporter string
	reports := func(name string) bool {
		return strings.Contains(condition(f.Application(name), v1alpha1.ConditionReady).Message, "repeatedly starts and stops matching spec.select")
	}
	f.eventually("a report of the circle", func() bool {
		for _, reporter = range []string{"one", "two"} {
			if reports(reporter) {
				return true
			}
		}
		return false
	})
	assert.Never(t, func() bool { return !reports(reporter) }, 10*time.Second, 20*time.Millisecond, "the report is steady")
	f.Delete(applications, "two")
	f.AwaitGone(applications, "two")
	f.Delete(applications, "one")
	f.AwaitGone(applications, "one")
	assert.Nil(t, whatever(f.Get(configMaps, "theirs"), "metadata", "labels"))
}
