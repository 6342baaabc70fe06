package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// The row drifts changes many fields per minute, each of them once, because a field that is corrected five
// times in a minute is contested.
const (
	// rounds is the number of alternating rounds of two controllers.
	rounds   = 3
	measured = 20 * time.Second
)

// drifts contains the drifts of one run: the times of the responses to the other client, and of the
// corrections.
type drifts struct {
	apps, keys int           // and the number of keys of each
	next       int           // the next key, so that no field is changed too often
	cpu        time.Duration // of the controller

	mu           sync.Mutex
	begun, ended []time.Time
	seen         []bool
	left         int
}

// minute measures the row drifts.
func (b *bench) minute(ctx context.Context) error {
	d := &drifts{apps: b.applications, keys: max((b.perMinute+b.applications-1)/b.applications, 10)}
	err := await(ctx, b.client.apps(), b.applications,
		func(u *unstructured.Unstructured) bool { return strings.HasPrefix(u.GetName(), "drift-") && ready(u) },
		func() error {
			return each(ctx, b.applications, func(ctx context.Context, i int) error {
				_, err := b.client.apps().Create(ctx, d.application(fmt.Sprintf("drift-%d", i)), metav1.CreateOptions{})
				return err
			})
		})
	if err != nil {
		return err
	}
	var told atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		told.Add(1)
	}))
	defer receiver.Close()
	if b.before != "" {
		return b.compare(ctx, d, receiver.URL)
	}
	if err := b.restart(ctx, b.controller, "--notify-url="+receiver.URL); err != nil {
		return err
	}
	rest, err := b.process.memory()
	if err != nil {
		return err
	}
	told.Store(0)
	slow, err := b.paced(ctx, d, 100, 10*time.Second)
	if err != nil {
		return err
	}
	fast, err := b.paced(ctx, d, b.perMinute, time.Minute)
	if err != nil {
		return err
	}
	b.table.row("drifts", fmt.Sprintf("%d drifts a minute, %d objects: p50 / p99", b.perMinute, b.applications), halfAndMost(fast), "", "all corrected")
	b.table.row("", "the same at 10 a second", halfAndMost(slow), "", "")
	b.table.row("", "processor time of the controller for each", milliseconds(d.cpu), "", "")
	return b.afterwards(ctx, rest, told.Load())
}

// afterwards prints the memory and the sent notifications.
func (b *bench) afterwards(ctx context.Context, rest int, told int64) error {
	peak, err := b.process.peak()
	if err != nil {
		return err
	}
	select {
	case <-time.After(30 * time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := b.process.memory()
	if err != nil {
		return err
	}
	b.table.row("", "memory before / at most / 30 s later", fmt.Sprintf("%d / %d / %d MiB", rest/1024, peak/1024, after/1024), "", "bounded")
	b.table.row("", "notifications that had arrived by the end", fmt.Sprint(told), "", "")
	return nil
}

// compare alternates this controller with another one.
func (b *bench) compare(ctx context.Context, d *drifts, receiver string) error {
	b.table.row("drifts", fmt.Sprintf("%d drifts a minute, %d objects, in turns", b.perMinute, b.applications), "this controller", b.before, "")
	var half [2][]time.Duration
	for round := range rounds {
		var said [2]string
		for i, args := range [][]string{{b.controller, "--notify-url=" + receiver}, {b.before}} {
			if err := b.restart(ctx, args[0], args[1:]...); err != nil {
				return err
			}
			took, err := b.paced(ctx, d, b.perMinute/int(time.Minute/measured), measured)
			if err != nil {
				return err
			}
			said[i] = halfAndMost(took) + ", CPU " + milliseconds(d.cpu)
			half[i] = append(half[i], percentile(took, 50))
		}
		b.table.row("", fmt.Sprintf("round %d: p50 / p99, processor time for each", round+1), said[0], said[1], "")
	}
	this, other := percentile(half[0], 50), percentile(half[1], 50)
	b.table.row("", "p50, the median of the rounds", milliseconds(this), milliseconds(other), fmt.Sprintf("≤ 1.1 × (is %.2f ×)", this.Seconds()/other.Seconds()))
	return nil
}

// restart replaces the running controller and waits until the new one is idle.
func (b *bench) restart(ctx context.Context, binary string, args ...string) (err error) {
	b.process.stop()
	mark := b.cluster.Mark()
	if b.process, err = b.startAs(ctx, binary, args...); err != nil {
		return err
	}
	_, err = b.settled(ctx, mark)
	return err
}

// application returns an Application with one ConfigMap with all keys.
func (d *drifts) application(name string) *unstructured.Unstructured {
	data := map[string]any{}
	for i := range d.keys {
		data[fmt.Sprintf("key-%d", i)] = "held"
	}
	return object("holdfast.dev/v1alpha1", "Application", name, map[string]any{"spec": map[string]any{
		"manifest": []any{object("v1", "ConfigMap", name, map[string]any{"data": data}).Object},
	}})
}

// paced changes n fields at a constant rate within the given time. It returns the duration of each drift,
// from the response to the other client to the event of the correction.
func (b *bench) paced(ctx context.Context, d *drifts, n int, within time.Duration) ([]time.Duration, error) {
	d.begun, d.ended, d.seen, d.left = make([]time.Time, n), make([]time.Time, n), make([]bool, n), n
	first := d.next
	d.next += (n + d.apps - 1) / d.apps
	before, err := b.process.cpu()
	if err != nil {
		return nil, err
	}
	place := func(i int) (name, key string) {
		return fmt.Sprintf("drift-%d", i%d.apps), fmt.Sprintf("key-%d", (first+i/d.apps)%d.keys)
	}
	begin := func() error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(256)
		start := time.Now()
		for i := range n {
			select {
			case <-time.After(time.Until(start.Add(within * time.Duration(i) / time.Duration(n)))):
			case <-ctx.Done():
			}
			group.Go(func() error {
				name, key := place(i)
				body, err := json.Marshal(map[string]any{"data": map[string]any{key: fmt.Sprintf("drift-%d", i)}})
				if err != nil {
					return err
				}
				_, err = b.client.configMaps().Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
				d.mu.Lock()
				d.begun[i] = time.Now()
				d.mu.Unlock()
				return err
			})
		}
		return group.Wait()
	}
	if err := await(ctx, b.client.configMaps(), 1, func(u *unstructured.Unstructured) bool { return d.see(u, n, place) }, begin); err != nil {
		return nil, fmt.Errorf("%d of %d are not corrected: %w", d.left, n, err)
	}
	took := make([]time.Duration, n)
	for i := range took {
		took[i] = max(d.ended[i].Sub(d.begun[i]), 0)
	}
	after, err := b.process.cpu()
	d.cpu = (after - before) / time.Duration(n)
	return took, err
}

// see handles an event, and reports whether all drift was corrected.
func (d *drifts) see(u *unstructured.Unstructured, n int, place func(i int) (name, key string)) bool {
	data, _, _ := unstructured.NestedStringMap(u.Object, "data")
	d.mu.Lock()
	defer d.mu.Unlock()
	var index int
	if _, err := fmt.Sscanf(u.GetName(), "drift-%d", &index); err != nil {
		return false
	}
	for i := index; i < n; i += d.apps {
		if !d.ended[i].IsZero() {
			continue
		}
		_, key := place(i)
		switch data[key] {
		case fmt.Sprintf("drift-%d", i):
			d.seen[i] = true
		case "held":
			if d.seen[i] {
				d.ended[i] = time.Now()
				d.left--
			}
		}
	}
	return d.left == 0
}
