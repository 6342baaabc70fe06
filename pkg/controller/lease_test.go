package controller_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/controller"
)

// After its Lease has expired, a controller writes nothing, even before it notices the loss.
func TestNothingIsWrittenWithoutTheLease(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	var lost atomic.Bool
	var denied atomic.Int64
	f.Run(controller.Options{Held: func() error {
		if !lost.Load() {
			return nil
		}
		denied.Add(1)
		return errors.New("the lease is lost")
	}})
	f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: app}, data: {key: ours}}]}`)
	f.AwaitValue(configMaps, "app", "ours", "data", "key")
	f.Quiet(time.Second)

	lost.Store(true)
	f.Mark()
	f.Patch("them", configMaps, "app", `{data: {key: theirs}}`)
	f.eventually("a write that is denied", func() bool { return denied.Load() > 0 })
	assert.Empty(t, f.Requests().Writes())
	lost.Store(false)
	f.AwaitValue(configMaps, "app", "ours", "data", "key")
}
