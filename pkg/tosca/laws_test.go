package tosca_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "holdfast.dev/holdfast/internal/repeatable"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/tosca"
)

// A spec that is a map is equivalent to its text as read by package manifest.
func TestAMapIsReadAsAManifestIs(t *testing.T) {
	for _, scalar := range words("a yes No on off y 1 0644 0o17 0x1F 0b11 1_000 08 1.0 1.5 1e3 -0 +1 ~ null true FALSE " +
		"2020-01-01 12:30:45 .5 '1' \"yes\" !!str|1 !!int|1 !!float|1 !!bool|true = <<") {
		scalar = strings.ReplaceAll(scalar, "|", " ")
		object := "{apiVersion: v1, kind: Secret, metadata: {name: a}, x: " + scalar + ", y: [" + scalar + "]}"
		t.Run(scalar, func(t *testing.T) {
			want, err := manifest.Read("", []byte(object))
			require.NoError(t, err)
			asMap, err := translate(t, withSpec("{}", object), tosca.Options{})
			require.NoError(t, err)
			asText, err := translate(t, withSpec("{}", quoted(object)), tosca.Options{})
			require.NoError(t, err)
			assert.Equal(t, want[0].Value, asMap.Objects[0])
			assert.Equal(t, want[0].Value, asText.Objects[0])
		})
	}
}

func words(text string) []string { return strings.Fields(text) }

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// The requirements of a node precede it, and a template without requirements keeps its order.
func TestOrderLaw(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(r, "nodes")
		names := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}[:n]).Draw(r, "order")
		before := map[string][]string{}
		var template strings.Builder
		template.WriteString(header + "topology_template:\n  node_templates:\n")
		for _, i := range names {
			var requirements []string
			for j := range i { // requires only lower indexes, to avoid loops
				if rapid.Bool().Draw(r, "requires") {
					requirements = append(requirements, fmt.Sprintf("{dependency: n%d}", j))
					before[fmt.Sprintf("n%d", i)] = append(before[fmt.Sprintf("n%d", i)], fmt.Sprintf("n%d", j))
				}
			}
			fmt.Fprintf(&template, "    n%d: {type: tosca.nodes.indigo.KubernetesObject, requirements: [%s], properties: {spec: {apiVersion: v1, kind: Secret, metadata: {name: n%d}}}}\n", i, strings.Join(requirements, ", "), i)
		}
		result, err := tosca.Translate(t.Context(), source(template.String()), nil, tosca.Options{})
		require.NoError(r, err)
		position, sorted := map[string]int{}, []string{}
		for i, object := range result.Objects {
			name := object["metadata"].(map[string]any)["name"].(string)
			position[name], sorted = i, append(sorted, name)
		}
		require.Len(r, sorted, n)
		for name, earlier := range before {
			for _, one := range earlier {
				require.Less(r, position[one], position[name])
			}
		}
		if len(before) == 0 {
			for i, name := range names {
				require.Equal(r, fmt.Sprintf("n%d", name), sorted[i])
			}
		}
	})
}

// seeds adds all templates of the tests to the corpus.
func seeds(f *testing.F) {
	f.Helper()
	templates, err := filepath.Glob(filepath.Join(goldenRoot, "*", "template.yaml"))
	require.NoError(f, err)
	require.NotEmpty(f, templates)
	for _, file := range templates {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	archive, err := txtar.ParseFile(errorsFile)
	require.NoError(f, err)
	for _, file := range archive.Files {
		if strings.HasSuffix(file.Name, ".yaml") {
			f.Add(file.Data)
		}
	}
}

// FuzzTranslate checks that Translate never panics, that each error has a position and a code, that the
// same input gives the same result, and that objects are JSON.
func FuzzTranslate(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return // other tests cover the limits
		}
		options := tosca.Options{IgnoreForeignNodes: true}
		source := tosca.Source{Name: "t.yaml", Data: data}
		result, err := tosca.Translate(t.Context(), source, nil, options)
		again, errAgain := tosca.Translate(t.Context(), source, nil, options)
		require.Equal(t, err, errAgain)
		require.Equal(t, result, again)
		_, lenient := tosca.Validate(t.Context(), source, nil, options)
		for _, fault := range tosca.Errors(lenient) {
			require.NotEqual(t, tosca.Internal, fault.Code, "it panicked")
		}
		if err == nil {
			_, err := json.Marshal(result.Objects)
			require.NoError(t, err)
			return
		}
		require.NotEmpty(t, tosca.Errors(err))
		inPart := false
		for _, fault := range tosca.Errors(err) {
			require.NotEmpty(t, fault.Code)
			require.NotEqual(t, tosca.Internal, fault.Code, "it panicked")
			require.LessOrEqual(t, fault.Line, len(data)+1)
			switch fault.Code { // the template is incomplete, or has nothing to translate
			case tosca.MissingInput, tosca.MissingRequiredKeyname, tosca.ForeignNode, tosca.LimitExceeded:
				inPart = true
			}
		}
		if !inPart {
			require.Error(t, lenient, "Validate finds what Translate finds")
		}
	})
}

// FuzzFunctions evaluates expressions that are likely to contain functions.
func FuzzFunctions(f *testing.F) {
	for _, expression := range []string{
		"{concat: [a, {get_input: s}]}", "{join: [[a, b], c]}", "{token: [a, b, 0]}", "{get_property: [SELF, spec]}",
		"{get_input: [m, k, 0]}", "{a: {get_attribute: [SELF, x]}}", "{concat: ['k:', {token: [{get_input: s}, x, {get_input: n}]}]}",
	} {
		f.Add(expression, "value", int64(1))
	}
	f.Fuzz(func(t *testing.T, expression, text string, number int64) {
		if strings.ContainsAny(expression, "\n\r#") {
			return
		}
		template := withSpec("{s: {type: string}, n: {type: integer}, m: {type: map, default: {k: [1]}}}", expression)
		inputs := map[string]tosca.Input{"s": {Value: text}, "n": {Value: number}}
		for _, strict := range []bool{false, true} {
			result, err := tosca.Translate(t.Context(), source(template), inputs, tosca.Options{Raw: true, StrictConcat: strict})
			for _, fault := range tosca.Errors(err) {
				require.NotEqual(t, tosca.Internal, fault.Code, "it panicked")
			}
			require.LessOrEqual(t, result.Steps, 100_000)
		}
	})
}

// FuzzArchive translates archives.
func FuzzArchive(f *testing.F) {
	f.Add(zipOf(f, packed{"a.yaml", header + "imports: [b.yaml]\n"}, packed{"b.yaml", header}))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := tosca.Translate(t.Context(), tosca.Source{Name: "s", Data: append([]byte("PK\x03\x04"), data...)}, nil, tosca.Options{})
		for _, fault := range tosca.Errors(err) {
			require.NotEqual(t, tosca.Internal, fault.Code, "it panicked")
		}
	})
}

// BenchmarkTranslate translates the demo of the original system, which has two nodes. The budget is 0.5 ms
// and 200 KiB.
func BenchmarkTranslate(b *testing.B) {
	data, err := os.ReadFile(filepath.Join(goldenRoot, "a-value-after-a-key-gets-a-space", "template.yaml"))
	require.NoError(b, err)
	source := tosca.Source{Name: "template.yaml", Data: data}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tosca.Translate(b.Context(), source, nil, tosca.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// The budget of BenchmarkTranslate that is independent of the machine. The race detector drops pooled buffers at
// random, which adds a tenth.
func TestATranslationAllocatesLittle(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(goldenRoot, "a-value-after-a-key-gets-a-space", "template.yaml"))
	require.NoError(t, err)
	const runs = 20
	allocated := allocatedBy(func() {
		for range runs {
			_, err = tosca.Translate(t.Context(), tosca.Source{Data: data}, nil, tosca.Options{})
		}
	})
	require.NoError(t, err)
	assert.Less(t, allocated/runs, uint64(256<<10))
}
