package observer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

const fieldsManifest = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {team: a, app.kubernetes.io/name: web}
  annotations: {field.cattle.io/description: x, own: mine}
  finalizers: [example.com/a, example.com/b]
spec:
  replicas: 2
  selector: {matchLabels: {app: web, tier: front}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "web:1", args: [-v, -a], resources: {limits: {cpu: "1"}}, ports: [{containerPort: 80}]}
      - {name: side, image: "side:1", resources: {limits: {cpu: "2"}}}
`

// paths returns the paths of a spec.fields item.
func paths(t testing.TB, texts []string) []*observer.FieldPath {
	t.Helper()
	var all []*observer.FieldPath
	for _, text := range texts {
		path, err := observer.ParseFieldPath(text)
		require.NoError(t, err)
		all = append(all, path)
	}
	return all
}

func compile(t testing.TB, text string, hold, free []string) observer.CompileResult {
	t.Helper()
	documents, err := manifest.Read("manifest", []byte(text))
	require.NoError(t, err)
	objects, _, err := manifest.Normalize([]map[string]any{documents[0].Value}, manifest.Options{Scopes: manifest.BuiltinScopes()})
	require.NoError(t, err)
	f := &observer.Fields{Kind: objects[0].ID.Kind, Name: objects[0].ID.Name, OnlyHold: hold != nil, Hold: paths(t, hold), Free: paths(t, free)}
	return f.Compile(objects[0], observer.Context{Type: kinds.Builtin(objects[0].GVK())})
}

const open = "{observer_schema_list_min_length: 0, observer_schema_list_max_length: 0}"

func TestCompileFields(t *testing.T) {
	for _, row := range []struct {
		name       string
		hold, free []string
		want       string
	}{
		{"a single field", []string{"spec.replicas"}, nil, "spec: {replicas: observed}"},
		{"a leaf in an element, found by its key", []string{"spec.template.spec.containers[name=side].image"}, nil,
			"spec: {template: {spec: {containers: [{}, {image: observed}, " + open + "]}}}"},
		{"an element by its position", []string{".spec.template.spec.containers[1].image"}, nil,
			"spec: {template: {spec: {containers: [{}, {image: observed}, " + open + "]}}}"},
		{"a leaf in all elements", []string{"spec.template.spec.containers[*].image"}, nil,
			"spec: {template: {spec: {containers: [{image: observed}, {image: observed}, " + open + "]}}}"},
		{"an element by a key of several", []string{"spec.template.spec.containers[name=web].ports[containerPort=80,protocol=TCP].containerPort"}, nil,
			"spec: {template: {spec: {containers: [{ports: [{containerPort: observed}, " + open + "]}, " + open + "]}}}"},
		{"an element of a set by its value", []string{"metadata.finalizers[=example.com/b]"}, nil, "metadata: {finalizers: [{}, observed, " + open + "]}"},
		{"an element of a set without the sign", []string{"metadata.finalizers[example.com/a]"}, nil, "metadata: {finalizers: [observed, " + open + "]}"},
		{"a list, to which others can add", []string{"metadata.finalizers"}, nil,
			"metadata: {finalizers: [observed, observed, {observer_schema_list_min_length: 2, observer_schema_list_max_length: 0}]}"},
		{"keys in brackets and in quotes", []string{"metadata.labels[team]", "metadata.labels['app.kubernetes.io/name']", `metadata.labels["other"]`}, nil,
			"metadata: {labels: {team: observed, app.kubernetes.io/name: observed, other: learned}}"},
		{"keys with a wildcard", []string{"metadata.annotations[*.cattle.io/*]"}, nil, "metadata: {annotations: {field.cattle.io/description: observed}}"},
		{"a wildcard without a match", []string{"metadata.annotations[*.io/y]"}, nil, "{}"},
		{"quotes make a wildcard a key", []string{"metadata.annotations['*']"}, nil, `metadata: {annotations: {"*": learned}}`},
		{"a map of the manifest, leaf by leaf", []string{"spec.template.metadata"}, nil, "spec: {template: {metadata: {labels: {app: observed}}}}"},
		{"a selector is one value", []string{"spec.selector"}, nil, "spec: {selector: observed}"},
		{"but a key of it may be held", []string{"spec.selector.matchLabels.app"}, nil, "spec: {selector: {matchLabels: {app: observed}}}"},
		{"a field that is not in the manifest is learned", []string{"spec.strategy", "spec.paused"}, nil, "spec: {strategy: learned, paused: learned}"},
		{"nothing", []string{}, nil, "{}"},
		{"a held field with a free part", []string{"spec.template.metadata", "spec.replicas"}, []string{"spec.template.metadata.labels.app"}, "spec: {replicas: observed}"},
		{"held within what is free", []string{"spec.template.spec.containers[*]", "spec.template.spec.containers[0].args[0]"}, []string{"spec.template.spec.containers[*].args", "spec.template.spec.containers[name=side]"},
			"spec: {template: {spec: {containers: [{name: observed, image: observed, args: [observed, " + open + "], resources: {limits: {cpu: observed}}, ports: [{containerPort: observed}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}]}, {}, " + open + "]}}}"},
		{"of two of one length the one without wildcards", []string{"metadata.labels[team]"}, []string{"metadata.labels[*]"}, "metadata: {labels: {team: observed}}"},
		{"of two alike that of free", []string{"metadata.labels[team]"}, []string{"metadata.labels.team"}, "{}"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := compile(t, fieldsManifest, row.hold, row.free)
			assert.Empty(t, c.Faults)
			assert.Empty(t, c.Missing)
			assertEntry(t, row.want, c.Entry)
			assert.False(t, c.Entry.Default)
		})
	}
}

// assertEntry compares the fields of a schema, and checks that the schema can be written.
func assertEntry(t *testing.T, want string, entry *observer.Schema) {
	t.Helper()
	raw := entry.Raw()
	_, err := observer.ParseAll([]map[string]any{raw})
	require.NoError(t, err)
	var wanted map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(want), &wanted))
	for _, name := range []string{"apiVersion", "kind"} {
		delete(raw, name)
	}
	metadata := raw["metadata"].(map[string]any)
	delete(metadata, "name")
	if len(metadata) == 0 {
		delete(raw, "metadata")
	}
	assert.True(t, observer.Equal(wanted, raw), "want %v\ngot  %v", wanted, raw)
}

func TestFreeFieldsOfTheDefaultSchema(t *testing.T) {
	for _, row := range []struct {
		name string
		free []string
		gone []string
	}{
		{"a field", []string{"spec.replicas"}, []string{"spec.replicas"}},
		{"keys with a wildcard", []string{"metadata.annotations[*.cattle.io/*]"}, []string{"metadata.annotations['field.cattle.io/description']"}},
		{"a field of all elements", []string{"spec.template.spec.containers[*].resources"},
			[]string{"spec.template.spec.containers[0].resources.limits.cpu", "spec.template.spec.containers[1].resources.limits.cpu"}},
		{"a whole element", []string{"spec.template.spec.containers[name=side]"},
			[]string{"spec.template.spec.containers[1].image", "spec.template.spec.containers[1].name", "spec.template.spec.containers[1].resources.limits.cpu"}},
		{"a key of a selector, which is taken apart", []string{"spec.selector.matchLabels.tier"}, []string{"spec.selector"}},
		{"a key that no map has", []string{"metadata.labels[unknown]", "spec.template.spec.containers[*].env[*]"}, nil},
		{"all keys of a map, and then the map", []string{"metadata.labels[*]"}, []string{"metadata.labels.team", "metadata.labels['app.kubernetes.io/name']"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			all, c := compile(t, fieldsManifest, nil, []string{"spec.paused"}), compile(t, fieldsManifest, nil, row.free)
			assert.Empty(t, c.Faults)
			assert.Empty(t, c.Missing)
			assert.True(t, c.Entry.Default)
			var gone []string
			held := leaves(c.Entry)
			for _, path := range leaves(all.Entry) {
				if !contains(held, path) {
					gone = append(gone, path)
				}
			}
			assert.ElementsMatch(t, row.gone, gone)
			assert.Zero(t, c.Entry.Root.Field("spec").Field("template").Field("spec").Field("containers").List.Max, "other clients can add containers")
			_, err := observer.ParseAll([]map[string]any{c.Entry.Raw()})
			require.NoError(t, err)
		})
	}
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

// leaves returns the paths of all leaves of a schema.
func leaves(e *observer.Schema) (paths []string) {
	var walk func(n *observer.Node, path *observer.Path)
	walk = func(n *observer.Node, path *observer.Path) {
		switch n.Shape {
		case observer.Leaf:
			paths = append(paths, path.String())
		case observer.Map:
			for _, f := range n.Fields {
				walk(f.Node, path.Field(f.Name))
			}
		case observer.Sequence:
			for i, element := range n.List.Elements {
				walk(element, path.Element("["+string(rune('0'+i))+"]", -1))
			}
		}
	}
	walk(e.Root, nil)
	return paths
}

func TestPathsThatNameNothing(t *testing.T) {
	for _, row := range []struct{ name, path, want string }{
		{"a mistyped field", "spec.replcas", "neither the manifest nor apps/v1 Deployment has a field spec.replcas: did you mean spec.replicas?"},
		{"a path without its beginning", "replicas", "neither the manifest nor apps/v1 Deployment has a field replicas: did you mean spec.replicas?"},
		{"a field of an element", "spec.template.spec.containers[name=web].imag", "neither the manifest nor apps/v1 Deployment has a field spec.template.spec.containers[name=web].imag: did you mean spec.template.spec.containers[name=web].image?"},
		{"an element that is not there", "spec.template.spec.containers[name=wbe].image", "spec.template.spec.containers of the manifest has no element [name=wbe]: did you mean [name=web]?"},
		{"a position beyond the list", "spec.template.spec.containers[2]", "there is no element [2]: spec.template.spec.containers of the manifest has 2"},
		{"no element", "spec.template.spec.containers[web].image", "spec.template.spec.containers is a list, and [web] is not an element: write [0], [name=web] or [=value]"},
		{"a list without an element", "spec.template.spec.containers.image", "spec.template.spec.containers is a list: write spec.template.spec.containers[0] for one element, or spec.template.spec.containers[*] for all"},
		{"below a single value", "spec.replicas.x", "spec.replicas is a single value, without fields below it"},
		{"an element of a list that the manifest has not", "spec.template.spec.tolerations[0].key", "there is no element [0]: spec.template.spec.tolerations of the manifest has 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for list, c := range map[string]observer.CompileResult{"hold": compile(t, fieldsManifest, []string{row.path}, nil), "free": compile(t, fieldsManifest, nil, []string{row.path})} {
				require.Len(t, c.Missing, 1)
				assert.EqualError(t, c.Missing[0], "fields[0]."+list+"[0] (Deployment web): "+row.path+": "+row.want)
			}
		})
	}
}

func TestPathsThatAreMistakes(t *testing.T) {
	for path, want := range map[string]string{
		"metadata.uid": "belongs to the API server", "kind": "identifies the resource", "metadata.name": "identifies the resource",
	} {
		c := compile(t, fieldsManifest, []string{path}, nil)
		require.Len(t, c.Faults, 1, path)
		assert.Contains(t, c.Faults[0].Message, want)
	}
	c := compile(t, fieldsManifest, []string{"spec.strategy"}, []string{"spec.strategy.type"})
	require.Len(t, c.Faults, 1)
	assert.Contains(t, c.Faults[0].Message, "lies within spec.strategy, which the manifest does not set")
}

func TestFieldPathsThatCannotBeRead(t *testing.T) {
	for _, row := range []struct{ name, path, want string }{
		{"nothing", "", "a path is empty: write a field, such as spec.replicas"},
		{"a dot too many", "spec..replicas", `the path "spec..replicas": no field at ".replicas": write a key with other characters than letters and digits in brackets`},
		{"a bracket that is not closed", "spec.a[name=x", `the path "spec.a[name=x": [name=x is not closed by ]`},
		{"a quote that is not closed", `spec.a["x]`, `the path "spec.a[\"x]": ["x] is not closed`},
		{"nothing in brackets", "spec.a[]", `the path "spec.a[]": [] contains neither a key nor an element`},
		{"a wildcard without brackets", "metadata.labels.*", `the path "metadata.labels.*": write * in brackets: [*]`},
		{"no dot", "spec[a]b", `the path "spec[a]b": a dot is missing before "b"`},
		{"very long", strings.Repeat("a", 1<<20), "a path may have at most 4096 characters, not 1048576"},
		{"very deep", strings.Repeat("a.", 600) + "a", "a path may have at most 500 elements"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := observer.ParseFieldPath(row.path)
			require.Error(t, err)
			if row.name == "a quote that is not closed" {
				return
			}
			assert.EqualError(t, err, row.want)
		})
	}
}

func TestMatchesPattern(t *testing.T) {
	for _, row := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "x", true}, {"a*", "abc", true}, {"a*", "ba", false},
		{"*.cattle.io/*", "field.cattle.io/x", true}, {"*.cattle.io/*", "cattle.io/x", false}, {"a*b", "ab", true}, {"ab*ba", "aba", false},
		{"a**b", "axb", true}, {"*a*a*", "a", false}, {"*a*a*", "aa", true}, {"", "", true}, {"", "a", false},
	} {
		assert.Equal(t, row.want, observer.MatchesPattern(row.pattern, row.text), "%s %s", row.pattern, row.text)
	}
}

// If the kind is unknown and the manifest lacks the field, brackets denote list elements.
func TestPathsOfUnknownKinds(t *testing.T) {
	const song = "{apiVersion: example.com/v1, kind: Song, metadata: {name: a}, spec: {rythms: [bubam, badum], map: {k: v}}}"
	for path, want := range map[string]string{
		"spec.rythms[1]": "spec: {rythms: [{}, observed, " + open + "]}", "spec.map[k]": "spec: {map: {k: observed}}",
		"spec.other": "spec: {other: learned}", "spec.other['a/b']": "spec: {other: {a/b: learned}}", "spec.rythms[=bubam]": "spec: {rythms: [observed, " + open + "]}",
		"spec.other[*]": "{}",
	} {
		c := compile(t, song, []string{path}, nil)
		assert.Empty(t, c.Missing, path)
		assertEntry(t, want, c.Entry)
	}
	c := compile(t, song, []string{"spec.other[a=b].c"}, nil)
	require.Len(t, c.Missing, 1)
}

// A million characters of wildcards over a million characters of manifest are cheap.
func TestAHostileEntryCostsLittle(t *testing.T) {
	data := map[string]any{}
	for i := range 5000 {
		data[strings.Repeat("a", 200)+string(rune('a'+i%26))+strings.Repeat("b", i%50)+string(rune('a'+i/26%26))] = "v"
	}
	object := manifest.Object{ID: manifest.ID{Kind: "ConfigMap", Name: "a"}, APIVersion: "v1", Content: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": data,
	}}
	var many []string
	for range 1000 {
		many = append(many, "data["+strings.Repeat("*a", 300)+"*]", "[*][*]")
	}
	work := observer.MostFieldWork
	f := &observer.Fields{Kind: "ConfigMap", Name: "a", Free: paths(t, many)}
	c := f.Compile(object, observer.Context{Type: kinds.Builtin(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}), Work: &work})
	require.NotEmpty(t, c.Faults)
	assert.Contains(t, c.Faults[0].Message, "Use fewer wildcards")
}
