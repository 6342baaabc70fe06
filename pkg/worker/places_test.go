package worker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"k8s.io/klog/v2"
)

// namespace is the group of a key such as shop/web.
func namespace(key string) string {
	name, _, _ := strings.Cut(key, "/")
	return name
}

// handled records when keys are handled, on the clock of a bubble.
type handled struct {
	mu      sync.Mutex
	begun   map[string]time.Duration
	times   map[string]int
	running map[string]int // by group
	most    map[string]int
}

// run handles keys until all goroutines of the bubble wait for more. took returns how long a key runs.
func run(t *testing.T, workers int, took func(key string) time.Duration, add func(add func(key string))) *handled {
	t.Helper()
	start, h := time.Now(), &handled{begun: map[string]time.Duration{}, times: map[string]int{}, running: map[string]int{}, most: map[string]int{}}
	queue := NewQueue("", namespace)
	loop := Loop[string]{
		Queue: queue, Group: namespace, Workers: workers, Logger: func(context.Context, string) klog.Logger { return logr.Discard() },
		Handle: func(_ context.Context, key string) (time.Duration, error) {
			h.mu.Lock()
			if _, again := h.begun[key]; !again {
				h.begun[key] = time.Since(start)
			}
			h.times[key]++
			h.running[namespace(key)]++
			h.most[namespace(key)] = max(h.most[namespace(key)], h.running[namespace(key)])
			h.mu.Unlock()
			time.Sleep(took(key))
			h.mu.Lock()
			defer h.mu.Unlock()
			h.running[namespace(key)]--
			return 0, nil
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); loop.Run(ctx) }()
	add(queue.Add)
	time.Sleep(time.Hour)
	cancel()
	<-ended
	return h
}

func TestGroupsTakeTurns(t *testing.T) {
	queue := &turns[string]{group: namespace, waiting: map[string][]string{}}
	for _, key := range []string{"a/1", "a/2", "a/3", "b/1", "c/1", "b/2"} {
		queue.Push(key)
	}
	var order []string
	for queue.Len() > 0 {
		order = append(order, queue.Pop())
	}
	assert.Equal(t, []string{"a/1", "b/1", "c/1", "a/2", "b/2", "a/3"}, order)
}

func TestHangingGroupLeavesPlacesToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := func(key string) time.Duration {
			if namespace(key) == "quick" {
				return time.Millisecond
			}
			return 28 * time.Second
		}
		h := run(t, 16, hangs, func(add func(string)) {
			for i := range 60 {
				add(fmt.Sprintf("slow/%d", i))
				add(fmt.Sprintf("slower/%d", i))
			}
			time.Sleep(10 * time.Second)
			for i := range 100 {
				add(fmt.Sprintf("quick/%d", i))
				time.Sleep(time.Second)
			}
		})
		for i := range 100 {
			begun := h.begun[fmt.Sprintf("quick/%d", i)] - time.Duration(10+i)*time.Second
			assert.Less(t, begun, 2*time.Second, "quick/%d", i)
		}
		for i := range 60 {
			assert.Equal(t, 1, h.times[fmt.Sprintf("slow/%d", i)])
			assert.Equal(t, 1, h.times[fmt.Sprintf("slower/%d", i)])
		}
		assert.LessOrEqual(t, h.most["slow"]+h.most["slower"], 16+2*maxLong)
	})
}

func TestOneGroupUsesAllPlaces(t *testing.T) {
	for _, took := range []time.Duration{time.Millisecond, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			h := run(t, 16, func(string) time.Duration { return took }, func(add func(string)) {
				for i := range 200 {
					add(fmt.Sprintf("a/%d", i))
				}
			})
			assert.GreaterOrEqual(t, h.most["a"], 16)
			assert.LessOrEqual(t, h.most["a"], 16+maxLong)
			assert.Len(t, h.begun, 200)
			assert.LessOrEqual(t, h.begun["a/199"], 200/16*took+took, "the places remain in use")
		})
	}
}

// A key that is added while it waits or runs is handled again, and never twice at once.
func TestParkedKeyIsHandledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := run(t, 2, func(string) time.Duration { return 5 * time.Second }, func(add func(string)) {
			for i := range 20 {
				add(fmt.Sprintf("a/%d", i))
			}
			time.Sleep(6 * time.Second)
			for i := range 20 {
				add(fmt.Sprintf("a/%d", i))
			}
		})
		for i := range 20 {
			assert.Contains(t, []int{1, 2}, h.times[fmt.Sprintf("a/%d", i)])
		}
		assert.LessOrEqual(t, h.most["a"], 2+maxLong)
	})
}
