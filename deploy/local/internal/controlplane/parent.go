package controlplane

import (
	"context"
	"os"
	"strconv"
	"time"
)

// parentVariable carries the supervisor's pid to the components.
const parentVariable = "CONTROLPLANE_PARENT"

// orphaned is closed when the process with this pid is no longer our parent. The pid
// is given, not asked for: the parent may be gone before we get to ask.
func orphaned(ctx context.Context, parent int) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for os.Getppid() == parent {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		close(gone)
	}()
	return gone
}

// EndWithParent ends this process, a component, with the supervisor that started it,
// if one did. On Linux the kernel does the same at once.
func EndWithParent() {
	parent, err := strconv.Atoi(os.Getenv(parentVariable))
	if err != nil {
		return
	}
	go func() {
		<-orphaned(context.Background(), parent)
		os.Exit(1)
	}()
}
