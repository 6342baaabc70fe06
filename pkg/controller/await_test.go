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

// patience is how long a test waits for what should happen at once, on a machine that has
// much else to do.
const patience = 2 * time.Minute

// Await watches an object until it is as wanted; nil stands for no object.
func (f *fixture) Await(resource schema.GroupVersionResource, name, what string, wanted func(object map[string]any) bool) map[string]any {
	f.t.Helper()
	return f.AwaitWithin(patience, resource, name, what, wanted)
}

// AwaitWithin is Await with a patience of its own.
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

// until lists and watches until the object is as wanted, over any outage of the API server.
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

// seen lists and then watches once, and reports whether the object was as wanted.
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

// AwaitGone waits until there is no object of that name.
func (f *fixture) AwaitGone(resource schema.GroupVersionResource, name string) {
	f.t.Helper()
	f.Await(resource, name, "gone", func(object map[string]any) bool { return object == nil })
}

// AwaitValue waits until a field of an object has a value.
func (f *fixture) AwaitValue(resource schema.GroupVersionResource, name string, want any, path ...string) map[string]any {
	f.t.Helper()
	return f.Await(resource, name, fmt.Sprintf("%s is %v", strings.Join(path, "."), want), func(object map[string]any) bool {
		return value(object, path...) == want
	})
}

// value is a scalar in an object, nil if there is none, or a map or list. A path element that
// is a number leads into a list.
func value(object map[string]any, path ...string) any {
	switch at := whatever(object, path...).(type) {
	case map[string]any, []any:
		return nil
	default:
		return at
	}
}

// whatever is what an object has at a path, maps and lists too; nil if there is nothing.
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

// AwaitApplication waits until an Application is as wanted, in its present generation.
func (f *fixture) AwaitApplication(name, what string, wanted func(*v1alpha1.Application) bool) *v1alpha1.Application {
	f.t.Helper()
	return f.decode(f.Await(applications, name, what, func(object map[string]any) bool {
		app := f.decode(object)
		return app != nil && app.Status.ObservedGeneration == app.Generation && wanted(app)
	}))
}

// AwaitReady waits until all of an Application is held and healthy.
func (f *fixture) AwaitReady(name string) *v1alpha1.Application {
	f.t.Helper()
	return f.AwaitApplication(name, "Ready", func(app *v1alpha1.Application) bool {
		return apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionReady)
	})
}

// AwaitHeld waits until all of an Application is held. Nothing makes Deployments healthy
// here.
func (f *fixture) AwaitHeld(name string) *v1alpha1.Application {
	f.t.Helper()
	return f.AwaitApplication(name, "Held", func(app *v1alpha1.Application) bool {
		return apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionHeld)
	})
}

// AwaitReason waits until an Application is not ready for a reason, and returns it and
// the message of the condition.
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

// Mark forgets the requests so far.
func (f *fixture) Mark() {
	f.t.Helper()
	f.awaitAnswers()
	f.mark = f.now()
}

// awaitAnswers waits until the controller has no request under way: all that it has asked
// is in the audit log then. What somebody waits for may be seen before that.
func (f *fixture) awaitAnswers() {
	f.t.Helper()
	_ = wait.PollUntilContextTimeout(f.t.Context(), 10*time.Millisecond, 10*time.Second, true,
		func(context.Context) (bool, error) { return !f.asking(), nil })
}

// now is the present moment in the audit log, between two lines.
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

// Requests are what the controller has asked of the API server since the last Mark,
// watches not counted. On the shared control plane it is what concerns the test's
// namespace, or a group of the test's own.
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

// mostTurns is how many turns a second may be taken while nothing is asked for. What is put
// off, or looked at again after a while, takes a few, and so do events that a busy machine delivers late: at
// most two for each of 40 Applications. What spins takes hundreds.
const mostTurns = 50

// Quiet waits until the controller has had no request under way for a while. It must come
// to rest soon, and take no more than a few turns meanwhile. How much of the processor it
// takes cannot be told here, where all tests share one process: see internal/faults.
func (f *fixture) Quiet(while time.Duration) {
	f.t.Helper()
	const restless = time.Minute
	begin, mark, taken := time.Now(), f.now(), f.turnsTaken()
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
			taken = f.turnsTaken()
		}
		rest := while - time.Since(last)
		if rest <= 0 {
			assert.LessOrEqual(f.t, f.turnsTaken()-taken, int64(mostTurns*max(while.Seconds(), 1)), "turns in %v without a request", while)
			return
		}
		select {
		case <-time.After(rest):
		case <-f.t.Context().Done():
		}
	}
	f.t.Fatalf("no quiet %v within %v; requests of the controller:\n%s", while, while+restless, f.requestsSince(mark))
}

// AssertAsked waits until the controller has asked for what is wanted since the last Mark,
// and is at rest: it has asked for nothing else then. The conditions leave requests out.
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

// counts sorts requests by what they are: "create configmaps" → 2. A subresource
// is behind a slash.
func counts(requests testcluster.Requests) map[string]int {
	n := map[string]int{}
	for _, r := range requests {
		n[counted(r)]++
	}
	return n
}

// counted is what a request is, for counting.
func counted(r testcluster.Request) string {
	what := r.Verb + " " + r.Resource
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	return what
}

// withoutEvents takes the events out, which are sent beside the work.
func withoutEvents(requests testcluster.Requests) testcluster.Requests {
	return requests.Where(noEvent)
}

func noEvent(r testcluster.Request) bool { return r.Resource != events.Resource }

// notes are what the events about an Application say, oldest first.
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

// AwaitNote waits for an event about an Application that says something.
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
