package controlplane

import (
	"context"
	"os"
	"strconv"
	"time"
)

// parentVariable is the environment variable with the supervisor's pid.
const parentVariable = "CONTROLPLANE_PARENT"

// orphaned returns a channel that is closed when the parent with this pid has ended. The pid is an
// argument, because the parent can end before the process queries it.
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

// EndWithParent ends this process, a component, together with the supervisor that started it, if any. On
// Linux the kernel does the same immediately.
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
