package tosca_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/tosca"
)

// network contains a manifest and the descriptor of a network function.
const network = `node_types:
  acme.VNF: {derived_from: tosca.nodes.nfv.VNF, properties: {provider: {type: string, default: Acme}, extensions: {type: acme.Extensions, required: false}}}
data_types:
  acme.Extensions: {derived_from: tosca.datatypes.nfv.VnfInfoModifiableAttributesExtensions, properties: {level: {type: integer}}}
topology_template:
  substitution_mappings: {node_type: acme.VNF}
  node_templates:
    vnf: {type: acme.VNF, properties: {extensions: {level: 1, other: 2}, flavour_id: small}}
    vdu: {type: tosca.nodes.nfv.Vdu.Compute, properties: {name: VDU}, requirements: [virtual_storage: disk]}
    disk: {type: tosca.nodes.nfv.Vdu.VirtualBlockStorage}
    names:
      type: tosca.nodes.indigo.KubernetesObject
      properties:
        spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {provider: {get_property: [vnf, provider]}, vdu: {get_property: [vdu, name]}}}
  policies:
  - levels: {type: tosca.policies.nfv.InstantiationLevels, properties: {levels: {}}}
`

// Only the names of the types of network functions are known. Many templates import the files of SOL 001 by
// a path that does not exist.
func TestTypesOfNetworkFunctions(t *testing.T) {
	const nfv = "tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0\n"
	resolver := files{"Definitions/etsi_nfv_sol001_vnfd_types.yaml": "node_types: {tosca.nodes.nfv.VNF: {derived_from: tosca.nodes.indigo.KubernetesObject, properties: {spec: {type: map, default: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}}}}\n"}
	for _, row := range []struct{ name, head, topology, want string }{
		{"without an import", header, network, ""},
		{"a file that is not there", header + "imports: [etsi_nfv_sol001_common_types.yaml, types/etsi_nfv_sol001_vnfd_types.yaml]\n", network, ""},
		{"a URL", header + "imports: ['https://forge.etsi.org/rep/nfv/SOL001/raw/v2.6.1/etsi_nfv_sol001_vnfd_types.yaml']\n", network, ""},
		{"a URL of a copy", header + "imports: [{url: 'https://example.com/sol001/v3.3.1/etsi_nfv_sol001_vnfd_types.yaml'}]\n", network, ""},
		{"a profile", header + "imports: [{profile: etsi_nfv_sol001_vnfd_types}]\n", network, ""},
		{"with a prefix", header + "imports: [{file: etsi_nfv_sol001_vnfd_types.yaml, namespace_prefix: etsi}]\n", strings.ReplaceAll(network, "type: tosca.nodes.nfv", "type: etsi:tosca.nodes.nfv"), ""},
		{"the profile for network functions", nfv, strings.ReplaceAll(network, "Vdu.Compute", "VDU"), ""},
		{"the same by name", header + "imports: [tosca_simple_profile_for_nfv_1_0_0]\n", network, ""},
		{"a file that is there", header + "imports: [Definitions/etsi_nfv_sol001_vnfd_types.yaml]\n", network, `acme.VNF has no property "flavour_id"`},
		{"another file that is not there", header + "imports: [etsi_nfv.yaml]\n", network, "etsi_nfv.yaml: not found"},
		{"another type that is not known", header, strings.ReplaceAll(network, "nfv.Vdu.Compute", "Vdu.Compute"), `the node type "tosca.nodes.Vdu.Compute" is not known`},
	} {
		t.Run(row.name, func(t *testing.T) {
			result, err := translate(t, row.head+row.topology, tosca.Options{Resolver: resolver, IgnoreForeignNodes: true})
			if row.want != "" {
				assert.ErrorContains(t, err, row.want)
				return
			}
			require.NoError(t, err)
			require.Len(t, result.Objects, 1)
			assert.Equal(t, map[string]any{"provider": "Acme", "vdu": "VDU"}, result.Objects[0]["data"])
		})
	}
}

// TOSCA 2.0 defines the normative types in a profile.
func TestTheSimpleProfile(t *testing.T) {
	const topology = `node_types: {App: {derived_from: SoftwareComponent, properties: {port: {type: PortDef}}}}
service_template:
  node_templates:
    machine: {type: Compute, capabilities: {os: {properties: {type: linux}}}}
    app: {type: App, properties: {port: 80}, requirements: [host: machine]}
    port: {type: holdfast.nodes.KubernetesObject, properties: {spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {port: {$get_property: [app, port]}, os: {$get_property: [machine, os, type]}}}}}
`
	const version = "tosca_definitions_version: tosca_2_0\n"
	for _, row := range []struct{ name, imports, topology string }{
		{"by its name", "imports: [profile: 'org.oasis-open.simple:2.0']\n", topology},
		{"by another name", "imports: [profile: 'org.oasis-open.tosca.simple:2.0']\n", topology},
		{"with a namespace", "imports: [{profile: 'org.oasis-open.simple:2.0', namespace: s}]\n", strings.NewReplacer("Compute", "s:Compute", "Software", "s:Software", "PortDef", "s:PortDef").Replace(topology)},
		{"without an import", "", topology},
	} {
		t.Run(row.name, func(t *testing.T) {
			result, err := translate(t, version+row.imports+row.topology, tosca.Options{IgnoreForeignNodes: true})
			require.NoError(t, err)
			assert.Equal(t, map[string]any{"port": int64(80), "os": "linux"}, result.Objects[0]["data"])
		})
	}
}

// Translations share the profile, which they must not change.
func TestTranslationsShareTheProfile(t *testing.T) {
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 4 {
				_, err := translate(t, header+network, tosca.Options{IgnoreForeignNodes: true})
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
}
