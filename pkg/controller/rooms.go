package controller

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// rooms bounds the memory of the Applications that are reconciled at the same time. Small ones need no room. Each
// namespace has a room, and waits for itself only: the requests of its Applications can hang. The shared room is for
// all of them, and an Application waits for it no longer than patience.
type rooms struct {
	size   int64
	shared *semaphore.Weighted

	mu sync.Mutex
	// of contains the rooms in use.
	of map[string]*room
}

// room is the room of a namespace. rooms.mu guards users.
type room struct {
	*semaphore.Weighted

	users int
}

const (
	// freeBytes is the size up to which an Application needs no room.
	freeBytes = 1 << 20
	// patience is less than the time of a request that hangs.
	patience = 10 * time.Second
)

func newRooms(size int) *rooms {
	return &rooms{size: int64(size), shared: semaphore.NewWeighted(int64(size)), of: map[string]*room{}}
}

// enter waits until an Application with that many decoded bytes has room. The caller must call leave. It returns the
// error of the context if that ends first.
func (r *rooms) enter(ctx context.Context, namespace string, bytes int) (leave func(), err error) {
	if bytes <= freeBytes {
		return func() {}, nil
	}
	n, own := min(int64(bytes), r.size), r.open(namespace)
	if err := own.Acquire(ctx, n); err != nil {
		r.close(namespace, own)
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	isShared := r.shared.Acquire(waiting, n) == nil
	leave = func() {
		if isShared {
			r.shared.Release(n)
		}
		own.Release(n)
		r.close(namespace, own)
	}
	if err := ctx.Err(); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

func (r *rooms) open(namespace string) *room {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.of[namespace]
	if own == nil {
		own = &room{Weighted: semaphore.NewWeighted(r.size)}
		r.of[namespace] = own
	}
	own.users++
	return own
}

func (r *rooms) close(namespace string, own *room) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(r.of, namespace)
	}
}
