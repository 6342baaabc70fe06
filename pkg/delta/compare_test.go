package delta_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	content, err := manifest.DecodeJSON(raw)
	require.NoError(t, err)
	return content
}

// given returns the input of a comparison under a user's schema; "" is the default schema.
func given(t *testing.T, schema, desired, live string) delta.Input {
	t.Helper()
	in := delta.Input{Live: object(t, live), Desired: object(t, desired)}
	o := observertest.Manifest(nil)
	o.Content = in.Desired
	in.Entry, in.Manifest = observer.DefaultEntry(o), in.Desired
	if schema != "" {
		raw := observertest.Manifest(nil).Content
		delete(raw, "spec")
		for name, node := range object(t, schema) {
			raw[name] = node
		}
		entries, err := observer.ParseAll([]map[string]any{raw})
		require.NoError(t, err)
		in.Entry = entries[0]
	}
	return in
}

func ops(c delta.Comparison) []string {
	_, list := c.Patch("", "")
	found := []string{}
	for _, op := range list {
		text := op.Op + " " + op.Path
		if op.Op != "remove" {
			raw, _ := json.Marshal(op.Value)
			text += " " + string(raw)
		}
		found = append(found, text)
	}
	return found
}

const (
	anyLength = "{observer_schema_list_min_length: 0, observer_schema_list_max_length: 0}"
	byName    = "{observer_schema_list_min_length: %d, observer_schema_list_max_length: %d, observer_schema_list_map_keys: [name]}"
)

func TestCompare(t *testing.T) {
	rows := []struct {
		name, schema, desired, live string
		ops                         []string
	}{
		{"a status is watched only, even if a hook sets it", "{status: observed, spec: {a: observed}}", "{status: {x: 1}, spec: {a: 1}}", "{status: {x: 2}, spec: {a: 1}}", nil},
		{"an unknown value is free until it is learned", "{a: observed}", "{}", "{a: 1}", nil},
		{"a field that is not in the schema is free", "{a: observed}", "{a: 1, b: 1}", "{a: 1, b: 2}", nil},
		{"a missing map is added with its observed fields", "{m: {a: observed}}", "{m: {a: 1, b: 1}}", "{}", []string{`add /m {"a":1}`}},
		{"a missing map without known fields is not added", "{m: {c: observed}}", "{m: {b: 1}}", "{}", nil},
		{"an empty list is free to be absent", "", "{l: []}", "{}", nil},
		{"an empty list is free to be longer", "", "{l: []}", "{l: [1]}", nil},
		{"an empty list is free to be null", "", "{l: []}", "{l: null}", nil},
		{"an empty list is not a map", "", "{l: []}", "{l: {a: 1}}", []string{"replace /l []"}},
		{"a missing list is added with its observed elements", "{l: [{}, {x: observed}, {}, " + fmt.Sprintf(byName, 0, 0) + "]}",
			"{l: [{name: a}, {name: b, x: 1}, {name: c}]}", "{}", []string{`add /l [{"name":"b","x":1}]`}},
		{"a missing list by position is added with the earlier elements", "{l: [{}, {x: observed}, {}, " + anyLength + "]}",
			"{l: [{name: a}, {name: b, x: 1}, {name: c}]}", "{}", []string{`add /l [{"name":"a"},{"name":"b","x":1}]`}},
		{"a missing list is filled up to its minimum", "{l: [" + fmt.Sprintf(byName, 2, 0) + "]}",
			"{l: [{name: a}, {name: b}, {name: c}]}", "{}", []string{`add /l [{"name":"a"},{"name":"b"}]`}},
		{"missing elements by position fill the gap", "{l: [{}, {}, observed, " + anyLength + "]}", "{l: [1, 2, 3]}", "{l: [9]}", []string{"add /l/- 2", "add /l/- 3"}},
		{"a minimum after a gap adds nothing twice", "{l: [{}, {}, observed, {observer_schema_list_min_length: 4, observer_schema_list_max_length: 0}]}",
			"{l: [1, 2, 3, 4]}", "{l: [9]}", []string{"add /l/- 2", "add /l/- 3", "add /l/- 4"}},
		{"a position without fields adds no element", "{l: [{}, " + fmt.Sprintf(byName, 0, 0) + "]}", "{l: [{name: a}]}", "{l: []}", nil},
		{"a position without fields is free", "{l: [{}, observed, " + anyLength + "]}", "{l: [1, 2]}", "{l: [9, 9]}", []string{"replace /l/1 2"}},
		{"a missing element replaces the surplus", "{l: [observed, " + fmt.Sprintf(byName, 0, 1) + "]}",
			"{l: [{name: a}]}", "{l: [{name: x}, {name: z}]}", []string{"remove /l/1", "remove /l/0", `add /l/- {"name":"a"}`}},
		{"inner corrections come before the list is shortened", "{l: [{x: observed, in: [observed, {observer_schema_list_min_length: 0, observer_schema_list_max_length: 1}]}, " + fmt.Sprintf(byName, 0, 1) + "]}",
			"{l: [{name: a, x: 1, in: [1]}]}", "{l: [{name: z}, {name: a, x: 2, in: [1, 2]}]}",
			[]string{"replace /l/1/x 1", "remove /l/1/in/1", "remove /l/0"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.ops == nil {
				row.ops = []string{}
			}
			assert.Equal(t, row.ops, ops(delta.Compare(given(t, row.schema, row.desired, row.live))))
		})
	}
}

func TestAFieldIsRemovedFromAnEmptiedElement(t *testing.T) {
	in := given(t, "", "{l: [{}]}", "{l: [{a: 1, foreign: 2}]}")
	in.Previous, in.Prune = object(t, "{l: [{a: 1}]}"), true
	assert.Equal(t, []string{"remove /l/0/a"}, ops(delta.Compare(in)))
}

// An accepted form below a removed field is dropped. It does not apply if the field returns.
func TestFormsBelowWhatIsRemovedAreNotKept(t *testing.T) {
	in := given(t, "{v: observed}", "{v: 1}", "{v: 2, m: {a: x}}")
	in.Previous, in.Prune = object(t, "{v: 1, m: {a: y}}"), true
	in.Owners = ours{}
	form := delta.Form{Desired: delta.NewValue("y"), Accepted: delta.NewValue("x")}
	in.Accepted = delta.Accepted{"m.a": form, "v.below": form}
	assert.Equal(t, map[string]bool{"v.below": true}, delta.Compare(in).AcceptedUsed)
}

// A list with a maximum keeps no element of another client, so none is reported as left.
func TestADroppedElementAboveTheMaximumIsRemoved(t *testing.T) {
	in := given(t, "", "{ports: [{port: 1}]}", "{ports: [{port: 1}, {port: 2, theirs: 1}]}")
	in.Entry.Root.Field("ports").List.Keys = []string{"port"}
	in.Entry.Root.Field("ports").List.Aligned = false
	in.Previous, in.Prune = object(t, "{ports: [{port: 1}, {port: 2, theirs: 0}]}"), true
	in.Owners = owners("ports[port=2].theirs")
	c := delta.Compare(in)
	assert.Equal(t, []string{"remove /ports/1"}, ops(c))
	assert.Empty(t, c.Left)

	in.Entry.Root.Field("ports").List.Max = 0
	c = delta.Compare(in)
	assert.Empty(t, ops(c))
	assert.Len(t, c.Left, 1, "without a maximum, it remains")
}

// A list without keys is reported as left only if an element of the manifest may be among the others.
func TestAdditionsToADroppedListAreNotReported(t *testing.T) {
	rows := []struct {
		live string
		ops  []string
		left int
	}{
		{"{l: [a, b, theirs]}", []string{"remove /l/1", "remove /l/0"}, 0},
		{"{l: [a, changed, theirs]}", []string{"remove /l/0"}, 1},
		{"{l: [theirs]}", nil, 1},
	}
	for _, row := range rows {
		in := given(t, "", "{}", row.live)
		in.Previous, in.Prune, in.Owners = object(t, "{l: [a, b]}"), true, theirs{"theirs", "changed"}
		c := delta.Compare(in)
		assert.ElementsMatch(t, row.ops, ops(c), row.live)
		assert.Len(t, c.Left, row.left, row.live)
	}
}

// A dropped map of which another client wrote a part is cut.
func TestAMapIsCut(t *testing.T) {
	in := given(t, "", "{}", "{probe: {get: {path: a}, period: 5, added: 1, default: 1}}")
	in.Previous, in.Prune, in.Owners = object(t, "{probe: {get: {path: a}, period: 3}}"), true, theirs{"period", "added"}
	c := delta.Compare(in)
	assert.Equal(t, []string{"remove /probe/get"}, ops(c))
	require.Len(t, c.Cut, 1)
	assert.Equal(t, "probe", c.Cut[0].Path.String())
	assert.Equal(t, "[probe.period probe.added]", fmt.Sprint(c.Cut[0].Left))
}

// theirs are the owners of an object in which another client wrote the fields, or the elements, with these names.
type theirs []string

func (o theirs) IsForeign(path *observer.Path) bool {
	return slices.Contains(o, path.Name()) || path.IsElement()
}

func (o theirs) IsApplied(*observer.Path) bool { return false }

func (o theirs) IsOwned(path *observer.Path, _, _ bool) bool { return !slices.Contains(o, path.Name()) }

// ours are the owners of an object whose only writer is the Application.
type ours struct{}

func (ours) IsForeign(*observer.Path) bool           { return false }
func (ours) IsApplied(*observer.Path) bool           { return false }
func (ours) IsOwned(*observer.Path, bool, bool) bool { return true }

func TestGuards(t *testing.T) {
	guards := func(in delta.Input) []string {
		list, _ := delta.Compare(in).Patch("u-1", "7")
		found := []string{}
		for _, g := range list {
			raw, err := json.Marshal(g)
			require.NoError(t, err)
			found = append(found, string(raw))
		}
		return found
	}
	const uid = `{"op":"test","path":"/metadata/uid","value":"u-1"}`
	const version = `{"op":"test","path":"/metadata/resourceVersion","value":"7"}`
	rows := []struct {
		name, schema, desired, live string
		guards                      []string
	}{
		{"the old value of a replaced field", "", "{a: 1}", "{a: 2}", []string{uid, `{"op":"test","path":"/a","value":2}`}},
		{"null for an added field", "", "{a: 1}", "{}", []string{uid, `{"op":"test","path":"/a","value":null}`}},
		{"the key of the element on the way", "{l: [{x: observed}, " + fmt.Sprintf(byName, 0, 0) + "]}", "{l: [{name: a, x: 1}]}", "{l: [{name: a, x: 2}]}",
			[]string{uid, `{"op":"test","path":"/l/0/name","value":"a"}`, `{"op":"test","path":"/l/0/x","value":2}`}},
		{"the version where only a position tells the element", "{l: [{x: observed}, " + anyLength + "]}", "{l: [{x: 1}]}", "{l: [{}]}",
			[]string{uid, `{"op":"test","path":"/l/0/x","value":null}`, version}},
		{"the version where a list without keys changes its length", "{l: [observed, " + anyLength + "]}", "{l: [1]}", "{l: []}", []string{uid, version}},
		{"the key of a removed element", "{l: [" + fmt.Sprintf(byName, 0, 1) + "]}", "{l: [{name: a}]}", "{l: [{name: a, free: 1}, {name: b, free: 2}]}",
			[]string{uid, `{"op":"test","path":"/l/1/name","value":"b"}`}},
		{"the version where an element without keys is removed", "{l: [{observer_schema_list_min_length: 0, observer_schema_list_max_length: 1}]}", "{l: [1]}", "{l: [1, 2]}",
			[]string{uid, version}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.guards, guards(given(t, row.schema, row.desired, row.live)))
		})
	}
}

func TestAnAcceptedFormInALength(t *testing.T) {
	in := given(t, "", "{l: [1, 2]}", "{l: [1]}")
	in.Accepted = delta.Accept(delta.Compare(in), func(delta.Difference) bool { return true })
	c := delta.Compare(in)
	assert.Empty(t, c.Differences)
	assert.Empty(t, c.TooShort, "what the API server drops counts")
	assert.Equal(t, map[string]bool{"l[1]": true}, c.AcceptedUsed)
}

func TestDroppedFieldWarning(t *testing.T) {
	for _, empty := range []any{nil, "", false, int64(0), 0.0, []any{}, map[string]any{}, map[string]any{"a": ""}} {
		assert.False(t, delta.Form{Desired: delta.NewValue(empty)}.Dropped(), "%v", empty)
	}
	for _, full := range []any{"x", true, int64(1), []any{""}, map[string]any{"a": "x"}} {
		assert.True(t, delta.Form{Desired: delta.NewValue(full)}.Dropped(), "%v", full)
		assert.False(t, delta.Form{Desired: delta.NewValue(full), Accepted: delta.NewValue("y")}.Dropped())
	}
}

func TestHeldLeavesAreCounted(t *testing.T) {
	c := delta.Compare(given(t, "", "{a: 1, b: 2, m: {c: 3}, n: {d: 4}}", "{a: 1, b: 9, m: {c: 3}}"))
	assert.Equal(t, 2, c.Held)
	assert.Len(t, c.Differences, 2)
}

func TestPatchOmitsDeferredLeaf(t *testing.T) {
	in := given(t, "", "{a: 1, b: 2}", "{a: 3, b: 3}")
	in.HeldBack = func(d delta.Difference) bool { return d.Path == "a" }
	c := delta.Compare(in)
	assert.Equal(t, []string{"replace /b 2"}, ops(c))
	assert.True(t, c.Correctable())
	in.HeldBack = func(delta.Difference) bool { return true }
	assert.False(t, delta.Compare(in).Correctable())
}

// withKeys returns a ConfigMap with n keys and a label.
func withKeys(t *testing.T, n int, value string) string {
	t.Helper()
	data := map[string]any{}
	for i := range n {
		data[fmt.Sprint(i)] = value
	}
	raw, err := json.Marshal(map[string]any{"data": data, "metadata": map[string]any{"labels": map[string]any{"mark": value}}})
	require.NoError(t, err)
	return string(raw)
}

func TestOneGuardReplacesLongOrManyGuards(t *testing.T) {
	rows := []struct {
		name, desired, live string
		guards              int
	}{
		{"short", "{a: 1}", `{a: "` + strings.Repeat("<", 64<<10-len("u1")) + `"}`, 2},
		{"long", "{a: 1}", `{a: "` + strings.Repeat("<", 64<<10) + `"}`, 1},
		{"long together", "{a: 1, b: 1}", `{a: "` + strings.Repeat("<", 32<<10) + `", b: {c: [` + strings.Repeat("x", 32<<10) + `]}}`, 1},
		{"few", withKeys(t, 2498, "a"), withKeys(t, 2498, "b"), 2500},
		{"many", withKeys(t, 2500, "a"), withKeys(t, 2500, "b"), 1},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			guards, _ := delta.Compare(given(t, "", row.desired, row.live)).Patch("u1", "7")
			assert.Len(t, guards, row.guards)
			version := delta.Op{Op: "test", Path: "/metadata/resourceVersion", Value: "7"}
			assert.Equal(t, row.guards == 1, guards[0] == version)
		})
	}
}

// An API server accepts at most 10,000 operations in one patch.
func TestTheRestOfAPatchIsLeftForTheNext(t *testing.T) {
	in := given(t, "", withKeys(t, 12_000, "a"), withKeys(t, 12_000, "b"))
	c := delta.Compare(in)
	assert.Len(t, c.Differences, 12_001)
	_, first := c.Patch("u1", "7")
	assert.Len(t, first, 9900)
	assert.Contains(t, first, delta.Op{Op: "replace", Path: "/metadata/labels/mark", Value: "a"})
	for _, op := range first {
		if key, isData := strings.CutPrefix(op.Path, "/data/"); isData {
			in.Live["data"].(map[string]any)[key] = op.Value
		}
	}
	in.Live["metadata"] = in.Desired["metadata"]
	_, second := delta.Compare(in).Patch("u1", "8")
	assert.Len(t, second, 2101)
}

const ports = "{ports: [{port: observed, target: observed}, {observer_schema_list_min_length: 0, observer_schema_list_max_length: 0, " +
	"observer_schema_list_map_keys: [port]}]}"

func TestAKeyIsPutBackWhereItsElementCannotBeAdded(t *testing.T) {
	in := given(t, ports, "{ports: [{port: 1, target: 2}]}", "{ports: [{port: 7, target: 8}, {port: 9, target: 9}]}")
	assert.Equal(t, []string{`add /ports/- {"port":1,"target":2}`}, ops(delta.Compare(in)))
	in.Refused = func(path string) bool { return path == "ports[port=1]" }
	assert.Equal(t, []string{"replace /ports/0/port 1", "replace /ports/0/target 2"}, ops(delta.Compare(in)))
}

func TestAnElementHasTakenThePlaceOfOneThatIsGone(t *testing.T) {
	const free = "{ports: [{target: observed}, {observer_schema_list_min_length: 0, observer_schema_list_max_length: 0, observer_schema_list_map_keys: [port]}]}"
	const add = `add /ports/- {"port":1,"target":2}`
	rows := []struct {
		name, schema, before, live string
		ops                        []string
	}{
		{"its key is put back", ports, "{ports: [{port: 1, target: 2}]}", "{ports: [{port: 7, target: 2}]}", []string{"replace /ports/0/port 1"}},
		{"without a record, too", ports, "{}", "{ports: [{port: 7, target: 2}]}", []string{"replace /ports/0/port 1"}},
		{"a key that is free is not put back", free, "{ports: [{port: 1, target: 2}]}", "{ports: [{port: 7, target: 2}]}", []string{add}},
		{"a field that only one has does not count", ports, "{ports: [{port: 1, target: 2}]}", "{ports: [{port: 7}]}", []string{add}},
		{"an element that is new in the manifest is added", ports, "{ports: []}", "{ports: [{port: 7, target: 2}]}", []string{add}},
		{"the matching element is found among several", ports, "{ports: [{port: 1, target: 2}]}", "{ports: [{port: 7, target: 3}, {port: 8, target: 2}]}",
			[]string{"replace /ports/1/port 1"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			in := given(t, row.schema, "{ports: [{port: 1, target: 2}]}", row.live)
			in.Previous = object(t, row.before)
			assert.Equal(t, row.ops, ops(delta.Compare(in)))
		})
	}
}

func TestOneAtThePositionAndOneThatAgreesAreTwo(t *testing.T) {
	in := given(t, "{ports: [{port: observed, a: observed, b: observed}, {observer_schema_list_min_length: 0, observer_schema_list_max_length: 0, "+
		"observer_schema_list_map_keys: [port]}]}", "{ports: [{port: 1, a: 1, b: 1}, {port: 5}]}", "{ports: [{port: 7, a: 2, b: 1}, {port: 8, a: 1, b: 1}]}")
	assert.Equal(t, []string{`add /ports/- {"a":1,"b":1,"port":1}`}, ops(delta.Compare(in)))
}

func TestDroppedElementsTakeNoPlace(t *testing.T) {
	in := given(t, "", "{ports: [{port: 1, target: 2}]}", "{ports: [{port: 7, target: 2}]}")
	in.Entry.Root.Field("ports").List.Keys = []string{"port"}
	in.Previous = object(t, "{ports: [{port: 1, target: 2}, {port: 7, target: 2}]}")
	assert.Equal(t, []string{"remove /ports/0", `add /ports/- {"port":1,"target":2}`}, ops(delta.Compare(in)))
}

func TestElementsWithTheSameKeysHaveGuards(t *testing.T) {
	in := given(t, ports, "{ports: [{port: 1, target: 2}]}", "{ports: [{port: 1, target: 3}, {port: 1, target: 4}]}")
	c := delta.Compare(in)
	assert.Equal(t, []string{"replace /ports/0/target 2", "replace /ports/1/target 2"}, ops(c))
	guards, _ := c.Patch("u-1", "7")
	assert.Contains(t, guards, delta.Op{Op: "test", Path: "/metadata/resourceVersion", Value: "7"})
}

// The keys do not prove that the index still is the element whose field left the manifest.
func TestADroppedFieldOfARepeatedKeyHasAGuard(t *testing.T) {
	in := given(t, "", "{ports: [{port: 1, target: 2}, {port: 1, target: 3}]}", "{ports: [{port: 1, target: 2, x: {a: 5}}, {port: 1, target: 3}]}")
	in.Entry.Root.Field("ports").List.Keys = []string{"port"}
	in.Previous, in.Prune = object(t, "{ports: [{port: 1, target: 2, x: {a: 5}}, {port: 1, target: 3}]}"), true
	in.Owners = ours{}
	c := delta.Compare(in)
	assert.Equal(t, []string{"remove /ports/0/x"}, ops(c))
	guards, _ := c.Patch("u-1", "7")
	assert.Contains(t, guards, delta.Op{Op: "test", Path: "/metadata/resourceVersion", Value: "7"})
}

// BenchmarkLongList compares a list in which every second element is missing and every other one has
// changed.
func BenchmarkLongList(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var want, live []any
			for i := range n {
				want = append(want, map[string]any{"name": fmt.Sprint(i), "v": int64(1)})
				if i%2 == 0 {
					live = append(live, map[string]any{"name": fmt.Sprint(i), "v": int64(2)}, map[string]any{"name": fmt.Sprint("x", i), "v": int64(1)})
				}
			}
			o := observertest.Manifest(nil)
			o.Content = map[string]any{"l": want}
			in := delta.Input{Entry: observer.DefaultEntry(o), Desired: o.Content, Manifest: o.Content, Live: map[string]any{"l": live}}
			in.Entry.Root.Field("l").List.Keys = []string{"name"}
			for b.Loop() {
				delta.Compare(in)
			}
		})
	}
}
