package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPosition(t *testing.T) {
	text := `# a comment
kind: Service
metadata: &meta
  name: echo
  labels: {tier: back, "a.b/c": d}
spec:
  ports:
  - port: 80
    name: http
  - *meta
  copy:
    <<: [{x: 1}, *meta]
    name: other
`
	documents, err := Read("a.yaml", []byte("---\n"+text))
	require.NoError(t, err)
	assert.Equal(t, 3, documents[0].Line)
	rows := []struct {
		name         string
		path         Path
		line, column int
	}{
		{"the document", nil, 3, 1},
		{"a key", Path{"kind"}, 3, 1},
		{"a key in a flow map", Path{"metadata", "labels", "a.b/c"}, 6, 24},
		{"an element of a list", Path{"spec", "ports", 0}, 9, 5},
		{"a key in a list", Path{"spec", "ports", 0, "name"}, 10, 5},
		{"an alias", Path{"spec", "ports", 1}, 11, 5},
		{"a key behind an alias", Path{"spec", "ports", 1, "name"}, 5, 3},
		{"a key that prevails over a merged one", Path{"spec", "copy", "name"}, 14, 5},
		{"a merged key", Path{"spec", "copy", "labels", "tier"}, 6, 12},
		{"a merged key of the first source", Path{"spec", "copy", "x"}, 13, 11},
		{"a key that is not there", Path{"spec", "type"}, 0, 0},
		{"a key below one that is not there", Path{"spec", "type", "x"}, 0, 0},
		{"an index beyond the end", Path{"spec", "ports", 2}, 0, 0},
		{"a key of a list", Path{"spec", "ports", "x"}, 0, 0},
		{"an index of a map", Path{"spec", 0}, 0, 0},
		{"a step below text", Path{"kind", "x"}, 0, 0},
		{"a step that is no step", Path{1.5}, 0, 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			line, column, known := documents[0].Position(row.path)
			assert.Equal(t, []any{row.line, row.column, row.line > 0}, []any{line, column, known})
		})
	}
}

func TestPositionInJSON(t *testing.T) {
	documents, err := Read("", []byte("\ufeff{\r\n\t\"é\": [1,\r\n  {\"b\" : null}]}  {\"c\": 1}"))
	require.NoError(t, err)
	line, column, _ := documents[0].Position(Path{"é", 1, "b"})
	assert.Equal(t, []int{3, 4}, []int{line, column})
	line, column, _ = documents[1].Position(Path{"c"})
	assert.Equal(t, []int{3, 20}, []int{line, column})
}

func TestPositionWithoutNodes(t *testing.T) {
	_, _, known := Document{Value: map[string]any{"a": "b"}}.Position(Path{"a"})
	assert.False(t, known)
}

func TestPath(t *testing.T) {
	long := make([]byte, 70_000)
	for i := range long {
		long[i] = 'k'
	}
	deep := make(Path, 600)
	for i := range deep {
		deep[i] = i
	}
	rows := []struct {
		name string
		path Path
		want string
	}{
		{"the document itself", nil, ""},
		{"keys and indexes", Path{"spec", "ports", 0, "targetPort"}, "spec.ports[0].targetPort"},
		{"keys that are no words are quoted", Path{"metadata", "labels", "a.b/c~d"}, `metadata.labels['a.b/c~d']`},
		{"quotes in a key", Path{`"'\`}, `['"\'\\']`},
		{"an empty key", Path{"a", "", "b"}, `a[''].b`},
		{"a line break in a key", Path{"a\nb"}, `['a\nb']`},
		{"an index at the top", Path{1, "a"}, "[1].a"},
		{"a long key is cut", Path{"a", string(long)}, `a['` + string(long[:80]) + `'…]`},
		{"a deep path is cut in the middle", deep,
			"[0][1][2][3][4][5][6][7][8][9][10][11]…[588][589][590][591][592][593][594][595][596][597][598][599]"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, row.path.String())
		})
	}
}

func TestExpand(t *testing.T) {
	text := `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: a}}
- apiVersion: v1
  kind: PodList
  items:
  - metadata: {name: b}
  - {apiVersion: v2, kind: Other}
---
{apiVersion: example.com/v1, kind: AllowList, spec: {items: [a]}}
---
{kind: List}
---
{kind: List, items: null}
`
	documents, err := Read("a.yaml", []byte(text))
	require.NoError(t, err)
	expanded, err := Expand(documents)
	require.NoError(t, err)
	assert.Equal(t, []map[string]any{
		{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a"}},
		{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "b"}},
		{"apiVersion": "v2", "kind": "Other"},
		{"apiVersion": "example.com/v1", "kind": "AllowList", "spec": map[string]any{"items": []any{"a"}}},
	}, values(expanded))
	var lines []int
	for _, document := range expanded {
		assert.Equal(t, "a.yaml", document.File)
		lines = append(lines, document.Line)
	}
	assert.Equal(t, []int{4, 8, 9, 11}, lines)
	line, column, _ := expanded[1].Position(Path{"metadata", "name"})
	assert.Equal(t, []int{8, 16}, []int{line, column})

	again, err := Expand(expanded)
	require.NoError(t, err)
	assert.Equal(t, expanded, again, "expanding twice is expanding once")
}

func TestExpandRejects(t *testing.T) {
	documents, err := Read("a.yaml", []byte("kind: List\nitems: {a: b}\n---\nkind: List\nitems:\n- kind: PodList\n  items:\n  - {}\n  - x\n"))
	require.NoError(t, err)
	expanded, err := Expand(documents)
	assert.EqualError(t, err, "a.yaml:2:1: items: must be a list, not a map\n"+
		"a.yaml:9:5: items[1]: must be a map with apiVersion, kind and metadata, not text")
	assert.Nil(t, expanded)
}
