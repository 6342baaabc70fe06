package controller_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/builtin"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/template"
)

var greetingsResource = greetings{}.Kind().GroupVersionResource()

const greetingDefinition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
  metadata: {name: greetings.templates.example.com}, spec: {group: templates.example.com, scope: Namespaced,
  names: {kind: Greeting, plural: greetings}, versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema:
  {type: object, properties: {spec: {type: object, properties: {text: {type: string}}},
    status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}]}}`

// AwaitGreeting waits until the Ready condition of a Greeting has the given status and reason.
func (f *fixture) AwaitGreeting(name, status, reason string) map[string]any {
	f.t.Helper()
	return f.Await(greetingsResource, name, status+" because "+reason, func(object map[string]any) bool {
		return value(object, "status", "conditions", "0", "status") == status && value(object, "status", "conditions", "0", "reason") == reason
	})
}

// greetings counts the changes of Greetings in the namespace until the returned function is called.
func (f *fixture) greetings() func() int {
	f.t.Helper()
	stream, err := f.in("user", greetingsResource).Watch(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	count := make(chan int)
	go func() {
		n := 0
		for event := range stream.ResultChan() {
			if event.Type == watch.Modified {
				n++
			}
		}
		count <- n
	}()
	return func() int {
		stream.Stop()
		return <-count
	}
}

func (f *fixture) greet(name, text string) {
	f.t.Helper()
	f.Create("user", "{apiVersion: templates.example.com/v1, kind: Greeting, metadata: {name: "+name+"}, spec: {text: "+text+"}}")
}

// Two controllers divide custom resources by a label. Each one sees both a resource and its
// Application, or neither. This also applies after the label of the resource changes.
func TestTemplateOfSelectedResources(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	require.NoError(t, f.cluster.Define(t.Context(), greetingDefinition, "greetings.templates.example.com"))
	selector, err := labels.Parse("shard=b")
	require.NoError(t, err)
	f.Run(controller.Options{Templates: []template.Template{greetings{}}, Selection: cluster.Selection{Labels: selector}})
	greeting := func(name, shard string) string {
		created := f.Create("user", "{apiVersion: templates.example.com/v1, kind: Greeting, metadata: {name: "+name+", labels: {shard: "+shard+"}}, spec: {text: hi}}")
		return string(created.GetUID())
	}
	application := func(name, owner string) {
		f.Create("user", "{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: "+name+", labels: {shard: a}, ownerReferences: ["+owner+"]}, spec: {manifest: []}}")
	}

	greeting("theirs", "a")
	greeting("ours", "b")
	f.AwaitGreeting("ours", "True", "Ready")
	assert.Nil(t, f.Get(applications, "theirs"))

	uid := greeting("moved", "a")
	application("moved", "{apiVersion: templates.example.com/v1, kind: Greeting, name: moved, controller: true, uid: "+uid+"}")
	f.Patch("user", greetingsResource, "moved", `{metadata: {labels: {shard: b}}}`)
	f.AwaitGreeting("moved", "True", "Ready")
	assert.Equal(t, "b", value(f.Get(applications, "moved"), "metadata", "labels", "shard"))

	application("taken", "")
	greeting("taken", "b")
	f.AwaitGreeting("taken", "False", template.ReasonApplicationConflict)
	f.Quiet(quiet)
}

// labeled is the template of Greetings whose text is a label of the Application, too. The API server rejects some texts.
type labeled struct{ greetings }

// Render implements template.Template.
func (labeled) Render(in template.Input) (template.RenderedTemplate, error) {
	rendered, err := greetings{}.Render(in)
	if text, _, _ := unstructured.NestedString(in.Object, "spec", "text"); err == nil {
		rendered.Labels = map[string]string{"templates.example.com/text": text}
	}
	return rendered, err
}

// The kind of a second template is created and deleted while the controller runs.
func TestTemplateOfAnotherKind(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.Mark()
	f.Run(controller.Options{Templates: append(builtin.Templates(), labeled{})})
	f.Quiet(quiet)
	assert.LessOrEqual(t, len(f.Requests()), 8, "unknown kinds are not looked up again:\n%s", f.Requests())

	require.NoError(t, f.cluster.Define(t.Context(), greetingDefinition, "greetings.templates.example.com"))
	news := f.greetings()
	f.Mark()
	f.greet("hello", "world")
	f.AwaitGreeting("hello", "True", "Ready")
	assert.Equal(t, "world", value(f.Get(configMaps, "hello"), "data", "text"))
	f.Quiet(quiet)
	writes := counts(f.written())["patch greetings/status"]
	assert.Equal(t, news(), writes, "a write of a status was no news: %s", f.written())
	assert.LessOrEqual(t, writes, 2, "in progress, unless it is quicker, and ready")

	t.Run("a change reaches the object, drift does not", func(t *testing.T) {
		f.Mark()
		f.Patch("user", greetingsResource, "hello", `{spec: {text: moon}}`)
		f.AwaitValue(configMaps, "hello", "moon", "data", "text")
		f.Patch("mallory", configMaps, "hello", `{data: {text: theirs}}`)
		f.AwaitValue(configMaps, "hello", "moon", "data", "text")
		f.Quiet(quiet)
		n := counts(f.written())
		assert.Equal(t, 1, n["patch applications"], "one new spec")
		assert.Equal(t, 2, n["patch configmaps"], "one new value, one correction")
		assert.LessOrEqual(t, n["patch greetings/status"], 2, "%s", f.written())
	})
	t.Run("a spec that cannot be rendered changes nothing", func(t *testing.T) {
		f.Mark()
		f.Patch("user", greetingsResource, "hello", `{spec: {text: ""}}`)
		object := f.AwaitGreeting("hello", "False", template.ReasonSpecInvalid)
		assert.Equal(t, "spec.text: is empty: say something", value(object, "status", "conditions", "0", "message"))
		f.Quiet(quiet)
		assert.Equal(t, map[string]int{"patch greetings/status": 1}, counts(f.written()))
		f.Patch("user", greetingsResource, "hello", `{spec: {text: moon}}`)
		f.AwaitGreeting("hello", "True", "Ready")
	})
	t.Run("an Application that the API server rejects", func(t *testing.T) {
		f.greet("long", "two words")
		object := f.AwaitGreeting("long", "False", template.ReasonApplicationRejected)
		assert.Contains(t, value(object, "status", "conditions", "0", "message"), "the API server has rejected Application long: ")
		f.AwaitDescribed("greeting/long", "Warning", template.ReasonApplicationRejected, "rejected Application long")
		f.Patch("user", greetingsResource, "long", `{spec: {text: word}}`)
		f.AwaitGreeting("long", "True", "Ready")
	})
	t.Run("writes have their field managers", func(t *testing.T) {
		managers, _ := f.Get(applications, "hello")["metadata"].(map[string]any)["managedFields"].([]any)
		var names []any
		for _, entry := range managers {
			names = append(names, entry.(map[string]any)["manager"])
		}
		assert.Contains(t, names, template.FieldManager)
	})
	t.Run("a kind that is deleted and defined again is reconciled", func(t *testing.T) {
		f.Delete(definitions, "greetings.templates.example.com")
		f.AwaitGone(definitions, "greetings.templates.example.com")
		f.Quiet(quiet)
		require.NoError(t, f.cluster.Define(t.Context(), greetingDefinition, "greetings.templates.example.com"))
		f.greet("hello", "sun")
		f.AwaitGreeting("hello", "False", template.ReasonWaiting)
		f.Delete(applications, "hello") // the garbage collector, which does not run here, would do this
		f.AwaitGreeting("hello", "True", "Ready")
		assert.Equal(t, "sun", value(f.Get(configMaps, "hello"), "data", "text"))
		f.Quiet(quiet)
	})
	t.Run("one that is being deleted gets nothing new", func(t *testing.T) {
		f.Patch("user", greetingsResource, "hello", `{metadata: {finalizers: [example.com/wait]}}`)
		f.Delete(greetingsResource, "hello")
		f.AwaitGreeting("hello", "False", "Deleting")
		f.Mark()
		f.Delete(applications, "hello")
		f.AwaitGone(applications, "hello")
		f.Quiet(time.Second)
		assert.Zero(t, counts(f.written())["create applications"])
		f.Patch("user", greetingsResource, "hello", `{metadata: {finalizers: null}}`)
		f.AwaitGone(greetingsResource, "hello")
	})
}
