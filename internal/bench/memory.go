package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The number of objects per Application of P7, and of held fields per object.
const (
	objectsEach = 10
	heldKeys    = 3
)

// perObject measures P7: the growth of the controller from one thousand Applications to the next, with content
// that compresses well and with content that does not.
func (b *bench) perObject(ctx context.Context) error {
	b.process.stop()
	var err error
	if b.process, err = b.start(ctx); err != nil {
		return err
	}
	if err := b.manyLarge(ctx, "first", repetitive); err != nil {
		return err
	}
	before, err := b.atRestMemory(ctx)
	if err != nil {
		return err
	}
	for _, texts := range []struct {
		name string
		of   func(r *rand.Rand) string
	}{{"repetitive", repetitive}, {"random", random}} {
		if err := b.manyLarge(ctx, texts.name, texts.of); err != nil {
			return err
		}
		peak, err := b.process.peak()
		if err != nil {
			return err
		}
		after, err := b.atRestMemory(ctx)
		if err != nil {
			return err
		}
		each, spec := float64(after-before)/float64(b.applications*objectsEach), compressedSpec(texts.of)
		b.table.row("P7", fmt.Sprintf("resident memory per held object of 3.5 KB, %s", texts.name), fmt.Sprintf("%.2f KiB", each), "", "≤ 4 KiB, then ≤ 1 KiB")
		b.table.row("", fmt.Sprintf("the same beyond its spec, %.2f KiB compressed", spec), fmt.Sprintf("%.2f KiB", each-spec), "", "")
		b.table.row("", "resident memory: peak, and at rest", fmt.Sprintf("%d / %d MiB, %.2f ×", peak/1024, after/1024, float64(peak)/float64(after)), "", "")
		before = after
	}
	return nil
}

// manyLarge submits as many Applications as P5, each of ten ConfigMaps of 3.5 KB.
func (b *bench) manyLarge(ctx context.Context, prefix string, text func(*rand.Rand) string) error {
	return await(ctx, b.client.apps(), b.applications,
		func(u *unstructured.Unstructured) bool { return strings.HasPrefix(u.GetName(), prefix+"-") && ready(u) },
		func() error {
			return each(ctx, b.applications, func(ctx context.Context, i int) error {
				_, err := b.client.apps().Create(ctx, largeApplication(fmt.Sprintf("%s-%d", prefix, i), uint64(i), text), metav1.CreateOptions{})
				return err
			})
		})
}

func largeApplication(name string, seed uint64, text func(*rand.Rand) string) *unstructured.Unstructured {
	r := rand.New(rand.NewPCG(seed, 7))
	var manifest, schema []any
	for i := range objectsEach {
		data, held := map[string]any{}, map[string]any{}
		for k := range 50 {
			key := fmt.Sprintf("key-%d", k)
			data[key] = text(r)
			if k < heldKeys {
				held[key] = "observed"
			}
		}
		object := object("v1", "ConfigMap", fmt.Sprintf("%s-%d", name, i), map[string]any{"data": data})
		manifest = append(manifest, object.Object)
		schema = append(schema, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": object.GetName(), "namespace": "observed"}, "data": held,
		})
	}
	return object("holdfast.dev/v1alpha1", "Application", name, map[string]any{"spec": map[string]any{"manifest": manifest, "observerSchema": schema}})
}

// compressedSpec returns the minimum size in KiB of the manifest of an object: the manifests of an
// Application, compressed together with zstd, divided by their number.
func compressedSpec(text func(*rand.Rand) string) float64 {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err) // cannot fail without options
	}
	defer func() { _ = encoder.Close() }()
	const sample = 20
	bytes := 0
	for seed := range uint64(sample) {
		spec, _ := largeApplication("sample", seed, text).Object["spec"].(map[string]any)
		raw, err := json.Marshal(spec["manifest"])
		if err != nil {
			panic(err) // cannot fail: the values are strings
		}
		bytes += len(encoder.EncodeAll(raw, nil))
	}
	return float64(bytes) / sample / objectsEach / 1024
}

const textLength = 58

func repetitive(r *rand.Rand) string {
	words := []string{"registry.example.com/", "service", "default", "http://", "enabled: true", "replicas=", "/var/lib/", "8080"}
	var text strings.Builder
	for text.Len() < textLength {
		text.WriteString(words[r.IntN(len(words))])
	}
	return text.String()[:textLength]
}

func random(r *rand.Rand) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	text := make([]byte, textLength)
	for i := range text {
		text[i] = letters[r.IntN(len(letters))]
	}
	return string(text)
}

// atRestMemory returns the resident set in KiB once the idle controller has collected its garbage and
// returned memory to the system, that is, when the value no longer decreases.
func (b *bench) atRestMemory(ctx context.Context) (int, error) {
	smallest, still := 0, 0
	for still < 45 {
		now, err := b.process.memory()
		if err != nil {
			return 0, err
		}
		if still++; smallest == 0 || now < smallest-smallest/100 {
			smallest, still = now, 0
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return smallest, nil
}
