package controller

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// rooms bounds the memory of the Applications that are reconciled at the same time. Each namespace has a room, and all of
// them share another one. Requests can hang, and then keep the room, also the shared one.
//
//	memory of an Application  waits
//	up to freeBytes           for nothing
//	up to smallBytes          for its namespace, and for the others no longer than patience
//	more                      until there is room in both
//
// Several large ones at a time would need more memory than the Pod has, so no limit in time lets them in.
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
	// smallBytes is the size up to which an Application does not wait longer than patience for other namespaces.
	smallBytes = 4 << 20
	// patience is less than the time of a request that hangs.
	patience = 10 * time.Second
	// eagerGCPercent replaces GOGC, which is 100 by default, while an Application takes more than half of the room.
	eagerGCPercent = 20
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
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if n <= smallBytes {
		waiting, cancel = context.WithTimeout(ctx, patience)
	}
	defer cancel()
	isShared := r.shared.Acquire(waiting, n) == nil
	restore := func() {}
	if isShared && n > r.size/2 {
		restore = saveMemory()
	}
	leave = func() {
		restore()
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

// saveMemory collects the garbage of the previous Application, and then collects more often than usual, until the caller
// calls restore. The live memory of one Application at the limit, and as much garbage, would not fit into the Pod. It
// must not be called again before restore: only one Application takes more than half of the shared room.
func saveMemory() (restore func()) {
	debug.FreeOSMemory()
	usual := debug.SetGCPercent(eagerGCPercent)
	return func() { debug.SetGCPercent(usual) }
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
