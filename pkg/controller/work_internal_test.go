package controller

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRestIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rested := 0
		busy, stop := rests(func() { rested++ })
		after := func(wait time.Duration) int {
			time.Sleep(wait) //nolint:forbidigo // uses the synctest clock
			synctest.Wait()
			return rested
		}
		assert.Equal(t, 0, after(restAfter-time.Second))
		busy()
		assert.Equal(t, 0, after(restAfter-time.Second), "there was something to do")
		assert.Equal(t, 1, after(time.Second))
		assert.Equal(t, 1, after(time.Hour), "nothing is done at rest, again and again")
		busy()
		assert.Equal(t, 2, after(restAfter))
		busy()
		stop()
		assert.Equal(t, 2, after(time.Hour))
	})
}
