package tosca_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/tosca"
)

// A validation error is a warning if no manifest needs that part of the template. PART is replaced by the
// unneeded value, or by the needed value, which makes it an error. OBJECT is replaced by an object whose
// data is PART.
func TestUnneededPartsAreNotJudged(t *testing.T) {
	const object = "{type: tosca.nodes.indigo.KubernetesObject, properties: {spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: "
	for _, row := range []struct{ name, template, unneeded, needed, warning string }{
		{
			"an unknown key in a data type", `data_types: {acme.Ports: {properties: {name: {desription: of a port, type: string}}}}
topology_template: {inputs: {ports: {type: PART, default: {}}}, node_templates: {k: OBJECT{}}}}}}`, "map", "acme.Ports",
			"t.yaml:2:47: data_types['acme.Ports'].properties.name.desription: unknown key: did you mean description?",
		},
		{
			"an unknown key in a node type", `node_types: {acme.Web: {derived_from: PART, propertys: {}}}
topology_template: {node_templates: {w: {type: acme.Web, properties: {spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}}, k: OBJECT{}}}}}}`,
			"tosca.nodes.Root", "tosca.nodes.indigo.KubernetesObject",
			"t.yaml:2:57: node_types['acme.Web'].propertys: unknown key: did you mean properties?",
		},
		{
			"a default that breaks a constraint", `topology_template:
  inputs: {m: {type: string, default: 1 GB, constraints: [{valid_values: [2 GB, 4 GB]}]}}
  node_templates: {k: OBJECTPART}}}}`, "{}", "{m: {get_input: m}}",
			`t.yaml:3:30: inputs.m.default: value "1 GB" must be one of ["2 GB","4 GB"]`,
		},
		{
			"a default of another default", `topology_template:
  inputs: {m: {type: integer, default: one}, n: {type: string, default: {concat: [a, {get_input: m}]}}}
  node_templates: {k: OBJECTPART}}}}`, "{}", "{n: {get_input: n}}",
			`t.yaml:3:31: inputs.m.default: "one" is not an integer`,
		},
		{
			"a default that calls get_attribute", `node_types:
  t:
    derived_from: tosca.nodes.Root
    properties: {p: {type: string, default: {concat: ["P: ", {get_attribute: [SELF, a]}]}}, q: {type: string, required: false}}
topology_template:
  node_templates: {k: OBJECTPART}}}, f: {type: t, properties: {q: {get_property: [SELF, p]}}}}
  outputs: {o: {value: {get_property: [f, q]}}}`, "{}", "{q: {get_property: [f, q]}}",
			"t.yaml:5:63: node_types.t.properties.p.default.concat[1].get_attribute: needs a running deployment; not available when manifests are rendered",
		},
		{
			"an output of a node that is not there", `topology_template:
  node_templates: {k: OBJECTPART}}}}
  outputs: {o: {value: {get_attribute: [nope, ip]}}}`, "{}", "{ip: {get_attribute: [nope, ip]}}",
			`t.yaml:4:41: outputs.o.value.get_attribute[0]: there is no node template "nope"`,
		},
		{
			"an output with half a call", `topology_template:
  node_templates: {k: OBJECTPART}}}}
  outputs: {o: {value: {get_attribute: [k]}}}`, "{}", "{ip: {get_attribute: [k]}}",
			"t.yaml:4:25: outputs.o.value.get_attribute: get_attribute needs a node and an attribute: [SELF, name]",
		},
		{
			"a key that is twice in a node", `topology_template:
  node_templates:
    k: OBJECT{}}}}
    f: {type: PART, capabilities: {endpoint: {properties: {ports: 1, ports: 2}}}, properties: {spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}}`,
			"tosca.nodes.Compute", "tosca.nodes.indigo.KubernetesObject",
			`t.yaml:5:85: duplicate key "ports", first on line 5`,
		},
		{
			"a key and a requirement of a node", `topology_template:
  node_templates:
    k: OBJECT{}}}}
    f: {type: PART, requirement: [], properties: {spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}}`,
			"tosca.nodes.Compute", "tosca.nodes.indigo.KubernetesObject",
			"t.yaml:5:36: node_templates.f.requirement: unknown key: did you mean requirements?",
		},
		{
			"a profile that is not known", `imports: [{profile: 'acme:1.0'}]
topology_template: {node_templates: {k: OBJECT{}}}}, f: {type: PART}}}`, "tosca.nodes.Compute", "acme.Web",
			`t.yaml:2:11: imports[0]: unknown profile "acme:1.0": the built-in profiles are org.oasis-open.simple (1.0 to 2.0), tosca_simple_profile_for_nfv_1_0_0 and etsi_nfv_sol001_vnfd_types; import others as files, or from a CSAR`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			with := func(part string) (tosca.Result, error) {
				template := strings.NewReplacer("OBJECT", object, "PART", part).Replace(row.template)
				return translate(t, header+strings.ReplaceAll(template, "PART", part)+"\n", tosca.Options{IgnoreForeignNodes: true})
			}
			result, err := with(row.unneeded)
			require.NoError(t, err)
			assert.Len(t, result.Objects, 1)
			assert.Contains(t, texts(result.Warnings), row.warning)
			if row.needed != "" {
				_, err = with(row.needed)
				assert.ErrorContains(t, err, "t.yaml:")
			}
		})
	}
}
