package controller_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/manifest"
)

// twoStages has objects in two stages of deletion: the Service is deleted first.
const twoStages = `
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}`

const nothing = `{manifest: []}`

// empty removes all objects from an Application, and confirms it.
func (f *fixture) empty(name string) {
	f.t.Helper()
	f.Submit(name, nothing)
	f.AwaitApplication(name, "confirmed", func(app *v1alpha1.Application) bool { return !f.confirm(app) })
}

// confirm confirms the deletions of an Application that wait for it. It reports whether there are any.
func (f *fixture) confirm(app *v1alpha1.Application) bool {
	f.t.Helper()
	if app == nil {
		return false
	}
	for _, r := range app.Status.Resources {
		if !v1alpha1.InfoForReason(r.Reason).Unconfirmed || r.Remedy == nil {
			continue
		}
		_, digest, _ := strings.Cut(r.Remedy.Command, " --confirm ")
		if app.Annotations[v1alpha1.AnnotationConfirm] != digest {
			f.Patch("user", applications, app.Name, fmt.Sprintf(`{metadata: {annotations: {%s: %q}}}`, v1alpha1.AnnotationConfirm, digest))
		}
		return true
	}
	return false
}

func TestOneThatCannotGoKeepsNoOther(t *testing.T) {
	alone := givenAlone(t, testcluster.Options{})
	m := &meddler{}
	alone.RunThrough(m.wrap, controller.Options{})
	leave := map[string]func(f *fixture){
		"the manifest":  func(f *fixture) { f.empty("app") },
		"with the rest": func(f *fixture) { f.Delete(applications, "app") },
	}
	for where, leave := range leave {
		t.Run("an object that another client replaced, "+where, func(t *testing.T) {
			f := alone.Elsewhere(t)
			f.Submit("app", twoStages)
			f.AwaitReady("app")
			f.Quiet(time.Second)
			m.before(t, http.MethodDelete, "/services/web", func() {
				f.Delete(services, "web")
				f.Create("somebody", `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 81}]}}`)
			})
			goOn := m.lag("services") // the watch does not report it, either
			defer goOn()
			leave(f)
			f.AwaitGone(configMaps, "config")
			assert.NotNil(t, f.Get(services, "web"))
			f.Quiet(time.Second)
		})

		t.Run("an object that waits for an earlier deletion, "+where, func(t *testing.T) {
			f := alone.Elsewhere(t)
			f.Submit("app", twoStages)
			f.AwaitReady("app")
			f.Patch("somebody", configMaps, "config", `{metadata: {finalizers: [somebody.example.com/wait]}}`)
			f.Delete(configMaps, "config")
			f.AwaitReason("app", v1alpha1.ReasonWaiting)
			leave(f)
			f.AwaitGone(services, "web")
			f.Patch("somebody", configMaps, "config", `{metadata: {finalizers: null}}`)
			f.AwaitGone(configMaps, "config")
			f.Quiet(time.Second)
		})

		t.Run("a newly adopted object is not deleted, "+where, func(t *testing.T) {
			f := alone.Elsewhere(t)
			f.Submit("app", twoStages)
			f.AwaitReady("app")
			f.Quiet(time.Second)
			m.before(t, http.MethodDelete, "/services/web", func() { f.adopt(services, "Service", "web") })
			leave(f)
			f.AwaitGone(configMaps, "config")
			f.Quiet(time.Second)
			assert.NotNil(t, f.Get(services, "web"))
		})
	}

	t.Run("a newly adopted object is not written", func(t *testing.T) {
		f := alone.Elsewhere(t)
		f.Submit("app", oneConfig)
		f.AwaitReady("app")
		f.Quiet(time.Second)
		m.before(t, http.MethodPatch, "/configmaps/config", func() { f.adopt(configMaps, "ConfigMap", "config") })
		f.Patch("somebody", configMaps, "config", `{data: {key: theirs}}`)
		f.AwaitReason("app", v1alpha1.ReasonResourceConflict)
		assert.Equal(t, "theirs", value(f.Get(configMaps, "config"), "data", "key"))
	})

	t.Run("an object of a kind that nothing can be held of is forgotten", func(t *testing.T) {
		f := alone.Elsewhere(t)
		f.Submit("app", oneConfig+`
- {apiVersion: authentication.k8s.io/v1, kind: TokenReview, metadata: {name: review}, spec: {token: a}}`)
		f.AwaitReason("app", v1alpha1.ReasonKindUnsupported)
		f.Submit("app", oneConfig)
		f.AwaitReady("app")
		f.Delete(applications, "app")
		f.AwaitGone(applications, "app")
	})
}

// adopt writes the tracking metadata of another Application.
func (f *fixture) adopt(resource schema.GroupVersionResource, kind, name string) {
	f.t.Helper()
	id := manifest.ID{Kind: kind, Namespace: f.namespace, Name: name}
	other := &v1alpha1.Application{}
	other.Namespace, other.Name = f.namespace, "other"
	f.Patch("somebody", resource, name, fmt.Sprintf(
		`{metadata: {labels: {%s: 00000000-0000-0000-0000-000000000000}, annotations: {%s: %q}}}`,
		v1alpha1.LabelApplicationUID, v1alpha1.AnnotationTrackingID, claim.TrackingID(other, id)))
}

// An object that a dead process created is found, even if its kind cannot be resolved for a while.
func TestAKindThatCannotBeLookedUp(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.Definition("Song", "songs", anySpec)
	first := f.Run(controller.Options{})
	f.Submit("app", oneConfig)
	app := f.AwaitReady("app")
	first.Stop()
	id := manifest.ID{Group: f.namespace + ".example.com", Kind: "Song", Namespace: f.namespace, Name: "song"}
	f.Create("somebody", fmt.Sprintf(`{apiVersion: %s/v1, kind: Song, metadata: {name: song, labels: {%s: %s}, annotations: {%s: %q}}}`,
		id.Group, v1alpha1.LabelApplicationUID, app.UID, v1alpha1.AnnotationTrackingID, claim.TrackingID(app, id)))
	f.Patch("somebody", applications, "app", fmt.Sprintf(`{metadata: {annotations: {%s: "ConfigMap.v1.,Song.v1.%s", %s: %s}}}`,
		v1alpha1.AnnotationKinds, id.Group, v1alpha1.AnnotationCreating, announced(id)))
	f.Delete(applications, "app")

	var down atomic.Bool
	var asked atomic.Int64
	down.Store(true)
	f.RunThrough(func(next http.RoundTripper) http.RoundTripper {
		return sender(func(request *http.Request) (*http.Response, error) {
			if strings.HasPrefix(request.URL.Path, "/apis/"+id.Group) && down.Load() {
				asked.Add(1)
				return failure(request, http.StatusInternalServerError, "InternalError"), nil
			}
			return next.RoundTrip(request)
		})
	}, controller.Options{})
	f.AwaitGone(configMaps, "config")
	goneAt := asked.Load()
	f.eventually("the kind to be asked for again", func() bool { return asked.Load() > goneAt+1 })
	require.NotNil(t, f.Get(applications, "app"))
	down.Store(false)
	f.AwaitGone(applications, "app")
	assert.Nil(t, f.Get(f.custom("songs"), "song"))
}

// announced returns the annotation of a dead process that was about to create an object.
func announced(id manifest.ID) string {
	return observertest.Packed(fmt.Sprintf(`{"objects": ["%s/%s/%s/%s"]}`, id.Group, id.Kind, id.Namespace, id.Name))
}
