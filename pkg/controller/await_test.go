package controller_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// patience limits how long a test waits for something that normally happens at once. It allows for a
// busy machine.
const patience = 2 * time.Minute

// Await watches an object until wanted returns true. A missing object is passed as nil.
func (f *fixture) Await(resource schema.GroupVersionResource, name, what string, wanted func(object map[string]any) bool) map[string]any {
	f.t.Helper()
	return f.AwaitWithin(patience, resource, name, what, wanted)
}

// AwaitWithin is like Await, with its own time limit.
func (f *fixture) AwaitWithin(limit time.Duration, resource schema.GroupVersionResource, name, what string, wanted func(object map[string]any) bool) map[string]any {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), limit)
	defer cancel()
	last, err := until(ctx, f.in("user", resource), name, wanted)
	if err != nil {
		text, _ := yaml.Marshal(last)
		f.t.Fatalf("waited in vain for %s %s: %s: %v\n%s\nrequests of the controller:\n%s", resource.Resource, name, what, err, text, f.Requests())
	}
	return last
}

// until lists and watches an object until wanted returns true. It continues after outages of the API
// server.
func until(ctx context.Context, client dynamic.ResourceInterface, name string, wanted func(map[string]any) bool) (last map[string]any, err error) {
	for {
		met, seenErr := seen(ctx, client, name, &last, wanted)
		if met {
			return last, nil
		}
		select {
		case <-ctx.Done():
			return last, errors.Join(ctx.Err(), seenErr)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// seen lists and then watches once, and reports whether wanted returned true.
func seen(ctx context.Context, client dynamic.ResourceInterface, name string, last *map[string]any, wanted func(map[string]any) bool) (bool, error) {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	list, err := client.List(ctx, options)
	if err != nil {
		return false, err
	}
	*last = nil
	if len(list.Items) > 0 {
		*last = list.Items[0].Object
	}
	if wanted(*last) {
		return true, nil
	}
	options.ResourceVersion = list.GetResourceVersion()
	stream, err := client.Watch(ctx, options)
	if err != nil {
		return false, err
	}
	_, met := follow(stream, last, wanted)
	return met, nil
}

func follow(stream watch.Interface, last *map[string]any, wanted func(map[string]any) bool) (map[string]any, bool) {
	defer stream.Stop()
	for event := range stream.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return nil, false
		}
		*last = object.Object
		if event.Type == watch.Deleted {
			*last = nil
		}
		if wanted(*last) {
			return *last, true
		}
	}
	return nil, false
}

// AwaitGone waits until the object does not exist.
func (f *fixture) AwaitGone(resource schema.GroupVersionResource, name string) {
	f.t.Helper()
	f.Await(resource, name, "gone", func(object map[string]any) bool { return object == nil })
}

// AwaitValue waits until a field of an object has the given value.
func (f *fixture) AwaitValue(resource schema.GroupVersionResource, name string, want any, path ...string) map[string]any {
	f.t.Helper()
	return f.Await(resource, name, fmt.Sprintf("%s is %v", strings.Join(path, "."), want), func(object map[string]any) bool {
		return value(object, path...) == want
	})
}

// value returns a scalar of an object, or nil if the field is missing or is a map or list. A numeric
// path element selects a list element.
func value(object map[string]any, path ...string) any {
	switch at := whatever(object, path...).(type) {
	case map[string]any, []any:
		return nil
	default:
		return at
	}
}

// whatever returns the value at a path, which can be a map or list, or nil if there is none.
func whatever(object map[string]any, path ...string) any {
	var at any = object
	for _, step := range path {
		switch in := at.(type) {
		case map[string]any:
			at = in[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(in) {
				return nil
			}
			at = in[i]
		default:
			return nil
		}
	}
	return at
}

// AwaitApplication waits until wanted returns true for the current generation of an Application.
func (f *fixture) AwaitApplication(name, what string, wanted func(*v1alpha1.Application) bool) *v1alpha1.Application {
	f.t.Helper()
	return f.decode(f.Await(applications, name, what, func(object map[string]any) bool {
		app := f.decode(object)
		return app != nil && app.Status.ObservedGeneration == app.Generation && wanted(app)
	}))
}

// AwaitReady waits until an Application is held and healthy.
func (f *fixture) AwaitReady(name string) *v1alpha1.Application {
	f.t.Helper()
	return f.AwaitApplication(name, "Ready", func(app *v1alpha1.Application) bool {
		return apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionReady)
	})
}

// AwaitHeld waits until an Application is held. Deployments never become healthy on this control plane.
func (f *fixture) AwaitHeld(name string) *v1alpha1.Application {
	f.t.Helper()
	return f.AwaitApplication(name, "Held", func(app *v1alpha1.Application) bool {
		return apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionHeld)
	})
}

// AwaitReason waits until an Application is not ready for a reason. It returns the Application and the
// message of the condition.
func (f *fixture) AwaitReason(name, reason string) (*v1alpha1.Application, string) {
	f.t.Helper()
	app := f.AwaitApplication(name, "not ready because "+reason, func(app *v1alpha1.Application) bool {
		ready := condition(app, v1alpha1.ConditionReady)
		return ready.Status == metav1.ConditionFalse && ready.Reason == reason
	})
	return app, condition(app, v1alpha1.ConditionReady).Message
}

func condition(app *v1alpha1.Application, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(app.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// eventually waits for a condition that cannot be watched.
func (f *fixture) eventually(what string, holds func() bool) {
	f.t.Helper()
	err := wait.PollUntilContextTimeout(f.t.Context(), 20*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return holds(), nil })
	require.NoError(f.t, err, "waiting for %s", what)
}

// Mark makes later checks ignore all requests so far.
func (f *fixture) Mark() {
	f.t.Helper()
	f.awaitAnswers()
	f.mark = f.now()
}

// awaitAnswers waits until the controller has no open request. Only then does the audit log contain all
// of its requests. The effect of a request can be visible before its log entry.
func (f *fixture) awaitAnswers() {
	f.t.Helper()
	_ = wait.PollUntilContextTimeout(f.t.Context(), 10*time.Millisecond, 10*time.Second, true,
		func(context.Context) (bool, error) { return !f.asking(), nil })
}

// now returns the current position in the audit log, between two lines.
func (f *fixture) now() testcluster.Mark {
	f.t.Helper()
	mark := f.cluster.Mark()
	log, err := os.Open(filepath.Join(f.cluster.Dir(), "audit.log"))
	require.NoError(f.t, err)
	defer log.Close()
	before := make([]byte, min(int64(mark), 64*1024))
	_, err = log.ReadAt(before, int64(mark)-int64(len(before)))
	require.NoError(f.t, err)
	return mark - testcluster.Mark(len(before)-1-bytes.LastIndexByte(before, '\n'))
}

// Requests returns the requests of the controller since the last Mark, without watches. On the shared
// control plane it returns only those for the test's namespace or for the test's own API group.
func (f *fixture) Requests() testcluster.Requests {
	f.t.Helper()
	f.awaitAnswers()
	return f.requestsSince(f.mark)
}

func (f *fixture) requestsSince(mark testcluster.Mark) testcluster.Requests {
	f.t.Helper()
	all, err := f.cluster.Requests(mark)
	require.NoError(f.t, err)
	return all.By(f.agent).Where(func(r testcluster.Request) bool {
		return r.Verb != "watch" && (f.alone || strings.Contains(r.URI, f.namespace))
	})
}

// mostReconciles limits the reconciles per second while nothing is requested. Requeued Applications and
// events that a busy machine delivers late cause a few: at most two for each of 40 Applications. A loop
// causes hundreds.
const mostReconciles = 50

// Quiet waits until the controller has had no open request for a while. The controller must become
// quiet soon and may reconcile only a few times meanwhile. This cannot measure CPU time, because all
// tests share one process: see internal/faults.
func (f *fixture) Quiet(while time.Duration) {
	f.t.Helper()
	const restless = time.Minute
	begin, mark, taken := time.Now(), f.now(), f.reconciles()
	for last := begin; time.Since(begin) < while+restless; {
		before := last
		if f.asking() {
			last = time.Now()
		}
		for _, r := range f.requestsSince(mark) {
			if r.Done.After(last) {
				last = r.Done
			}
		}
		if last != before {
			taken = f.reconciles()
		}
		rest := while - time.Since(last)
		if rest <= 0 {
			assert.LessOrEqual(f.t, f.reconciles()-taken, int64(mostReconciles*max(while.Seconds(), 1)), "reconciles in %v without a request", while)
			return
		}
		select {
		case <-time.After(rest):
		case <-f.t.Context().Done():
		}
	}
	f.t.Fatalf("no quiet %v within %v; requests of the controller:\n%s", while, while+restless, f.requestsSince(mark))
}

// AssertAsked waits until the controller has sent the wanted requests since the last Mark and is quiet.
// It must not have sent any other request. The conditions filter the requests.
func (f *fixture) AssertAsked(want map[string]int, conditions ...func(testcluster.Request) bool) {
	f.t.Helper()
	asked := func() testcluster.Requests {
		requests := f.Requests()
		for _, condition := range conditions {
			requests = requests.Where(condition)
		}
		return requests
	}
	missing := func(n map[string]int) bool {
		for what := range want {
			if n[what] < want[what] {
				return true
			}
		}
		return false
	}
	_ = wait.PollUntilContextTimeout(f.t.Context(), 50*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return !missing(counts(asked())), nil })
	f.Quiet(time.Second)
	requests := asked()
	assert.Equal(f.t, want, counts(requests), "%s", requests)
}

// counts counts requests by verb and resource: "create configmaps" → 2. A subresource follows a slash.
func counts(requests testcluster.Requests) map[string]int {
	n := map[string]int{}
	for _, r := range requests {
		n[counted(r)]++
	}
	return n
}

// counted returns the key under which a request is counted.
func counted(r testcluster.Request) string {
	what := r.Verb + " " + r.Resource
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	return what
}

// withoutEvents removes the requests for events, which the controller sends asynchronously.
func withoutEvents(requests testcluster.Requests) testcluster.Requests {
	return requests.Where(noEvent)
}

func noEvent(r testcluster.Request) bool { return r.Resource != events.Resource }

// notes returns the events about an Application, oldest first.
func (f *fixture) notes(name string) []string {
	f.t.Helper()
	list, err := f.in("user", events).List(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
	})
	var notes []string
	for _, e := range list.Items {
		if value(e.Object, "regarding", "name") == name {
			notes = append(notes, fmt.Sprint(value(e.Object, "reason"), ": ", value(e.Object, "note")))
		}
	}
	return notes
}

// AwaitNote waits for an event about an Application that contains the given texts.
func (f *fixture) AwaitNote(name string, parts ...string) {
	f.t.Helper()
	f.eventually("an event with "+strings.Join(parts, ", "), func() bool {
		return slices.ContainsFunc(f.notes(name), func(note string) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(note, part) })
		})
	})
}

func clone(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	return (&unstructured.Unstructured{Object: object}).DeepCopy().Object
}
