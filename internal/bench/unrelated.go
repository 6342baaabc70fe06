package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// selectedObjects is the number of objects that one Application holds, selected by label.
	selectedObjects = 1000
	// unrelatedObjects is the number of other objects of the same kind and namespace.
	unrelatedObjects = 10_000
)

// unrelated measures P8: the cost of objects that no Application selects, while the kind's other objects are
// selected by label, compared with the cost without them.
func (b *bench) unrelated(ctx context.Context) error {
	b.process.stop()
	var err error
	if b.process, err = b.start(ctx); err != nil {
		return err
	}
	labels := map[string]any{"bench": "selected"}
	if err := each(ctx, selectedObjects, func(ctx context.Context, i int) error {
		object := configMap(fmt.Sprintf("selected-%d", i))
		object.Object["metadata"].(map[string]any)["labels"] = labels
		_, err := b.client.configMaps().Create(ctx, object, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	app := object("holdfast.dev/v1alpha1", "Application", "selected", map[string]any{"spec": map[string]any{"select": []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "selector": map[string]any{"matchLabels": labels}, "hold": map[string]any{"data": map[string]any{"key": "ours"}},
	}}}})
	if err := b.readyAfter(ctx, app); err != nil {
		return err
	}
	before, err := b.atRestMemory(ctx)
	if err != nil {
		return err
	}
	usedBefore, err := b.process.cpu()
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := each(ctx, unrelatedObjects, func(ctx context.Context, i int) error {
		_, err := b.client.configMaps().Create(ctx, unrelatedObject(i), metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	took := time.Since(begun)
	used, err := b.process.cpu()
	if err != nil {
		return err
	}
	after, err := b.atRestMemory(ctx)
	if err != nil {
		return err
	}
	b.table.row("P8", fmt.Sprintf("memory at rest, %d selected by a label, with %d others", selectedObjects, unrelatedObjects),
		fmt.Sprintf("%.1f MiB", float64(after)/1024), fmt.Sprintf("%.1f MiB", float64(before)/1024),
		fmt.Sprintf("≤ 2 %% more (is %+.1f %%)", 100*(float64(after)/float64(before)-1)))
	b.table.row("", "CPU of the controller while these are created", seconds(used-usedBefore), "",
		fmt.Sprintf("≤ 2 %% of a processor (is %.1f %%)", 100*(used-usedBefore).Seconds()/took.Seconds()))
	return nil
}

// unrelatedObject returns an object of 1 KB.
func unrelatedObject(i int) *unstructured.Unstructured {
	r := rand.New(rand.NewPCG(uint64(i), 8))
	u := configMap(fmt.Sprintf("unrelated-%d", i))
	data := u.Object["data"].(map[string]any)
	for line := range linesEach {
		data[fmt.Sprintf("line-%d", line)] = random(r)
	}
	return u
}
