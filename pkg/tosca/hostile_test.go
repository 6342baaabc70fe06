package tosca_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/tosca"
)

// nodesOf returns many node templates, each with its index.
func nodesOf(n int, format string) string {
	var text strings.Builder
	text.WriteString(header + "topology_template:\n  node_templates:\n")
	for i := range n {
		text.WriteString("    " + strings.NewReplacer("#+", fmt.Sprint(i+1), "#", fmt.Sprint(i)).Replace(format) + "\n")
	}
	return text.String()
}

const kubernetesNode = "n#: {type: tosca.nodes.indigo.KubernetesObject, properties: {spec: "

// Without limits, these inputs would cost far more than their size. Each must fail, with at most 100 MiB
// allocated.
func TestHostileInputs(t *testing.T) {
	const megabytes = 100 << 20
	bomb := header + "metadata:\n  a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i, name := range strings.Split("bcdefghij", "") {
		before := string("abcdefghi"[i])
		bomb += fmt.Sprintf("  %s: &%s [*%s, *%s, *%s, *%s, *%s, *%s, *%s, *%s, *%s, *%s]\n", name, name, before, before, before, before, before, before, before, before, before, before)
	}
	imports := files{}
	for i := range 40 {
		imports[fmt.Sprintf("f%d.yaml", i)] = fmt.Sprintf("imports: [f%d.yaml]\n", i+1)
	}
	wide := header + "imports:\n"
	large, broken := files{}, files{}
	for i := range 40 {
		wide += fmt.Sprintf("- w%d.yaml\n", i)
		imports[fmt.Sprintf("w%d.yaml", i)] = "description: x\n"
		broken[fmt.Sprintf("w%d.yaml", i)] = strings.Repeat("a: b\n", 30_000) + "b"
		large[fmt.Sprintf("w%d.yaml", i)] = "description: " + strings.Repeat("x", 500_000) + "\n"
	}
	for _, row := range []struct {
		name, template string
		resolver       files
		want           string
	}{
		{"a file that is too large", header + strings.Repeat("#", 512<<10), nil, "t.yaml: the file is larger than 524288 bytes"},
		{"as many values as fit", header + "metadata: [" + strings.Repeat("a,", 130_000) + "]", nil, "the files have more than 50000 values"},
		{"as many values as fit, in one character each", header + "metadata: [" + strings.Repeat(",", 500_000) + "]", nil, "the file has more than 50000 values"},
		{"a list in a list in a list", header + "metadata: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), nil, "nested deeper than 64 levels"},
		{"a list in a list, deeper than the limit of the library", header + "metadata: " + strings.Repeat("[", 200_000), nil, ""},
		{"a map in a map in a map", header + "metadata: " + strings.Repeat("{a: ", 9000) + strings.Repeat("}", 9000), nil, "nested deeper than 64 levels"},
		{"an alias bomb", bomb, nil, "the file has more than 200000 values once its aliases are followed"},
		{"aliases that make a quarter of a million values", header + "metadata:\n  a: &a [" + strings.Repeat("x, ", 1000) + "]\n  b: [" + strings.Repeat("*a, ", 250) + "]\n", nil, "the file has more than 200000 values once its aliases are followed"},
		{"a merge bomb", strings.NewReplacer("[x, x, x, x, x, x, x, x, x, x]", "{x: 1}", ": &", ": &", "[*", "{<<: [*", "]", "]}").Replace(bomb), nil, "the file has more than 200000 values once its aliases are followed"},
		{"imports without end", header + "imports: [f0.yaml]\n", imports, "f7.yaml:1:11: imports[0]: files import each other more than 8 levels deep"},
		{"many imports", wide, imports, "t.yaml:35:3: imports[32]: more than 32 files are imported"},
		{"large imports", wide, large, "the files are larger than 4194304 bytes in total"},
		{"texts that double", nodesOf(63, kubernetesNode+"{concat: [{get_property: [n#+, spec]}, {get_property: [n#+, spec]}]}}}") + "    n63: {type: tosca.nodes.indigo.KubernetesObject, properties: {spec: aaaaaaaa}}\n", nil, "the text is larger than 1048576 bytes"},
		{"maps that double", nodesOf(63, kubernetesNode+"{a: {get_property: [n#+, spec]}, b: {get_property: [n#+, spec]}}}}") + "    n63: {type: tosca.nodes.indigo.KubernetesObject, properties: {spec: {a: b}}}\n", nil, "the value is larger than 1048576 bytes"},
		{"properties that refer to each other", nodesOf(200, kubernetesNode+"{get_property: [n#+, spec]}}}") + "    n200: {type: tosca.nodes.indigo.KubernetesObject, properties: {spec: {a: b}}}\n", nil, "properties refer to each other more than 64 levels deep"},
		{"types without end", header + "node_types: {" + chain(300) + "}\ntopology_template: {node_templates: {a: {type: t0}}}", nil, "the type is derived more than 64 levels deep"},
		{"many manifests", nodesOf(501, kubernetesNode+"{apiVersion: v1, kind: Secret, metadata: {name: a}}}}"), nil, "there are more than 500 manifests"},
		{"many manifests in one spec", withSpec("{}", "'"+strings.Repeat("{apiVersion: v1, kind: Secret, metadata: {name: a}}\n\n        ---\n\n        ", 600)+"'"), nil, "there are more than 500 manifests"},

		{"many requirements", nodesOf(4000, "n#: {type: tosca.nodes.indigo.KubernetesObject, requirements: [{dependency: n#+}, {dependency: n#+}, {dependency: n#+}]}"), nil, "t.yaml"},
		{"a pattern and a text for it", withSpec("{i: {type: string, default: "+strings.Repeat("a", 200_000)+", constraints: [{pattern: '("+strings.Repeat("a?", 100)+"){50}'}]}}", "{}"), nil, "evaluating the template takes more than 100000 steps"},
		{"a pattern that is too long", withSpec("{i: {type: string, default: a, constraints: [{pattern: '"+strings.Repeat("a", 1025)+"'}]}}", "{}"), nil, "the pattern is longer than 1024 bytes"},
		{"a hundred mistakes", nodesOf(100, "n#: {type: foo}"), nil, "there are more than 50 errors: correct those above first"},
		{"two thousand mistakes", nodesOf(2000, "n#: {type: foo}"), nil, "there are more than 50 errors: correct those above first"},
		{"large manifests", nodesOf(60, kubernetesNode+"{get_property: [b, spec]}}}") + "    b: {type: tosca.nodes.indigo.KubernetesObject, properties: {spec: {a: '" + strings.Repeat("x", 100_000) + "'}}}\n", nil, "the manifests are larger than 4194304 bytes in total"},
		{"thousands of types with thousands of mistakes", header + "node_types: {" + strings.ReplaceAll(chain(8000), "derived_from: ", "derived_from: x") + "}\ntopology_template: {}", nil, "there is nothing to translate"},
		{"thousands of types in a chain", header + "node_types: {" + chain(8000) + "}\ntopology_template: {node_templates: {a: {type: t0}}}", nil, "derived more than 64 levels deep"},
		{"hundreds of values that lack thousands of fields", header + "data_types: {t: {properties: {" + repeated(4000, "p#: {type: integer, default: 1}, ") + "}}}\ntopology_template: {inputs: {i: {type: list, entry_schema: t, default: [" + strings.Repeat("{}, ", 500) + "]}}, node_templates: {a: {type: tosca.nodes.indigo.KubernetesObject}}}", nil, "evaluating the template takes more than 100000 steps"},
		{"values that lack a large field", header + "data_types: {t: {properties: {p: {type: list, default: [" + strings.Repeat("1, ", 10_000) + "]}}}}\ntopology_template: {inputs: {i: {type: list, entry_schema: t, default: [" + strings.Repeat("{}, ", 10_000) + "]}}, node_templates: {a: {type: tosca.nodes.indigo.KubernetesObject}}}", nil, "the value is larger than 1048576 bytes"},
		{"a data type that has itself twice by default", header + "data_types: {t: {properties: {a: {type: t, default: {}}, b: {type: t, default: {}}}}}\ntopology_template: {inputs: {i: {type: t, default: {}}}, node_templates: {a: {type: tosca.nodes.indigo.KubernetesObject}}}", nil, "evaluating the template takes more than 100000 steps"},
		{"a type of thousands of properties, and thousands of types derived from it", header + "node_types:\n  t: {derived_from: tosca.nodes.indigo.KubernetesObject, properties: {" + repeated(4000, "p#: {required: no}, ") + "}}\n" + repeated(2000, "  t#: {derived_from: t}\n") + "topology_template:\n  node_templates:\n" + repeated(2000, "    n#: {type: t#}\n"), nil, "evaluating the template takes more than 100000 steps"},
		{"thousands of nodes of a type of thousands of properties", header + "node_types:\n  t: {derived_from: tosca.nodes.indigo.KubernetesObject, properties: {" + repeated(4000, "p#: {required: no}, ") + "}}\ntopology_template:\n  node_templates:\n" + repeated(2000, "    n#: {type: t, properties: {spec: {apiVersion: v1, kind: Secret, metadata: {name: a}}}}\n"), nil, "evaluating the template takes more than 100000 steps"},
		{"thousands of nodes with thousands of unknown requirements", nodesOf(4000, "n#: {type: tosca.nodes.indigo.KubernetesObject, requirements: [{dependency: m#}]}"), nil, "there is no node template"},
		{"thousands of unknown keys", header + "topology_template:\n" + repeated(20_000, "  k#: 1\n"), nil, "unknown key"},
		{"many values against many valid values", withSpec("{i: {type: list, default: ["+repeated(10_000, "v#, ")+"], entry_schema: {type: string, constraints: [{valid_values: ["+repeated(10_000, "w#, ")+"v9999]}]}}}", "{}"), nil, ""},
		{"many patterns that are large", withSpec("{"+repeated(400, "i#: {type: string, default: a, constraints: [{pattern: '#("+strings.Repeat("a?", 9)+"){600}'}]}, ")+"}", "{}"), nil, "the patterns of the template are too large in total"},
		{"large imports that are not valid YAML", wide, broken, "w1.yaml:30001:1: "},
		{"thousands of tokens", withSpec("{i: {type: string, default: '"+strings.Repeat("a.", 50_000)+"'}}", "{a: ["+strings.Repeat("{token: [{get_input: i}, ., 0]}, ", 500)+"]}"), nil, "evaluating the template takes more than 100000 steps"},
		{"thousands of separators", withSpec("{i: {type: string, default: '"+strings.Repeat("a", 50_000)+"'}}", "{a: {token: [{get_input: i}, '"+strings.Repeat("é", 5000)+"', 0]}}"), nil, "evaluating the template takes more than 100000 steps"},
		{"thousands of constraints for thousands of values", header + "data_types: {t: {derived_from: string, constraints: [" + strings.Repeat("{min_length: 0}, ", 4000) + "]}}\ntopology_template: {inputs: {i: {type: list, entry_schema: t, default: [" + strings.Repeat("a, ", 4000) + "]}}, node_templates: {a: {type: tosca.nodes.indigo.KubernetesObject}}}", nil, "evaluating the template takes more than 100000 steps"},
		{"thousands of entries in thousands of others", strings.Replace(header, "simple_yaml_1_3", "2_0", 1) + "service_template: {node_templates: {a: {type: tosca.nodes.indigo.KubernetesObject, properties: {spec: {a: {$union: [[" + repeated(10_000, "a#, ") + "], [" + repeated(10_000, "b#, ") + "]]}}}}}}", nil, "evaluating the template takes more than 100000 steps"},
		{"a huge manifest of little values", nodesOf(1, kubernetesNode+"{concat: ["+strings.Repeat("{get_property: [b, spec]}, ", 60)+"]}}}") + "    b: {type: tosca.nodes.indigo.KubernetesObject, properties: {spec: \"[" + strings.Repeat(",", 16000) + "\"}}\n", nil, "the manifests have too many values in total"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var err error
			var result tosca.Result
			allocated := allocatedBy(func() {
				result, err = translate(t, row.template, tosca.Options{Resolver: row.resolver})
			})
			require.Error(t, err)
			assert.ErrorContains(t, err, row.want)
			assert.LessOrEqual(t, len(tosca.Errors(err)), 51)
			assert.LessOrEqual(t, result.Steps, 100_000)
			assert.Less(t, allocated, uint64(megabytes))
			validated := allocatedBy(func() {
				_, err = tosca.Validate(t.Context(), source(row.template), nil, tosca.Options{Resolver: row.resolver})
			})
			assert.LessOrEqual(t, len(tosca.Errors(err)), 51)
			assert.Less(t, validated, uint64(megabytes))
			t.Logf("%d KiB, %d steps", allocated>>10, result.Steps)
		})
	}
}

func chain(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "t%d: {derived_from: t%d}, ", i, i+1)
	}
	return text.String()
}

// repeated repeats a text n times, and replaces # with the index.
func repeated(n int, format string) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return text.String()
}

// allocatedBy returns the number of bytes that a call allocates, including those freed again.
func allocatedBy(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
