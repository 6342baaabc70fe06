package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/writer"
)

// signed returns the history entries with their users, one line for each entry.
func (w *world) signed() (lines []string) {
	for _, e := range w.app.Status.History {
		line := fmt.Sprint(e.Outcome, " by ", strings.Join([]string{e.User, e.Impersonator, e.SourceIP}, ","))
		if e.PendingUser != nil {
			line += fmt.Sprintf(" waits for %s@%s", e.PendingUser.UID, e.PendingUser.ResourceVersion)
		}
		if e.Count > 0 {
			line += fmt.Sprintf(" %d times since %s", e.Count, e.Since.UTC().Format(time.TimeOnly))
		}
		lines = append(lines, line)
	}
	return lines
}

// asked returns the object versions whose users a plan needs.
func (w *world) asked() (versions []string) {
	for _, v := range plan.UnattributedWrites(plan.Input{Application: w.app, Live: w.live, Observations: plan.Observations{ObservedWrites: w.written}, Memory: w.mem, Now: w.now}) {
		versions = append(versions, fmt.Sprintf("%s@%s", v.UID, v.ResourceVersion))
	}
	slices.Sort(versions)
	return versions
}

// TestUsers checks that the history names the user of a corrected write, if the user is known at the
// correction or later. It names no user if the attribution is uncertain.
func TestUsers(t *testing.T) {
	mallory, bob := plan.User{Name: "mallory", Impersonator: "admin", Address: "10.0.0.7"}, plan.User{Name: "bob", Address: "10.0.0.8"}
	version := func(resourceVersion string) v1alpha1.ObjectVersion {
		return v1alpha1.ObjectVersion{UID: "u-1", ResourceVersion: resourceVersion}
	}
	// change writes a new object version as another client, and the watch delivers it.
	change := func(w *world, resourceVersion string) {
		w.set("theirs", "data", "mode")
		w.set(resourceVersion, "metadata", "resourceVersion")
		w.wrote(byEdit, writer.Activity{Events: 1, FirstSeen: w.now, ResourceVersion: resourceVersion, Writes: 1, Write: resourceVersion})
	}
	corrected := func(w *world, resourceVersion string) {
		change(w, resourceVersion)
		w.round()
		w.written = nil
		w.now = w.now.Add(time.Second)
	}
	const created = "Created by ,,"
	for _, row := range []struct {
		name string
		do   func(w *world)
		want []string
	}{
		{"a name that is known", func(w *world) {
			w.users[version("7")] = mallory
			corrected(w, "7")
		}, []string{"Corrected by mallory,admin,10.0.0.7", created}},
		{"a pending name", func(w *world) { corrected(w, "7") }, []string{"Corrected by ,, waits for u-1@7", created}},
		{"a name that arrives later", func(w *world) {
			corrected(w, "7")
			assert.Equal(t, []string{"u-1@7"}, w.asked())
			w.users[version("7")] = mallory
			w.round()
			assert.Empty(t, w.asked())
			w.quiet()
		}, []string{"Corrected by mallory,admin,10.0.0.7", created}},
		{"names that arrive in another order", func(w *world) {
			for _, v := range []string{"7", "8", "9"} {
				corrected(w, v)
			}
			w.users[version("9")] = mallory
			w.round()
			w.users[version("8")], w.users[version("7")] = bob, mallory
			w.round()
		}, []string{"Corrected by mallory,admin,10.0.0.7 2 times since 00:00:00", "Corrected by bob,,10.0.0.8", created}},
		{"the same name again, and the count", func(w *world) {
			w.users[version("7")], w.users[version("8")] = bob, bob
			corrected(w, "7")
			corrected(w, "8")
			corrected(w, "9")
			corrected(w, "10")
			w.users[version("9")] = bob
			w.round()
		}, []string{"Corrected by ,, waits for u-1@10", "Corrected by bob,,10.0.0.8 3 times since 00:00:00", created}},
		{"a name that does not arrive in time", func(w *world) {
			corrected(w, "7")
			w.now = w.now.Add(5 * time.Minute)
			assert.Empty(t, w.asked())
			w.quiet()
			corrected(w, "8")
		}, []string{"Corrected by ,, waits for u-1@8", "Corrected by ,,", created}},
		{"two writes that cannot be distinguished", func(w *world) {
			w.users[version("7")], w.users[version("8")] = mallory, bob
			change(w, "8")
			w.wrote(byEdit, writer.Activity{Events: 2, ResourceVersion: "8", Writes: 2, Write: "8"})
			w.round()
		}, []string{"Corrected by ,,", created}},
		{"a write, and one of the status after it", func(w *world) {
			w.users[version("7")] = mallory
			change(w, "8")
			w.wrote(byEdit, writer.Activity{Events: 2, ResourceVersion: "8", Writes: 1, Write: "7"})
			w.round()
		}, []string{"Corrected by mallory,admin,10.0.0.7", created}},
		{"an annotation, which a write of the status may have changed", func(w *world) {
			w.edit(replace(settings, "{name: settings}", "{name: settings, annotations: {a: b}}"))
			w.round()
			w.users[version("7")] = mallory
			w.set("8", "metadata", "resourceVersion")
			w.set("theirs", "metadata", "annotations", "a")
			w.wrote(byNone, writer.Activity{Events: 2, ResourceVersion: "8", Writes: 1, Write: "7"})
			w.round()
		}, []string{"Corrected by ,,", created}},
		{"an object that was read since, and may be another one", func(w *world) {
			w.users[version("7")] = mallory
			change(w, "7")
			w.set("9", "metadata", "resourceVersion")
			w.round()
		}, []string{"Corrected by ,,", created}},
		{"who deleted it", func(w *world) {
			delete(w.live, settingsID)
			assert.Equal(t, []string{"u-1@"}, w.asked())
			w.round()
			w.users[version("")] = mallory
			w.round()
		}, []string{"Restored by mallory,admin,10.0.0.7", created}},
		{"what drifted while the Application was suspended", func(w *world) {
			look := func() { w.store(w.decide().Summarize(nil, w.now)) }
			w.edit(replace(settings, "\nmanifest:", "\nsuspend: true\nmanifest:"))
			look()
			change(w, "7")
			look()
			assert.Equal(t, []string{"u-1@7"}, w.asked())
			w.users[version("7")], w.written = mallory, nil
			look()
			w.users = map[v1alpha1.ObjectVersion]plan.User{} // an hour later the audit events are gone
			w.now = w.now.Add(time.Hour)
			w.set("8", "metadata", "resourceVersion")
			w.wrote(byNone, writer.Activity{Events: 1, ResourceVersion: "8", Writes: 1, Write: "8"})
			look()
			w.edit(settings)
			w.round()
		}, []string{"Corrected by mallory,admin,10.0.0.7", created}},
		{"no audit events", func(w *world) {
			w.users = nil
			corrected(w, "7")
			delete(w.live, settingsID)
			w.round()
		}, []string{"Restored by ,,", "Corrected by ,,", created}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, settings)
			w.users = map[v1alpha1.ObjectVersion]plan.User{}
			w.round()
			row.do(w)
			assert.Equal(t, row.want, w.signed())
		})
	}

	t.Run("the user of a Secret is not looked up", func(t *testing.T) {
		w := newWorld(t, `manifest: [{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {key: b3Vycw==}}]`)
		w.users = map[v1alpha1.ObjectVersion]plan.User{version("7"): mallory, version(""): mallory}
		w.round()
		w.set("dGhlaXJz", "data", "key")
		w.set("7", "metadata", "resourceVersion")
		w.wrote(byEdit, writer.Activity{Events: 1, ResourceVersion: "7", Writes: 1, Write: "7"})
		assert.Empty(t, w.asked())
		w.round()
		w.live = map[manifest.ID]map[string]any{}
		assert.Empty(t, w.asked())
		w.round()
		assert.Equal(t, []string{"Restored by ,,", "Corrected by ,,", created}, w.signed())
	})
}
