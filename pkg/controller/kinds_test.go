package controller_test

import (
	"fmt"
	"net/http"
	"path"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
)

const anySpec = `{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`

// custom returns a resource in the test's own group.
func (f *fixture) custom(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: f.namespace + ".example.com", Version: "v1", Resource: plural}
}

func TestADefinitionAndItsObjectInOneApplication(t *testing.T) {
	f := given(t)
	f.GrantEverywhere()
	const custom = "- {apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: song}, spec: {title: Chanson}}\n"
	f.Submit("app", "manifest:\n"+custom+"- "+strings.ReplaceAll(definition("Song", "songs", anySpec), "\n", " ")+"\n"+`
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}`)

	f.AwaitReady("app")
	songs := f.custom("songs")
	f.Patch("mallory", songs, "song", `{spec: {title: Lied}}`)
	f.AwaitValue(songs, "song", "Chanson", "spec", "title")
	f.Quiet(quiet)

	// Then: the CRD is deleted last, after all of its objects.
	f.Patch("somebody", songs, "song", `{metadata: {finalizers: [somebody.example.com/wait]}}`)
	f.Mark()
	f.Delete(applications, "app")
	f.AwaitReason("app", v1alpha1.ReasonWaiting)
	f.Quiet(quiet)
	assert.NotContains(t, counts(f.touched()), "delete customresourcedefinitions")
	f.Patch("somebody", songs, "song", `{metadata: {finalizers: null}}`)
	f.AwaitGone(applications, "app")
	var gone []string
	for _, r := range f.touched() {
		gone = append(gone, r.Verb+" "+r.Resource)
	}
	assert.Equal(t, "delete songs", gone[0])
	assert.Equal(t, "delete customresourcedefinitions", gone[len(gone)-1])
	assert.Nil(t, f.Get(definitions, "songs."+f.namespace+".example.com"))
}

// An object that waits for its kind has not failed, so no retry is scheduled. The clock of the controller does
// not advance: a scheduled retry would never be due.
func TestClusterScopedObjectWithItsDefinition(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.GrantEverywhere()
	now := time.Now()
	f.Run(controller.Options{Now: func() time.Time { return now }})
	const objects = "- {apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: song}, spec: {title: Chanson}}\n"
	songs := strings.Replace(definition("Song", "songs", anySpec), "scope: Namespaced", "scope: Cluster", 1)
	f.Submit("app", "manifest:\n"+objects+"- "+strings.ReplaceAll(songs, "\n", " "))

	f.eventually("the song", func() bool {
		_, err := f.As("user").Resource(f.custom("songs")).Get(t.Context(), "song", metav1.GetOptions{})
		return err == nil
	})
	f.AwaitReady("app")
	assert.Equal(t, 1, counts(f.Requests())["create songs"])
}

func TestAKindThatIsMissingIsWaitedForAlone(t *testing.T) {
	f := given(t)
	f.Submit("app", `
manifest:
- {apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: song}, spec: {title: Chanson}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}`)
	_, message := f.AwaitReason("app", v1alpha1.ReasonKindUnknown)
	assert.Contains(t, message, "Song")
	assert.NotNil(t, f.Get(configMaps, "config"), "the other resource does not wait")
	f.Quiet(quiet)

	f.Definition("Song", "songs", anySpec)

	begin := time.Now()
	f.AwaitReady("app")
	assert.Less(t, time.Since(begin), 20*time.Second, "without a word it is looked for every 30 s")
	assert.Equal(t, "Chanson", value(f.Get(f.custom("songs"), "song"), "spec", "title"))
	f.Quiet(quiet)
}

// Applications that wait for the same kind share the discovery requests.
func TestAKindThatIsMissingIsAskedForOnce(t *testing.T) {
	f := given(t)
	const n = 12
	for i := range n {
		f.Submit(fmt.Sprint("app-", i), fmt.Sprintf(`{manifest: [{apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: song-%d}, spec: {title: Chanson}}]}`, i))
	}
	for i := range n {
		f.AwaitReason(fmt.Sprint("app-", i), v1alpha1.ReasonKindUnknown)
	}
	asked := f.Requests().Where(func(r testcluster.Request) bool { return strings.HasPrefix(r.URI, "/apis/"+f.namespace+".example.com") })
	assert.LessOrEqual(t, len(asked), 4, "for the version and for the group, and perhaps once more after half a minute:\n%s", asked)

	f.Definition("Song", "songs", anySpec)
	for i := range n {
		f.AwaitReady(fmt.Sprint("app-", i))
	}
	f.Quiet(quiet)
}

// An apiVersion from a manifest is never used as a path on the API server without validation.
func TestInvalidKindsCauseNoRequests(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.Run(controller.Options{})
	for name, apiVersion := range map[string]string{
		"way-up": "../metrics", "deeper": "../../version", "query": "apps/v1?x=1", "long": strings.Repeat("a", 1<<19),
	} {
		f.Submit(name, `{manifest: [{apiVersion: "`+apiVersion+`", kind: X, metadata: {name: p}}]}`)
		f.AwaitReason(name, v1alpha1.ReasonManifestInvalid)
	}
	f.Quiet(time.Second)
	for _, r := range f.Requests() {
		assert.True(t, strings.HasPrefix(r.URI, "/api/v1") || strings.HasPrefix(r.URI, "/apis/"), "%s", r)
		assert.NotContains(t, r.URI, "v1%3F")
		assert.Less(t, len(r.URI), 1000)
	}
}

func TestKindIsDeletedAndCreatedAgain(t *testing.T) {
	f := given(t)
	f.Definition("Song", "songs", anySpec)
	f.Submit("app", `
manifest:
- {apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: song}, spec: {title: Chanson}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}`)
	f.AwaitReady("app")

	f.Delete(definitions, "songs."+f.namespace+".example.com")
	f.AwaitGone(definitions, "songs."+f.namespace+".example.com")
	f.AwaitReason("app", v1alpha1.ReasonKindUnknown)
	f.Quiet(quiet)
	f.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)
	f.AwaitValue(configMaps, "config", "ours", "data", "key")

	f.Definition("Song", "songs", anySpec)
	f.AwaitReady("app")
	f.Patch("mallory", f.custom("songs"), "song", `{spec: {title: Lied}}`)
	f.AwaitValue(f.custom("songs"), "song", "Chanson", "spec", "title")
	f.Quiet(quiet)
}

func TestApplicationIsDeletedWithoutItsKind(t *testing.T) {
	f := given(t)
	f.Definition("Song", "songs", anySpec)
	f.Submit("app", `{manifest: [{apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: song}, spec: {title: Chanson}}]}`)
	f.AwaitReady("app")
	f.Delete(definitions, "songs."+f.namespace+".example.com")
	f.AwaitReason("app", v1alpha1.ReasonKindUnknown)

	f.Delete(applications, "app")

	f.AwaitGone(applications, "app")
	f.Quiet(time.Second)
}

func TestAKindThatCannotBeWatchedIsRefusedAlone(t *testing.T) {
	f := given(t)
	f.Submit("app", `
manifest:
- {apiVersion: authentication.k8s.io/v1, kind: TokenReview, metadata: {name: review}, spec: {token: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}`)

	app, message := f.AwaitReason("app", v1alpha1.ReasonKindUnsupported)

	assert.Contains(t, message, "TokenReview")
	assert.Contains(t, message, "cannot be listed and watched")
	assert.NotEmpty(t, condition(app, v1alpha1.ConditionStalled).Message)
	assert.NotNil(t, f.Get(configMaps, "config"))
	f.Quiet(quiet)
}

func TestElementsAreToldApartByTheirKeys(t *testing.T) {
	f := given(t)
	f.Definition("Album", "albums", `{type: object, properties: {spec: {type: object, properties: {
	  songs: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
	    items: {type: object, required: [name], properties: {name: {type: string}, title: {type: string}}}}}}}}`)
	f.Submit("app", `
manifest:
- {apiVersion: $NS.example.com/v1, kind: Album, metadata: {name: album}, spec: {songs: [{name: a, title: A}, {name: b, title: B}]}}
observerSchema:
- apiVersion: $NS.example.com/v1
  kind: Album
  metadata: {name: album}
  spec:
    songs:
    - {name: observed, title: observed}
    - {observer_schema_list_min_length: 0, observer_schema_list_max_length: 0}
`)
	f.AwaitReady("app")
	f.Quiet(time.Second)
	albums := f.custom("albums")

	// When other elements are inserted before the held one and reordered,
	f.Mark()
	f.Patch("mallory", albums, "album", `{spec: {songs: [{name: c, title: C}, {name: b, title: B}, {name: a, title: A}]}}`)
	f.Quiet(quiet)
	assert.Empty(t, f.touched(), "then nothing has drifted.")

	// And when the held element changes, it is corrected at its current position.
	f.Patch("mallory", albums, "album", `{spec: {songs: [{name: c, title: X}, {name: b, title: X}, {name: a, title: X}]}}`)
	object := f.AwaitValue(albums, "album", "A", "spec", "songs", "2", "title")
	assert.Equal(t, "X", value(object, "spec", "songs", "0", "title"))
	assert.Equal(t, "X", value(object, "spec", "songs", "1", "title"))
	f.Quiet(quiet)
	assert.Len(t, f.touched(), 1)
}

// The API server prunes and defaults when it reads an object, so a new definition changes objects without a new version
// and without an event. It ends the watch a second later. Usually it cannot continue from the last event. It can if the
// watch delivers an event of another object in that second.
func TestChangedDefinitionsChangeHeldObjects(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(*fixture){
		"while nothing happens": func(*fixture) {},
		"while another object changes": func(f *fixture) {
			f.Patch("mallory", f.custom("songs"), "other", `{metadata: {labels: {changed: now}}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := givenAlone(t, testcluster.Options{})
			patience := cluster.StallTimeouts{ // without lists of quiet watches
				Failing: time.Minute, Quiet: time.Hour, Answer: 10 * time.Second, Longest: time.Hour, Check: 5 * time.Second,
			}
			var lists atomic.Int32
			f.RunThrough(func(next http.RoundTripper) http.RoundTripper {
				return sender(func(r *http.Request) (*http.Response, error) {
					query := r.URL.Query()
					if r.Method == http.MethodGet && path.Base(r.URL.Path) == "songs" && query.Get("watch") == query.Get("sendInitialEvents") {
						lists.Add(1)
					}
					return next.RoundTrip(r)
				})
			}, controller.Options{Patience: patience})
			f.Definition("Song", "songs", songSpec("title: {type: string}"))
			f.Submit("app", `
manifest: [{apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: song}, spec: {title: Chanson}}]
observerSchema: [{apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: song}, spec: {title: observed, language: observed}}]`)
			f.Submit("other", `manifest: [{apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: other}, spec: {title: Lied}}]`)
			f.AwaitReady("app")
			f.AwaitReady("other")
			f.Quiet(time.Second)
			require.EqualValues(t, 1, lists.Load())

			f.Patch("user", definitions, "songs."+f.namespace+".example.com", songVersion(songSpec("language: {type: string, default: fr}")))
			f.eventually("the new definition", func() bool { return value(f.Get(f.custom("songs"), "song"), "spec", "language") == "fr" })
			meanwhile(f)

			app := f.AwaitApplication("app", "the new fields", func(app *v1alpha1.Application) bool {
				return strings.Contains(string(app.Status.LastObservedManifest[0].Raw), `"fr"`)
			})
			assert.NotContains(t, string(app.Status.LastObservedManifest[0].Raw), "Chanson")
			app = f.AwaitReady("app")
			require.Len(t, app.Status.Accepted, 1)
			assert.Equal(t, "spec.title", app.Status.Accepted[0].Path)
			assert.True(t, app.Status.Accepted[0].Dropped)
			f.Quiet(quiet)
			assert.EqualValues(t, 2, lists.Load(), "lists and streams with all objects")
		})
	}
}

// songSpec returns the schema of a CRD whose spec contains the properties.
func songSpec(properties string) string {
	return `{type: object, properties: {spec: {type: object, properties: {` + properties + `}}}}`
}

// songVersion returns a patch for a CRD that sets the schema of its only version.
func songVersion(schema string) string {
	return `{spec: {versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: ` + schema + `}}]}}`
}

// versions returns a patch for a CRD that sets which of its two versions are served.
func versions(v1, v2 bool) string {
	return fmt.Sprintf(`{spec: {versions: [
	  {name: v1, served: %t, storage: false, schema: {openAPIV3Schema: %s}},
	  {name: v2, served: %t, storage: true, schema: {openAPIV3Schema: %s}}]}}`, v1, anySpec, v2, anySpec)
}

func TestMovingToAnotherVersionOfAKind(t *testing.T) {
	f := given(t)
	f.Definition("Song", "songs", anySpec)
	f.Patch("user", definitions, "songs."+f.namespace+".example.com", versions(true, true))
	spec := `{manifest: [{apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: song}, spec: {title: Chanson}}]}`
	f.Submit("app", spec)
	f.AwaitReady("app")
	before := f.Get(f.custom("songs"), "song")
	f.Quiet(time.Second)

	f.Mark()
	f.Submit("app", strings.Replace(spec, "example.com/v1", "example.com/v2", 1))
	app := f.AwaitReady("app")
	f.Quiet(quiet)
	assert.Empty(t, f.touched())
	assert.Equal(t, f.namespace+".example.com/v2", app.Status.Resources[0].APIVersion)

	// Then: the object is held in the new version, even if the old version is no longer served.
	f.Patch("user", definitions, "songs."+f.namespace+".example.com", versions(false, true))
	songs := f.custom("songs")
	songs.Version = "v2"
	f.Patch("mallory", songs, "song", `{spec: {title: Lied}}`)
	after := f.AwaitValue(songs, "song", "Chanson", "spec", "title")
	assert.Equal(t, value(before, "metadata", "uid"), value(after, "metadata", "uid"))
	f.AwaitReady("app")
	f.Quiet(quiet)
}

func TestAVersionThatIsServedNoMore(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(f *fixture){
		"when the Application is deleted": func(f *fixture) {
			f.Delete(applications, "app")
			f.AwaitGone(applications, "app")
		},
		"when it leaves the manifest": func(f *fixture) {
			f.empty("app")
			f.AwaitReady("app")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := given(t)
			f.Definition("Song", "songs", anySpec)
			f.Patch("user", definitions, "songs."+f.namespace+".example.com", versions(true, true))
			f.Submit("app", `{manifest: [{apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: song}, spec: {title: Chanson}}]}`)
			f.AwaitReady("app")

			f.Patch("user", definitions, "songs."+f.namespace+".example.com", versions(false, true))
			f.AwaitReason("app", v1alpha1.ReasonKindUnknown)
			leave(f)

			songs := f.custom("songs")
			songs.Version = "v2"
			assert.Nil(t, f.Get(songs, "song"))
		})
	}
}

func TestWatchesComeAndGoWithTheirKinds(t *testing.T) {
	f := givenStill(t, testcluster.Options{})
	holding := f.Run(controller.Options{})
	n, rounds := samples.Of(8, 30), samples.Of(2, 3)
	var spec strings.Builder
	spec.WriteString("manifest:\n")
	for i := range n {
		kind := fmt.Sprintf("Kind%d", i)
		f.Create("user", definition(kind, strings.ToLower(kind)+"s", anySpec))
		fmt.Fprintf(&spec, "- {apiVersion: $NS.example.com/v1, kind: %s, metadata: {name: a}, spec: {a: b}}\n", kind)
	}
	for i := range n {
		f.AwaitEstablished(fmt.Sprintf("kind%ds", i))
	}
	round := func() {
		f.Submit("app", spec.String())
		f.AwaitReady("app")
		require.Equal(t, n, holding.Watching())
		f.Delete(applications, "app")
		f.AwaitGone(applications, "app")
		f.eventually("the end of the watches", func() bool { return holding.Watching() == 0 })
	}
	round() // the first round creates connections and caches
	f.Quiet(time.Second)
	before := runtime.NumGoroutine()

	for range rounds {
		round()
	}

	f.eventually(fmt.Sprintf("%d goroutines again", before), func() bool { return runtime.NumGoroutine() <= before+3 })
}
