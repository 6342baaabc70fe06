package store

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPackRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := `{"data":"` + strings.Repeat(rapid.StringMatching(`[ -~]{0,40}`).Draw(t, "text"), rapid.IntRange(0, 400).Draw(t, "times")) + `"}`
		given := []byte(raw)
		p := Pack(given)
		clear(given)
		require.Equal(t, raw, string(p.JSON()), "and the result does not share memory with the input")
	})
}

func TestPackCompresses(t *testing.T) {
	raw := []byte("{" + strings.Repeat(`"name":"value",`, 200) + "}")
	p := Pack(raw)
	assert.Less(t, len(p), len(raw)/10)
	assert.Equal(t, len(p), cap(p))
	assert.Equal(t, []byte("{}"), []byte(Pack([]byte("{}"))), "short texts are not compressed")
}

func TestPackConcurrently(t *testing.T) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			raw := strings.Repeat(`{"a":"b"}`, 100+i)
			for range 100 {
				assert.Equal(t, raw, string(Pack([]byte(raw)).JSON()))
			}
		})
	}
	group.Wait()
}
