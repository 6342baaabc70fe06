package samples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/internal/samples"
)

func TestOfReturnsWholeInLongRuns(t *testing.T) {
	t.Setenv(samples.Variable, "")
	assert.Equal(t, 20, samples.Of(20, 1000))
	t.Setenv(samples.Variable, "1")
	assert.Equal(t, 10*time.Minute, samples.Of(time.Second, 10*time.Minute))
}
