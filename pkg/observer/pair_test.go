package observer_test

import (
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
	}{
		{"an associative list goes by its keys", containers, observer.List{Elements: nodes(2)},
			named("a", "b"), named("x", "b", "a"), []int{2, 1}, []int{0}, []string{"[name=a]", "[name=b]"}, ""},
		{"an element that is not there has no partner", containers, observer.List{Elements: nodes(2)},
			named("a", "b"), named("b"), []int{-1, 0}, nil, []string{"[name=a]", "[name=b]"}, ""},
		{"an element beyond the manifest takes the first that is left", containers, observer.List{Elements: nodes(3)},
			named("b"), named("x", "b", "y"), []int{1, 0, 2}, nil, []string{"[name=b]", "[name=x]", "[name=y]"}, ""},
		{"what the manifest has and the schema does not speak of is free", containers, observer.List{Elements: nodes(1)},
			named("a", "b"), named("b", "a"), []int{1}, []int{0}, []string{"[name=a]"}, ""},
		{"a set goes by its values", finalizers, observer.List{Elements: nodes(2)},
			[]any{"a", "b"}, []any{"b", "c", "a"}, []int{2, 0}, []int{1}, []string{"[=a]", "[=b]"}, ""},
		{"any other list goes by position", nil, observer.List{Elements: nodes(2)},
			named("a", "b"), named("b"), []int{0, -1}, nil, []string{"[0]", "[1]"}, ""},
		{"the schema may say what the keys are", nil, observer.List{Elements: nodes(2), Keys: []string{"name"}},
			named("a", "b"), named("b", "a"), []int{1, 0}, nil, []string{"[name=a]", "[name=b]"}, ""},
		{"duplicate live keys fall back to position", containers, observer.List{Elements: nodes(1)},
			named("a"), named("b", "b"), []int{0}, []int{1}, []string{"[0]"},
			"elements 0 and 1 of the live list are both [name=b]: its elements are taken by position"},
		{"duplicate desired keys fall back to position", containers, observer.List{Elements: nodes(1)},
			named("a", "a"), named("b"), []int{0}, nil, []string{"[0]"},
			"elements 0 and 1 of the desired list are both [name=a]: its elements are taken by position"},
		{"missing keys fall back to position", containers, observer.List{Elements: nodes(1)},
			named("a"), []any{map[string]any{}}, []int{0}, nil, []string{"[0]"},
			"element 0 of the live list lacks its key (name): its elements are taken by position"},
		{"elements that are no maps fall back to position", containers, observer.List{Elements: nodes(1)},
			named("a"), []any{"a"}, []int{0}, nil, []string{"[0]"},
			"element 0 of the live list lacks its key (name): its elements are taken by position"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			p := row.list.Pair(row.kind, row.desired, row.live)
			assert.Equal(t, row.pairs, p.Live)
			assert.Equal(t, row.free, p.Free)
			assert.Equal(t, row.labels, p.Labels)
			assert.Equal(t, row.warning, p.Warning)
		})
	}
}

func TestADefaultedKeyIsPartOfTheIdentity(t *testing.T) {
	ports := kinds.Builtin(schema.GroupVersionKind{Version: "v1", Kind: "Service"}).Field("spec").Field("ports")
	list := observer.List{Elements: nodes(1)}
	p := list.Pair(ports, []any{map[string]any{"port": int64(53)}}, []any{
		map[string]any{"port": int64(53), "protocol": "UDP"}, map[string]any{"port": 53.0, "protocol": "TCP"},
	})
	assert.Equal(t, []int{1}, p.Live)
	assert.Equal(t, []string{"[port=53,protocol=TCP]"}, p.Labels)
}
