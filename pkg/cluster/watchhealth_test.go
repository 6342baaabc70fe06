package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/pkg/store"
)

// source is a ListerWatcher with configurable behavior and a fake clock. TestWatchesOnARealAPIServer covers
// the behavior of a real API server.
type source struct {
	*consistentListWatcher
	t      *testing.T
	mu     sync.Mutex
	lists  int
	opened int
	err    error // of every request
	hung   bool  // requests get no response
	stream *watch.RaceFreeFakeWatcher
	// bookmarks is the interval of bookmarks; 0 for none
	bookmarks time.Duration
}

func newSource() *source {
	s := &source{}
	s.consistentListWatcher = &consistentListWatcher{list: s.answerList, watch: s.answerWatch, pulse: newWatchHealth(defaultStallTimeouts, &connectionHealth{})}
	return s
}

// listed returns the number of lists so far.
func (s *source) listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

func (s *source) answerList(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	s.lists++
	err, hung := s.err, s.hung
	s.mu.Unlock()
	if hung {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	list := &unstructured.UnstructuredList{}
	list.SetResourceVersion("1")
	return list, err
}

func (s *source) answerWatch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hung {
		s.mu.Unlock()
		<-ctx.Done()
		s.mu.Lock()
		return nil, ctx.Err()
	}
	if s.err != nil {
		return nil, s.err
	}
	if options.SendInitialEvents != nil {
		return nil, apierrors.NewBadRequest("an older API server")
	}
	s.opened++
	s.stream = watch.NewRaceFreeFake()
	if s.bookmarks > 0 {
		go s.bookmark(ctx, s.stream)
	}
	return s.stream, nil
}

func (s *source) bookmark(ctx context.Context, stream *watch.RaceFreeFakeWatcher) {
	for ctx.Err() == nil && !stream.IsStopped() {
		select {
		case <-time.After(s.bookmarks):
		case <-ctx.Done():
			return
		}
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetResourceVersion("1")
		stream.Action(watch.Bookmark, u)
	}
}

// fail makes all further requests fail, and ends the stream.
func (s *source) fail(err error) {
	s.mu.Lock()
	s.err = err
	stream := s.stream
	s.mu.Unlock()
	if err != nil && stream != nil {
		stream.Stop()
	}
}

// run fills a store until the test ends.
func (s *source) run(ctx context.Context) {
	into := store.New(store.Options{Now: time.Now, Changed: func(_, _ *store.Object) {}, Synced: func() {}})
	s.asks = into.BeginList
	reflector := cache.NewReflectorWithOptions(s.listerWatcher(), &unstructured.Unstructured{}, reflectorStore{into}, cache.ReflectorOptions{Name: "test"})
	// The reflector's own loop logs errors with rate limits that do not use the fake clock.
	go wait.UntilWithContext(ctx, func(ctx context.Context) { _ = reflector.ListAndWatchWithContext(ctx) }, time.Second)
}

func (s *source) silent() error {
	_, err := s.pulse.reportableStall(time.Now())
	return err
}

func (s *source) dead() error {
	_, err := s.pulse.stalledSince(time.Now(), time.Time{})
	return err
}

// pass advances the clock.
func pass(d time.Duration) { <-time.After(d) }

var errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("by the test"))

// inTime runs a test with a fake clock that advances when all goroutines wait.
func inTime(t *testing.T, bookmarks time.Duration, test func(s *source)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSource()
		s.bookmarks = bookmarks
		s.run(ctx)
		s.t = t
		test(s)
		cancel()
		s.fail(context.Canceled)
		synctest.Wait()
	})
}

func TestStalledWatch(t *testing.T) {
	t.Run("whose bookmarks come late, as API servers send them, is not asked for again", func(t *testing.T) {
		inTime(t, time.Minute+3*time.Second, func(s *source) {
			for range 60 {
				pass(time.Minute + time.Second)
				assert.NoError(s.t, s.silent())
			}
			assert.Equal(s.t, 1, s.listed())
			assert.Equal(s.t, 1, s.opened)
		})
	})
	t.Run("whose rights are gone is silent after a minute", func(t *testing.T) {
		inTime(t, time.Minute, func(s *source) {
			pass(10 * time.Second)
			s.fail(errForbidden)
			pass(49 * time.Second)
			assert.NoError(s.t, s.silent())
			pass(time.Minute)
			assert.True(s.t, apierrors.IsForbidden(s.silent()))
			assert.True(s.t, apierrors.IsForbidden(s.dead()))

			s.fail(nil)
			pass(2 * time.Minute)
			assert.NoError(s.t, s.silent())
		})
	})
	t.Run("during an outage only the metric reports it", func(t *testing.T) {
		inTime(t, time.Minute, func(s *source) {
			pass(10 * time.Second)
			s.fail(errors.New("connection refused"))
			for range 60 {
				pass(time.Minute)
				assert.NoError(s.t, s.silent())
			}
			assert.Error(s.t, s.dead())

			// After an outage, a watch has a minute to recover.
			s.pulse.line.answered(time.Now())
			pass(59 * time.Second)
			assert.NoError(s.t, s.silent())
		})
	})
	t.Run("is listed again when the API server is back", func(t *testing.T) {
		inTime(t, time.Minute, func(s *source) {
			pass(10 * time.Second)
			s.fail(errors.New("connection reset"))
			pass(time.Minute)
			before := s.listed()
			s.fail(nil)
			pass(2 * time.Minute)
			assert.Greater(s.t, s.listed(), before)
			assert.NoError(s.t, s.dead())
		})
	})
	t.Run("of an API server without bookmarks is listed less and less often", func(t *testing.T) {
		inTime(t, 0, func(s *source) {
			for range 60 {
				pass(time.Minute)
				assert.NoError(s.t, s.dead())
			}
			assert.Equal(s.t, 9, s.listed())
		})
	})
	t.Run("that ends, and is not opened again, is dead", func(t *testing.T) {
		inTime(t, time.Minute, func(s *source) {
			pass(65 * time.Second)
			s.mu.Lock()
			s.hung = true
			s.mu.Unlock()
			s.stream.Stop()
			pass(10 * time.Second)
			assert.NoError(s.t, s.silent())
			pass(50 * time.Second)
			assert.ErrorIs(s.t, s.silent(), errStalled)
		})
	})
	t.Run("of an API server that is starting has its time when that has started", func(t *testing.T) {
		inTime(t, time.Minute, func(s *source) {
			pass(10 * time.Second)
			s.fail(errors.New("connection refused"))
			pass(2 * time.Minute)
			s.fail(apierrors.NewServiceUnavailable("starting"))
			for range 3 {
				pass(time.Minute)
				assert.NoError(s.t, s.silent())
			}
			assert.Error(s.t, s.dead())
		})
	})
	t.Run("that is not answered is dead", func(t *testing.T) {
		inTime(t, 0, func(s *source) {
			pass(time.Second)
			s.mu.Lock()
			s.hung = true
			s.mu.Unlock()
			pass(70 * time.Second)
			assert.NoError(s.t, s.silent())
			pass(10 * time.Second)
			assert.ErrorIs(s.t, s.silent(), errStalled)
		})
	})
}
