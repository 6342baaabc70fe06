package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/plan"
)

// bundle is one large Application.
type bundle struct {
	what   string
	prefix string
	n      int
	kind   schema.GroupVersionResource
	object func(name string) *unstructured.Unstructured
	// unready is true if its objects do not become ready here.
	unready bool
}

// large measures P10, including Applications that `holdfast submit` splits into several objects.
func (b *bench) large(ctx context.Context) error {
	// The API server needs two seconds for the first write of a custom kind.
	if err := b.readyAfter(ctx, application("before-large", "before-large")); err != nil {
		return err
	}
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	for i, one := range []bundle{
		{"ConfigMaps", "large", 1000, configMaps, configMap, false},
		{"ConfigMaps", "larger", 10_000, configMaps, configMap, false},
		{"Deployments", "deployed", 3000, deployments, deployment, true},
	} {
		name := "P10"
		if i > 0 {
			name = ""
		}
		if err := b.bundle(ctx, name, one); err != nil {
			return fmt.Errorf("%d %s: %w", one.n, one.what, err)
		}
	}
	return nil
}

func deployment(name string) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	return object("apps/v1", "Deployment", name, map[string]any{"spec": map[string]any{
		"replicas": int64(2), "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
			"containers": []any{map[string]any{"name": "web", "image": "registry.k8s.io/echoserver:1.4"}},
		}},
	}})
}

// bundle measures the time from the first to the last created object, for the controller and for the bare
// client.
func (b *bench) bundle(ctx context.Context, row string, one bundle) error {
	objects := b.client.Resource(one.kind).Namespace(namespace)
	created := func(prefix string, begin func() error) (took time.Duration, err error) {
		var first time.Time
		err = await(ctx, objects, one.n, func(u *unstructured.Unstructured) bool {
			if !strings.HasPrefix(u.GetName(), prefix) {
				return false
			}
			if first.IsZero() {
				first = time.Now()
			}
			return true
		}, begin)
		return time.Since(first), err
	}
	floor, err := created("bare-"+one.prefix+"-", func() error {
		return each(ctx, one.n, func(ctx context.Context, i int) error {
			_, err := objects.Create(ctx, one.object(fmt.Sprintf("bare-%s-%d", one.prefix, i)), metav1.CreateOptions{})
			return err
		})
	})
	if err != nil {
		return err
	}
	app := application(one.prefix)
	manifest := make([]any, one.n)
	for i, name := range numbered(one.prefix, one.n) {
		manifest[i] = one.object(name).Object
	}
	app.Object["spec"] = map[string]any{"manifest": manifest}
	raw, err := app.MarshalJSON()
	if err != nil {
		return err
	}
	decided, err := decideTime(raw)
	if err != nil {
		return err
	}
	mark := b.cluster.Mark()
	var took time.Duration
	begun := time.Now()
	err = await(ctx, b.client.apps(), 1, func(u *unstructured.Unstructured) bool {
		return u.GetName() == one.prefix && (ready(u) || one.unready && hasCondition(u, "Held"))
	}, func() error {
		took, err = created(one.prefix+"-", func() error { return b.submitCommand(ctx, raw) })
		return err
	})
	if err != nil {
		return err
	}
	held := time.Since(begun)
	b.table.row(row, fmt.Sprintf("one Application of %d %s, created", one.n, one.what), rate(one.n, took), rate(one.n, floor),
		fmt.Sprintf("≥ 90 %% of bare (is %.0f %%)", 100*floor.Seconds()/took.Seconds()))
	b.table.row("", "from `holdfast submit` until all is held", seconds(held), "", "")
	b.table.row("", "its plan computed in, for each 1,000", milliseconds(decided*1000/time.Duration(one.n)), "", "≤ 20 ms")
	return b.quietLarge(ctx, mark)
}

// quietLarge counts requests while nothing changes.
func (b *bench) quietLarge(ctx context.Context, since testcluster.Mark) error {
	if _, err := b.settled(ctx, since); err != nil {
		return err
	}
	mark := b.cluster.Mark()
	time.Sleep(min(b.rest, 20*time.Second))
	requests, err := b.requests(mark)
	if err != nil {
		return err
	}
	b.table.row("", "requests at rest in 20 s", fmt.Sprint(len(requests)), "", "0")
	return nil
}

// submitCommand runs `holdfast submit`, which splits a large Application into several objects.
func (b *bench) submitCommand(ctx context.Context, application []byte) error {
	cmd := exec.CommandContext(ctx, b.command, "submit", "--filename=-")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+b.cluster.Kubeconfig())
	cmd.Stdin = bytes.NewReader(application)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("holdfast submit: %w: %s", err, output)
	}
	return nil
}

// decideTime returns the shortest of three measurements.
func decideTime(raw []byte) (shortest time.Duration, err error) {
	for range 3 {
		app := &v1alpha1.Application{}
		if err := json.Unmarshal(raw, app); err != nil {
			return 0, err
		}
		app.Namespace, app.UID = namespace, "bench"
		begun := time.Now()
		plan.Decide(plan.Input{Application: app, Kinds: intent.Offline()})
		if took := time.Since(begun); shortest == 0 || took < shortest {
			shortest = took
		}
	}
	return shortest, nil
}
