package observer_test

import (
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

func TestParsePath(t *testing.T) {
	rows := []struct{ name, typed, canonical string }{
		{"the root", "", ""},
		{"fields", "spec.replicas", "spec.replicas"},
		{"a key in quotes", "metadata.labels['app.kubernetes.io/name']", "metadata.labels['app.kubernetes.io/name']"},
		{"quotes that are not needed", "spec['replicas']", "spec.replicas"},
		{"a key that needs quotes", "data.größe", "data['größe']"},
		{"an escaped quote", `data['it\'s'].x`, `data['it\'s'].x`},
		{"an escaped backslash", `data['a\\'].x`, `data['a\\'].x`},
		{"a bracket in a key", "data['a[0]']", "data['a[0]']"},
		{"a position", "spec.args[0]", "spec.args[0]"},
		{"keys", "spec.ports[port=80,protocol=TCP].targetPort", "spec.ports[port=80,protocol=TCP].targetPort"},
		{"the second with its keys", "env[name=A,#2].value", "env[name=A,#2].value"},
		{"a value of a set", "metadata.finalizers[=example.com/x]", "metadata.finalizers[=example.com/x]"},
		{"a value in quotes", `env[name="a,b"]`, `env[name="a,b"]`},
		{"a value in quotes that are not needed", `env[name="web"]`, "env[name=web]"},
		{"a text that looks like a number", `env[name="80"]`, `env[name="80"]`},
		{"an empty value", "env[name=]", "env[name=]"},
		{"a list in a list", "a[0][1].b", "a[0][1].b"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			path, err := observer.ParsePath(row.typed)
			require.NoError(t, err)
			assert.Equal(t, row.canonical, path.String())
		})
	}
}

func TestParsePathRefuses(t *testing.T) {
	for _, text := range []string{
		".", "a.", "a..b", "a[", "a[]", "a[x]", "a[-1]", "a[name=x", "a['b", "a]b", "a'b", "a[0]b", "a[name=x,#1]", `a[name="x]`, "a[name=x,]", "a[name=x,#2", "a[+5]",
	} {
		_, err := observer.ParsePath(text)
		assert.Error(t, err, text)
	}
}

func TestParsingThePathsTextGivesThePath(t *testing.T) {
	key := rapid.SampledFrom([]any{"a", "", "a,b", "a=b", `a"]`, "#2", "80", "true", "null", "-", "1e3", int64(80), 1.5, true, "a.b/c", "ü", `\`})
	rapid.Check(t, func(t *rapid.T) {
		var path *observer.Path
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				path = path.Field(rapid.String().Draw(t, "field"))
			case 1:
				path = path.Field(rapid.SampledFrom([]string{"a", "a.b", "it's", `a\`, `'`, `\'`, "a]", "['x']", ""}).Draw(t, "odd field"))
			default:
				elements := []any{}
				for range rapid.IntRange(1, 3).Draw(t, "elements") {
					elements = append(elements, map[string]any{"name": key.Draw(t, "name"), "a=b": key.Draw(t, "other")})
				}
				list := observer.List{Keys: []string{"name", "a=b"}}
				labels := list.Labels(nil, elements)
				path = path.Element(rapid.SampledFrom(labels).Draw(t, "element"), -1)
			}
		}
		samePath(t, path)
	})
}

// A path of a document has the same text, which gives the same path.
func TestPathsOfDocumentsHaveTheSameText(t *testing.T) {
	key := rapid.SampledFrom([]string{"a", "a.b", "it's", `a\`, `'`, `\'`, `"`, "a]", "['x']", "", "0", "-", "größe", "app.kubernetes.io/name"})
	rapid.Check(t, func(t *rapid.T) {
		var path *observer.Path
		var document manifest.Path
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "element") {
				i := rapid.IntRange(0, 12).Draw(t, "position")
				path, document = path.Element(fmt.Sprintf("[%d]", i), i), append(document, i)
				continue
			}
			name := key.Draw(t, "field")
			path, document = path.Field(name), append(document, name)
		}
		require.Equal(t, path.String(), document.String())
	})
}

func TestElementsOfASetHaveDifferentNames(t *testing.T) {
	set := observer.List{}
	labels := set.Labels(&kinds.Node{List: kinds.Set}, []any{"80", int64(80), "true", true, "a", "a", ""})
	assert.Equal(t, []string{`[="80"]`, "[=80]", `[="true"]`, "[=true]", "[=a]", "[=a,#2]", "[=]"}, labels)
	for _, label := range labels {
		samePath(t, (*observer.Path)(nil).Field("s").Element(label, 0))
	}
}

func samePath(t require.TestingT, path *observer.Path) {
	parsed, err := observer.ParsePath(path.String())
	require.NoError(t, err, path.String())
	require.Equal(t, path.String(), parsed.String())
	want, got := path.Chain(), parsed.Chain()
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, [2]string{want[i].Name(), want[i].Label()}, [2]string{got[i].Name(), got[i].Label()})
	}
}

// FuzzParsePath checks that ParsePath never panics. The text of a parsed path parses to the same path.
func FuzzParsePath(f *testing.F) {
	for _, text := range []string{"spec.ports[port=80,protocol=TCP].targetPort", "a['b\\'c'][0][=x,#2]", `a["k"="v\n"]`, "..", "[", "['"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := observer.ParsePath(text)
		if err == nil && utf8.ValidString(text) {
			samePath(t, path)
		}
	})
}

func TestComparingWithATypedPath(t *testing.T) {
	rows := []struct {
		name, path, typed string
		below, above      bool
	}{
		{"itself", "spec.a", "spec.a", true, false},
		{"a field below", "spec.a.b", "spec.a", true, false},
		{"a field above", "spec.a", "spec.a.b", false, true},
		{"another one", "spec.ab", "spec.a", false, false},
		{"elements left out", "containers[name=web].image", "containers.image", true, false},
		{"some left out", "containers[name=web].env[name=A].value", "containers[name=web].env.value", true, false},
		{"one of the keys", "ports[port=80,protocol=TCP].name", "ports[port=80].name", true, false},
		{"another value", "ports[port=80,protocol=TCP].name", "ports[port=81].name", false, false},
		{"the second, by its keys", "env[name=A,#2]", "env[name=A]", true, false},
		{"the second, by its number", "env[name=A]", "env[name=A,#2]", false, false},
		{"below a list as a whole", "args", "args[0]", false, true},
		{"a position", "args[1]", "args[0]", false, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			path, err := observer.ParsePath(row.path)
			require.NoError(t, err)
			typed, err := observer.ParsePath(row.typed)
			require.NoError(t, err)
			below, above := path.Compare(typed)
			assert.Equal(t, [2]bool{row.below, row.above}, [2]bool{below, above})
		})
	}
}

func TestValueAtCountsElementsWithEqualKeys(t *testing.T) {
	object := map[string]any{"env": []any{
		map[string]any{"name": "A", "value": "1"}, map[string]any{"name": "B", "value": "2"}, map[string]any{"name": "A", "value": "3"},
	}}
	for text, want := range map[string]any{"env[name=A].value": "1", "env[name=A,#2].value": "3", "env[name=A,#3].value": nil, "env[1].value": "2", "env[7].value": nil} {
		path, err := observer.ParsePath(text)
		require.NoError(t, err)
		value, ok := observer.ValueAt(object, path)
		assert.Equal(t, want, value, text)
		assert.Equal(t, want != nil, ok, text)
	}
}
