package shard_test

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"holdfast.dev/holdfast/pkg/shard"
)

// slots records the slots whose work has begun.
type slots struct {
	mu   sync.Mutex
	held []func() error
}

func (s *slots) Ready() bool { return true }

func (s *slots) Begin(_ int, held func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, held)
}

func (s *slots) End(int, bool) {}

// expired returns the error of the first slot whose work may not write, and the number of slots that have begun.
func (s *slots) expired() (begun int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, held := range s.held {
		err = cmp.Or(err, held())
	}
	return len(s.held), err
}

// A first replica takes all slots. Each request is slow, so the first Leases must be renewed before the last one is
// taken.
func TestSlowRequestsDelayNoRenewal(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, false) // the fake sends no bookmarks
	synctest.Test(t, func(t *testing.T) {
		clients := fake.NewSimpleClientset() // NewClientset takes seconds to start
		clients.PrependReactor("create", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(400 * time.Millisecond) //nolint:forbidigo // the clock of the bubble
			return false, nil, nil
		})
		work := &slots{}
		r := shard.New(shard.Config{
			Leases: clients.CoordinationV1().Leases("holdfast"), Name: "holdfast", Identity: "one", Slots: 64, Work: work,
			LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, Missing: func(context.Context, bool) {},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- r.Run(ctx, func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("ended") })
		}()
		for range 60 {
			time.Sleep(time.Second) //nolint:forbidigo // the clock of the bubble
			_, err := work.expired()
			assert.NoError(t, err)
		}
		begun, _ := work.expired()
		assert.Equal(t, 64, begun)
		cancel()
		assert.EqualError(t, <-ended, "ended")
	})
}
