package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const labelled = `, labels: {new: "1"}`

// onePod returns a spec with a Pod and additional metadata.
func onePod(more string) string {
	return `manifest: [{apiVersion: v1, kind: Pod, metadata: {name: web` + more + `}, spec: {containers: [{name: web, image: "web:1"}]}}]`
}

// List elements that an API server added remain, even if the process dies after the record was
// rewritten.
func TestServerElementsSurviveARestart(t *testing.T) {
	for _, executed := range []bool{false, true} {
		w := newWorld(t, onePod(""))
		w.respond = func(o map[string]any) {
			containers := get(o, "spec", "containers").([]any)
			set(o, append(containers, map[string]any{"name": "injected"}), "spec", "containers")
		}
		w.round()
		w.respond = nil
		w.quiet()

		w.edit(onePod(labelled))
		w.die(executed)
		w.edit(onePod(""))
		w.rest()
		w.quiet()
		assert.Len(t, get(w.only(), "spec", "containers"), 2)
		assert.NotContains(t, get(w.only(), "metadata", "labels"), "new")
	}
}

// A recorded object that is created again can have fields that are not recorded.
func TestADeathAfterASecondCreateIsNoLoss(t *testing.T) {
	w := newWorld(t, onePod(""))
	w.round()
	clear(w.live)
	w.edit(onePod(labelled))
	w.die(true)
	require.Equal(t, "1", get(w.only(), "metadata", "labels", "new"))
	w.edit(onePod(""))
	w.rest()
	assert.NotContains(t, get(w.only(), "metadata", "labels"), "new")
}

// After a user's schema is dropped, its record remains until the next status update. The fields that
// the default schema writes are recorded before the write.
func TestReleasedEntriesKeepTheirRecord(t *testing.T) {
	w := newWorld(t, songs)
	w.round()
	const more = `manifest: [{apiVersion: example.com/v1, kind: Song, metadata: {name: top50}, spec: {key1: one, key2: two, key5: five}}]`
	w.edit(more)
	w.die(true)
	require.Equal(t, "five", get(w.only(), "spec", "key5"))
	w.edit(strings.Replace(more, ", key5: five", "", 1))
	w.round()
	assert.NotContains(t, w.only()["spec"], "key5")
	w.quiet()
}
