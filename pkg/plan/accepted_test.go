package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

const podSpec = `
manifest:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    template:
      spec:
        containers:
        - {name: web, image: web:1, resources: {limits: {cpu: %CPU}}}
        volumes: [{name: tmp}]
`

func podContainer(o map[string]any) map[string]any {
	return get(o, "spec", "template", "spec", "containers").([]any)[0].(map[string]any)
}

func TestServerFormsOfAValueAreNotDrift(t *testing.T) {
	rows := []struct {
		name    string
		respond func(o map[string]any)
		path    string
		dropped bool
		event   string
	}{
		{"a quantity is normalized", func(o map[string]any) { set(podContainer(o), "1", "resources", "limits", "cpu") },
			"spec.template.spec.containers[name=web].resources.limits.cpu", false, "created Deployment.apps default/web"},
		{"a webhook rewrites an image", func(o map[string]any) { podContainer(o)["image"] = "mirror/web:1" },
			"spec.template.spec.containers[name=web].image", false, "created Deployment.apps default/web"},
		{"a field is pruned", func(o map[string]any) { delete(podContainer(o), "image") },
			"spec.template.spec.containers[name=web].image", true,
			"created Deployment.apps default/web; Deployment.apps default/web: the API server dropped spec.template.spec.containers[name=web].image: check its spelling"},
		{"a map is pruned", func(o map[string]any) { delete(podContainer(o), "resources") },
			"spec.template.spec.containers[name=web].resources", true,
			"created Deployment.apps default/web; Deployment.apps default/web: the API server dropped spec.template.spec.containers[name=web].resources: check its spelling"},
		{"an element is dropped from a list", func(o map[string]any) { set(o, []any{}, "spec", "template", "spec", "volumes") },
			"spec.template.spec.volumes[name=tmp]", true,
			"created Deployment.apps default/web; Deployment.apps default/web: the API server dropped spec.template.spec.volumes[name=tmp]: check its spelling"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, replace(podSpec, "%CPU", "1000m"))
			w.respond = row.respond
			_, result := w.round()
			require.Len(t, w.app.Status.Accepted, 1)
			accepted := w.app.Status.Accepted[0]
			assert.Equal(t, row.path, accepted.Path)
			assert.Equal(t, row.dropped, accepted.Dropped)
			assert.Equal(t, row.dropped, accepted.Accepted == nil)
			assert.Equal(t, row.event, result.Event.Note)
			assert.Equal(t, row.dropped, result.Event.Warning)
			status, _, _ := w.condition("Held")
			assert.Equal(t, "True", status)
			w.quiet()
			w.quiet()
		})
	}
}

func TestAnAcceptedFormGoesWithItsValue(t *testing.T) {
	w := newWorld(t, replace(podSpec, "%CPU", "1000m"))
	w.respond = func(o map[string]any) { set(podContainer(o), "1", "resources", "limits", "cpu") }
	w.round()
	w.edit(replace(podSpec, "%CPU", "2000m"))
	w.respond = func(o map[string]any) { set(podContainer(o), "2", "resources", "limits", "cpu") }
	p, _ := w.round()
	assert.Equal(t, []string{"spec.template.spec.containers[name=web].resources.limits.cpu changed"}, paths(p))
	require.Len(t, w.app.Status.Accepted, 1)
	assert.Equal(t, `"2000m"`, string(w.app.Status.Accepted[0].Desired.Raw))
	w.quiet()

	w.edit(replace(podSpec, "%CPU", "'2'"))
	w.round()
	assert.Empty(t, w.app.Status.Accepted)
	w.quiet()
}

// A policy that rewrote the value may be gone at the next write. Then only the desired value is in sync.
func TestAnAcceptedFormGoesWithItsPolicy(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(w *world)
	}{
		{"the object is created again", func(w *world) { clear(w.live) }},
		{"the field is corrected", func(w *world) { podContainer(w.only())["image"] = "web:2" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, replace(podSpec, "%CPU", "1"))
			w.respond = func(o map[string]any) { podContainer(o)["image"] = "mirror/web:1" }
			w.round()
			require.Len(t, w.app.Status.Accepted, 1)
			w.quiet()

			w.respond = nil
			row.change(w)
			w.round()
			assert.Equal(t, "web:1", podContainer(w.only())["image"])
			assert.Empty(t, w.app.Status.Accepted)
			podContainer(w.only())["image"] = "mirror/web:1"
			p, _ := w.round()
			assert.Len(t, paths(p), 1, "another client wrote it")
			w.quiet()
		})
	}
}

func TestAnAcceptedFormOutlivesItsField(t *testing.T) {
	w := newWorld(t, replace(podSpec, "%CPU", "1000m"))
	w.respond = func(o map[string]any) {
		if podContainer(o)["resources"] != nil {
			set(podContainer(o), "1", "resources", "limits", "cpu")
		}
	}
	w.round()
	delete(podContainer(w.only()), "resources")
	w.store(w.decide().Summarize(nil, w.now))
	require.Len(t, w.app.Status.Accepted, 1)
	w.round()
	w.quiet()
}

func TestAnAcceptedFormIsNotAnyOtherValue(t *testing.T) {
	w := newWorld(t, replace(podSpec, "%CPU", "1000m"))
	w.respond = func(o map[string]any) { set(podContainer(o), "1", "resources", "limits", "cpu") }
	w.round()
	set(podContainer(w.only()), "3", "resources", "limits", "cpu")
	p, _ := w.round()
	assert.Len(t, paths(p), 1)
	assert.Equal(t, "1", get(podContainer(w.only()), "resources", "limits", "cpu"))
	w.quiet()
}

func TestOnlyWhatWeWroteIsAccepted(t *testing.T) {
	w := newWorld(t, replace(podSpec, "%CPU", "1000m"))
	w.round()
	podContainer(w.only())["image"] = "web:2"
	w.respond = func(o map[string]any) { set(podContainer(o), "7", "resources", "limits", "cpu") } // a race
	_, result := w.round()
	assert.True(t, result.Again)
	assert.Empty(t, w.app.Status.Accepted)
	w.respond = nil
	w.round()
	assert.Equal(t, "1000m", get(podContainer(w.only()), "resources", "limits", "cpu"))
	w.quiet()
}

func TestAcceptedFormsOfSecretsStayInMemory(t *testing.T) {
	w := newWorld(t, `
manifest:
- {apiVersion: v1, kind: Secret, metadata: {name: keys}, stringData: {a: canary}}
`)
	w.respond = func(o map[string]any) { set(o, "cmV3cml0dGVu", "data", "a") }
	_, result := w.round()
	assert.Empty(t, result.Status.Accepted)
	assert.Len(t, w.mem.Secrets, 1)
	w.quiet()
}

func TestOurMarksAreNeverAcceptedAsDropped(t *testing.T) {
	w := newWorld(t, settings)
	w.respond = func(o map[string]any) { delete(get(o, "metadata").(map[string]any), "labels") }
	_, result := w.round()
	assert.Empty(t, result.Status.Accepted)
	assert.True(t, result.Again)
	for range 5 {
		w.round()
	}
	assert.Len(t, w.app.Status.Contested, 1, "it is a fight, not a loop")
	_, result = w.round()
	assert.False(t, result.Again)
}

func sidecar(o map[string]any) {
	spec := get(o, "spec", "template", "spec").(map[string]any)
	for _, c := range spec["containers"].([]any) {
		if c.(map[string]any)["name"] == "mesh" {
			return
		}
	}
	spec["containers"] = append([]any{map[string]any{"name": "mesh", "image": "mesh:1"}}, spec["containers"].([]any)...)
}

func TestASurplusRaisesTheMaximumOfAClosedList(t *testing.T) {
	w := newWorld(t, webhooks)
	w.respond = addWebhook("mesh")
	_, result := w.round()
	assert.False(t, result.Again)
	control := get(w.stored(w.app.Status.MangledObserverSchema), "webhooks").([]any)[1]
	assert.Equal(t, map[string]any{"observer_schema_list_min_length": int64(1), "observer_schema_list_max_length": int64(2)}, control)
	w.quiet()

	addWebhook("third")(w.only())
	p, _ := w.round()
	assert.Equal(t, []string{"webhooks[name=third] extra"}, paths(p))
	w.quiet()
}

// An additional webhook of a configuration sees every object, so the list is closed.
const webhooks = `manifest: [{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: web},
  webhooks: [{name: web, sideEffects: None}]}]`

func addWebhook(name string) func(object map[string]any) {
	return func(object map[string]any) {
		list := object["webhooks"].([]any)
		if !slices.ContainsFunc(list, func(w any) bool { return w.(map[string]any)["name"] == name }) {
			object["webhooks"] = append(list, map[string]any{"name": name})
		}
	}
}

func TestAUsersSchemaIsNotRelaxedButContested(t *testing.T) {
	w := newWorld(t, replace(podSpec, "%CPU", "'1'")+`
observerSchema:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    template:
      spec:
        containers:
        - {image: observed}
        - {observer_schema_list_min_length: 1, observer_schema_list_max_length: 1}
`)
	w.respond = sidecar
	_, result := w.round()
	assert.False(t, result.Again)
	require.Len(t, w.app.Status.Contested, 1)
	assert.Equal(t, "spec.template.spec.containers[name=mesh]", w.app.Status.Contested[0].Path)
	assert.Contains(t, result.Event.Note, "is contested: desired absent, observed {")
	_, reason, _ := w.condition("Held")
	assert.Equal(t, "Contested", reason)

	p, again := w.round()
	assert.Equal(t, []string{"spec.template.spec.containers[name=mesh] extra held back"}, paths(p))
	assert.False(t, p.HasWork())
	assert.Positive(t, again.RetryAfter)

	w.now = w.now.Add(again.RetryAfter)
	p, _ = w.round()
	assert.True(t, p.HasWork(), "tried again after the pause")
	p, _ = w.round()
	assert.False(t, p.HasWork())
}

func TestAContestedElementIsNotTakenForASurplus(t *testing.T) {
	w := newWorld(t, webhooks)
	w.round()
	for range 5 {
		addWebhook("mesh")(w.only())
		w.round()
	}
	addWebhook("mesh")(w.only())
	w.only()["webhooks"].([]any)[0].(map[string]any)["sideEffects"] = "Some"
	p, _ := w.round()
	assert.Equal(t, []string{"webhooks[name=web].sideEffects changed", "webhooks[name=mesh] extra held back"}, paths(p))
	control := get(w.stored(w.app.Status.MangledObserverSchema), "webhooks").([]any)[1]
	assert.Equal(t, int64(1), control.(map[string]any)["observer_schema_list_max_length"])
}

// If two variables have the same name, their order determines which one counts.
func TestElementsWithOneKeyKeepTheirOrder(t *testing.T) {
	variables := func(text string) []any {
		list := []any{}
		for _, each := range strings.Fields(text) {
			name, value, _ := strings.Cut(each, "=")
			list = append(list, map[string]any{"name": name, "value": value})
		}
		return list
	}
	for drifted, corrected := range map[string]string{
		"B=b A=2":         "A=1 B=b A=2",
		"A=1 B=b":         "A=1 B=b A=2",
		"A=2 B=b A=1":     "A=1 B=b A=2",
		"A=1 B=b A=3":     "A=1 B=b A=2",
		"A=3 A=1 B=b A=2": "A=1 B=b A=2",
		"B=b":             "A=1 B=b A=2",
		"B=b A=3":         "B=b A=1 A=2",
		"B=b A=2 A=1":     "B=b A=1 A=2",
		"A=1 A=2":         "A=1 B=b A=2",
		"A=2":             "A=1 B=b A=2",
		"X=x B=b A=2":     "X=x A=1 B=b A=2",
	} {
		t.Run(drifted, func(t *testing.T) {
			w := newWorld(t, `manifest: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [
				{name: web, env: [{name: A, value: "1"}, {name: B, value: b}, {name: A, value: "2"}]}]}}}}]`)
			w.round()
			container := podContainer(w.only())
			container["env"] = variables(drifted)
			w.round()
			w.round() // the surplus element was removed
			assert.Empty(t, w.app.Status.Accepted)
			w.quiet()
			assert.Equal(t, variables(corrected), podContainer(w.only())["env"])
		})
	}
}

// A CustomResourceDefinition can lose a field, and have it again later.
func TestARequestWritesADroppedFieldAgain(t *testing.T) {
	w := newWorld(t, `manifest: [{apiVersion: example.com/v1, kind: Song, metadata: {name: top50}, spec: {key: kilestbo}}]`)
	w.respond = func(object map[string]any) {
		set(object, map[string]any{}, "spec")
	}
	w.round()
	require.Len(t, w.app.Status.Accepted, 1)
	w.quiet()

	w.respond = nil
	w.quiet()
	w.app.Spec.Suspend = true
	w.annotate(v1alpha1.AnnotationReconcile, "while suspended")
	w.round()
	require.Len(t, w.app.Status.Accepted, 1)
	w.app.Spec.Suspend = false
	w.round()
	w.quiet()
	w.annotate(v1alpha1.AnnotationReconcile, "now")
	w.round()
	assert.Equal(t, "kilestbo", get(w.only(), "spec", "key"))
	assert.Empty(t, w.app.Status.Accepted)
	w.quiet()
}
