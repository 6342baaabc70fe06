package observer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

func named(names ...string) []any {
	l := []any{}
	for _, name := range names {
		l = append(l, map[string]any{"name": name})
	}
	return l
}

func nodes(n int) []*observer.Node {
	l := make([]*observer.Node, n)
	for i := range l {
		l[i] = &observer.Node{Shape: observer.Map, Fields: []observer.Field{{Name: "x", Node: &observer.Node{}}}}
	}
	return l
}

func TestPairing(t *testing.T) {
	pod := kinds.Builtin(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}).Field("spec")
	containers, finalizers := pod.Field("containers"), kinds.Builtin(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}).Field("metadata").Field("finalizers")
	rows := []struct {
		name          string
		kind          *kinds.Node
		list          observer.List
		desired, live []any
		pairs, free   []int
		labels        []string
		warning       string
		surplus       []observer.Surplus
	}{
		{"a list with keys is paired by key", containers, observer.List{Elements: nodes(2)},
			named("a", "b"), named("x", "b", "a"), []int{2, 1}, []int{0}, []string{"[name=a]", "[name=b]"}, "", nil},
		{"a missing element has no partner", containers, observer.List{Elements: nodes(2)},
			named("a", "b"), named("b"), []int{-1, 0}, nil, []string{"[name=a]", "[name=b]"}, "", nil},
		{"an element beyond the manifest takes the first that is left", containers, observer.List{Elements: nodes(3)},
			named("b"), named("x", "b", "y"), []int{1, 0, 2}, nil, []string{"[name=b]", "[name=x]", "[name=y]"}, "", nil},
		{"a manifest element without a schema is free", containers, observer.List{Elements: nodes(1)},
			named("a", "b"), named("b", "a"), []int{1}, []int{0}, []string{"[name=a]"}, "", nil},
		{"a set is paired by value", finalizers, observer.List{Elements: nodes(2)},
			[]any{"a", "b"}, []any{"b", "c", "a"}, []int{2, 0}, []int{1}, []string{"[=a]", "[=b]"}, "", nil},
		{"any other list is paired by position", nil, observer.List{Elements: nodes(2)},
			named("a", "b"), named("b"), []int{0, -1}, nil, []string{"[0]", "[1]"}, "", nil},
		{"the schema sets the keys", nil, observer.List{Elements: nodes(2), Keys: []string{"name"}},
			named("a", "b"), named("b", "a"), []int{1, 0}, nil, []string{"[name=a]", "[name=b]"}, "", nil},
		{"duplicates of free elements are ignored", containers, observer.List{Elements: nodes(1)},
			named("a"), named("b", "a", "b"), []int{1}, []int{0, 2}, []string{"[name=a]"}, "", nil},
		{"the first of several duplicates is held", containers, observer.List{Elements: nodes(2)},
			named("a", "b"), named("b", "a", "b", "b"), []int{1, 0}, nil, []string{"[name=a]", "[name=b]"},
			"elements 0 and 2 of the live list are both [name=b]: only the first is held, and the second gets the same values until it is removed",
			[]observer.Surplus{{Live: 2, Of: 1}, {Live: 3, Of: 1}}},
		{"twice in the manifest, the second is the second", containers, observer.List{Elements: nodes(3)},
			named("a", "a", "a"), named("x", "a", "a"), []int{1, 2, -1}, []int{0}, []string{"[name=a]", "[name=a,#2]", "[name=a,#3]"}, "", nil},
		{"twice in the manifest, the first is gone", containers, observer.List{Elements: nodes(2)},
			[]any{map[string]any{"name": "a", "x": 1}, map[string]any{"name": "a", "x": 2}}, []any{map[string]any{"name": "a", "x": 2}},
			[]int{-1, 0}, nil, []string{"[name=a]", "[name=a,#2]"}, "", nil},
		{"twice in the manifest, and one before them", containers, observer.List{Elements: nodes(2)},
			[]any{map[string]any{"name": "a", "x": 1}, map[string]any{"name": "a", "x": 2}},
			[]any{map[string]any{"name": "a", "x": 3}, map[string]any{"name": "a", "x": 1}, map[string]any{"name": "a", "x": 2}},
			[]int{1, 2}, nil, []string{"[name=a]", "[name=a,#2]"},
			"elements 2 and 0 of the live list are both [name=a]: only the first is held, and the second gets the same values until it is removed",
			[]observer.Surplus{{Live: 0, Of: 1}}},
		{"elements without their key are taken in their order", containers, observer.List{Elements: nodes(2)},
			[]any{map[string]any{"x": 1}, map[string]any{"name": "a"}}, []any{map[string]any{"name": "a"}, map[string]any{}}, []int{1, 0}, nil,
			[]string{"[0]", "[name=a]"}, "", nil},
		{"no element is learned while a held one is missing", containers, observer.List{Elements: nodes(2)},
			named("a"), named("b"), []int{-1, -1}, []int{0}, []string{"[name=a]", "[1]"}, "", nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			p := row.list.Pair(row.kind, row.desired, row.live, len(row.desired))
			assert.Equal(t, row.pairs, p.Live)
			assert.Equal(t, row.free, p.Free())
			labels := make([]string, len(p.Live))
			for i := range labels {
				labels[i] = p.Label(i)
			}
			assert.Equal(t, row.labels, labels)
			assert.Equal(t, row.surplus, p.Surplus)
			assert.Equal(t, row.warning, p.Warning)
		})
	}
}

func TestADefaultedKeyIsPartOfTheIdentity(t *testing.T) {
	ports := kinds.Builtin(schema.GroupVersionKind{Version: "v1", Kind: "Service"}).Field("spec").Field("ports")
	list := observer.List{Elements: nodes(1)}
	p := list.Pair(ports, []any{map[string]any{"port": int64(53)}}, []any{
		map[string]any{"port": int64(53), "protocol": "UDP"}, map[string]any{"port": 53.0, "protocol": "TCP"},
	}, 1)
	assert.Equal(t, []int{1}, p.Live)
	assert.Equal(t, "[port=53,protocol=TCP]", p.Label(0))
}

func TestAKeyThatIsNotObservedIsFree(t *testing.T) {
	ports := kinds.Builtin(schema.GroupVersionKind{Version: "v1", Kind: "Service"}).Field("spec").Field("ports")
	observes := func(names ...string) *observer.Node {
		node := &observer.Node{Shape: observer.Map}
		for _, name := range names {
			node.Fields = append(node.Fields, observer.Field{Name: name, Node: &observer.Node{}})
		}
		return node
	}
	port := func(port int64, protocol string) any { return map[string]any{"port": port, "protocol": protocol} }
	byPort, byBoth, place := observes("port"), observes("port", "protocol"), observes()
	rows := []struct {
		name          string
		elements      []*observer.Node
		desired, live []any
		pairs         []int
	}{
		{"another protocol", []*observer.Node{byPort}, []any{port(80, "TCP")}, []any{port(80, "UDP")}, []int{0}},
		{"both protocols", []*observer.Node{byPort}, []any{port(80, "TCP")}, []any{port(80, "UDP"), port(80, "TCP")}, []int{1}},
		{"two other protocols", []*observer.Node{byPort}, []any{port(80, "TCP")}, []any{port(80, "UDP"), port(80, "SCTP")}, []int{0}},
		{"one element observes both", []*observer.Node{byPort, byBoth}, []any{port(80, "TCP"), port(443, "TCP")},
			[]any{port(443, "TCP"), port(80, "UDP")}, []int{1, 0}},
		{"all observe both", []*observer.Node{byBoth}, []any{port(80, "TCP")}, []any{port(80, "UDP")}, []int{-1}},
		{"a place observes nothing", []*observer.Node{place, byPort}, []any{port(80, "TCP"), port(443, "TCP")},
			[]any{port(80, "UDP"), port(443, "UDP")}, []int{0, 1}},
		{"none observes a key", []*observer.Node{observes("name")}, []any{port(80, "TCP")}, []any{port(80, "UDP")}, []int{-1}},
		{"the manifest has a port twice", []*observer.Node{byPort, byPort}, []any{port(53, "TCP"), port(53, "UDP")},
			[]any{port(53, "UDP"), port(53, "SCTP")}, []int{-1, 0}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			list := observer.List{Elements: row.elements}
			p := list.Pair(ports, row.desired, row.live, len(row.desired))
			assert.Equal(t, row.pairs, p.Live)
			assert.Equal(t, "[port=80,protocol=TCP]", strings.Replace(p.Label(0), "53", "80", 1), "its name does not change")
		})
	}
}
