package writer

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
)

// The writer of a leaf is named, or none is: never a wrong one. The times are seconds of one minute.
func TestOfDifference(t *testing.T) {
	rows := []struct {
		name, managed string
		events        int
		moved         []int
		path          string
		desired       any
		observed      any
		absent        bool // nothing is observed
		want          string
	}{
		{
			name:    "the other manager of a fast contest with equal times",
			managed: `[{manager: 'holdfast:shop/web', time: 4, fields: {'f:data': {'.': {}, 'f:key': {}}}}, {manager: mallory, time: 4, fields: {'f:data': {'f:key': {}}}}]`,
			events:  2, path: "key", desired: "held", observed: "theirs", want: "mallory",
		},
		{
			name:    "the last of several owners",
			managed: `[{manager: old, time: 1, fields: {'f:data': {'f:key': {}}}}, {manager: new, time: 2, fields: {'f:data': {'f:key': {}}}}]`,
			events:  9, path: "key", desired: "held", observed: "theirs", want: "new",
		},
		{
			name:    "unknown with two owners in the same second",
			managed: `[{manager: one, time: 1, fields: {'f:data': {'f:key': {}}}}, {manager: two, time: 1, fields: {'f:data': {'f:key': {}}}}]`,
			events:  9, path: "key", desired: "held", observed: "theirs",
		},
		{
			name:    "the owner whose time changed with the only event",
			managed: `[{manager: one, time: 1, fields: {'f:data': {'f:key': {}}}}, {manager: two, time: 1, fields: {'f:data': {'f:key': {}}}}]`,
			events:  1, moved: []int{1}, path: "key", desired: "held", observed: "theirs", want: "two",
		},
		{
			name:    "the owner of the field, not of its map",
			managed: `[{manager: mallory, time: 1, fields: {'f:data': {'f:key': {}}}}, {manager: creator, time: 9, fields: {'f:data': {}}}]`,
			events:  1, path: "key", desired: "held", observed: "theirs", want: "mallory",
		},
		{
			name:    "the owner of an atomic map",
			managed: `[{manager: mallory, time: 1, fields: {'f:data': {}}}, {manager: other, time: 9, fields: {'f:data2': {}}}]`,
			events:  2, path: "key", desired: "held", observed: "theirs", want: "mallory",
		},
		{
			name:    "unknown if only the Application owns a foreign value",
			managed: `[{manager: 'holdfast:shop/web', time: 1, fields: {'f:data': {'f:key': {}}}}, {manager: creator, time: 0, fields: {'f:data': {}}}]`,
			events:  2, path: "key", desired: "held", observed: "theirs",
		},
		{
			name:    "the only writer of a removed field",
			managed: `[{manager: creator, time: 1, fields: {'f:data': {}}}, {manager: mallory, time: 2, fields: {'f:data': {'f:other': {}}}}]`,
			events:  1, moved: []int{1}, path: "key", desired: "held", absent: true, want: "mallory",
		},
		{
			name:    "unknown for a removed field after two events",
			managed: `[{manager: creator, time: 1, fields: {'f:data': {}}}, {manager: mallory, time: 2, fields: {'f:data': {'f:other': {}}}}]`,
			events:  2, moved: []int{1}, path: "key", desired: "held", absent: true,
		},
		{
			name:    "unknown for a removed field after two writes",
			managed: `[{manager: creator, time: 1, fields: {'f:data': {}}}, {manager: mallory, time: 2, fields: {'f:data': {'f:other': {}}}}]`,
			events:  1, moved: []int{0, 1}, path: "key", desired: "held", absent: true,
		},
		{
			name:    "unknown for a removed field without a write",
			managed: `[{manager: creator, time: 1, fields: {'f:data': {}}}]`,
			events:  1, path: "key", desired: "held", absent: true,
		},
		{
			name:    "never the Application for a removed field",
			managed: `[{manager: 'holdfast:shop/web', time: 1, fields: {'f:data': {}}}]`,
			events:  1, moved: []int{0}, path: "key", desired: "held", absent: true,
		},
		{
			name:    "the owner of the drift in a map that is one value",
			managed: `[{manager: old, time: 9, fields: {'f:data': {'f:key': {'f:a': {}}}}}, {manager: mallory, time: 2, fields: {'f:data': {'f:key': {'f:b': {}}}}}]`,
			events:  3, path: "key", desired: map[string]any{"a": int64(1), "b": int64(1)}, observed: map[string]any{"a": int64(1), "b": int64(2)}, want: "mallory",
		},
		{
			name:    "unknown for a removed key in a map that is one value",
			managed: `[{manager: old, time: 9, fields: {'f:data': {'f:key': {'f:a': {}}}}}]`,
			events:  3, path: "key", desired: map[string]any{"a": int64(1), "b": int64(1)}, observed: map[string]any{"a": int64(1)},
		},
		{
			name:    "the owner of an added list element",
			managed: `[{manager: old, time: 9, fields: {'f:data': {'f:key': {'v:"x"': {}}}}}, {manager: mallory, time: 2, fields: {'f:data': {'f:key': {'v:"y"': {}}}}}]`,
			events:  3, path: "key", desired: []any{"x"}, observed: []any{"x", "y"}, want: "mallory",
		},
		{
			name:    "another Application",
			managed: `[{manager: 'holdfast:shop/other', time: 1, fields: {'f:data': {'f:key': {}}}}]`,
			events:  1, moved: []int{0}, path: "key", desired: "held", observed: "theirs", want: "holdfast:shop/other",
		},
		{name: "unknown without managedFields", managed: `[]`, path: "key", desired: "held", observed: "theirs"},
	}
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			data := map[string]any{}
			if !row.absent {
				data["key"] = row.observed
			}
			activity := Activity{ManagedFields: managedJSON(t, row.managed), Events: row.events, ChangedEntries: row.moved}
			path := (*observer.Path)(nil).Field("data").Field(row.path)
			d := differenceAt(t, path, delta.NewValue(row.desired), delta.Value{Set: !row.absent, Any: row.observed})
			assert.Equal(t, row.want, activity.Index(app, map[string]any{"data": data}).OfDifference(d).Manager)
		})
	}
}

// differenceAt returns the difference that a comparison finds for a leaf.
func differenceAt(t *testing.T, path *observer.Path, desired, observed delta.Value) delta.Difference {
	t.Helper()
	object := func(v delta.Value) map[string]any {
		data := map[string]any{"other": "x"}
		if v.Set {
			data[path.Name()] = v.Any
		}
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "config"}, "data": data}
	}
	entries, err := observer.ParseAll([]map[string]any{{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "config"},
		"data": map[string]any{path.Name(): observer.LeafText},
	}})
	require.NoError(t, err)
	found := delta.Compare(delta.Input{Entry: entries[0], Desired: object(desired), Manifest: object(desired), Live: object(observed)}).Differences
	require.Len(t, found, 1)
	return found[0]
}

// managedJSON returns managedFields whose times are seconds of the same minute.
func managedJSON(t *testing.T, text string) []byte {
	t.Helper()
	var short []struct {
		Manager string
		Time    int
		Fields  map[string]any
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &short))
	long := []any{}
	for _, e := range short {
		long = append(long, map[string]any{
			"manager": e.Manager, "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T03:04:0" + string(rune('0'+e.Time)) + "Z",
			"fieldsType": "FieldsV1", "fieldsV1": e.Fields,
		})
	}
	raw, err := json.Marshal(long)
	require.NoError(t, err)
	return raw
}
