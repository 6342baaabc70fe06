package tosca_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/tosca"
)

// Descriptors of network functions as they are written, in little.
const (
	vnfd = `node_types:
  acme.VNF:
    derived_from: tosca.nodes.nfv.VNF
    properties:
      descriptor_id: {type: string, constraints: [valid_values: [b1bb0ce7]], default: b1bb0ce7}
      vnfm_info: {type: list, entry_schema: {type: string}, default: [Acme]}
      modifiable_attributes: {type: acme.Attributes, required: false}
    requirements: [virtual_link_external: {capability: tosca.capabilities.nfv.VirtualLinkable}]
    interfaces: {Vnflcm: {type: tosca.interfaces.nfv.Vnflcm}}
data_types:
  acme.Attributes: {derived_from: tosca.datatypes.nfv.VnfInfoModifiableAttributes, properties: {extensions: {type: acme.Extensions}}}
  acme.Extensions: {derived_from: tosca.datatypes.nfv.VnfInfoModifiableAttributesExtensions, properties: {level: {type: integer}}}
topology_template:
  inputs: {flavour: {type: string}}
  substitution_mappings: {node_type: acme.VNF, requirements: {virtual_link_external: [cp, virtual_link]}}
  node_templates:
    vnf:
      type: acme.VNF
      properties:
        descriptor_version: "1.0"
        provider: Acme
        product_name: Shop
        software_version: "1.0"
        flavour_id: {get_input: flavour}
        flavour_description: small
        modifiable_attributes: {extensions: {level: 1}}
        vnf_profile: {instantiation_level: one, min_number_of_instances: 1, max_number_of_instances: 2}
        lcm_operations_configuration: {scale: {scaling_by_more_than_one_step_supported: true}}
        configurable_properties: {is_autoscale_enabled: false}
      interfaces: {Vnflcm: {operations: {instantiate: {implementation: script.sh, inputs: {a: {get_property: [SELF, provider]}}}}}}
    vdu:
      type: tosca.nodes.nfv.Vdu.Compute
      properties:
        name: VDU
        description: a machine
        boot_order: [disk]
        nfvi_constraints: {zone: a}
        vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 3}
        sw_image_data:
          {name: s, version: "1", checksum: {algorithm: sha-256, hash: ab}, container_format: bare, disk_format: qcow2, min_disk: 1 GB, size: 1 GB}
        boot_data: {content_or_file_data: {content: "#!/bin/sh"}}
      capabilities:
        virtual_compute:
          properties:
            virtual_cpu: {num_virtual_cpu: 2, virtual_cpu_clock: 2.4 GHz, virtual_cpu_pinning: {virtual_cpu_pinning_policy: static}}
            virtual_memory: {virtual_mem_size: 4096 MiB, numa_enabled: true}
            virtual_local_storage: [{size_of_storage: 10 GB}]
      requirements: [virtual_storage: disk]
      artifacts: {image: {type: tosca.artifacts.nfv.SwImage, file: image.qcow2}}
    disk:
      type: tosca.nodes.nfv.Vdu.VirtualBlockStorage
      properties: {virtual_block_storage_data: {size_of_storage: 1 GB, rdma_enabled: true}}
    cp:
      type: tosca.nodes.nfv.VduCp
      properties:
        layer_protocols: [ipv4]
        order: 0
        vnic_type: direct
        trunk_mode: false
        protocol:
        - associated_layer_protocol: ipv4
          address_data: [{address_type: ip_address, l3_address_data: {ip_address_assignment: false, floating_ip_activated: false}}]
        virtual_network_interface_requirements: [{support_mandatory: true, network_interface_requirements: {model: virtio}}]
      requirements: [{virtual_binding: vdu}, {virtual_link: link}]
    link:
      type: tosca.nodes.nfv.VnfVirtualLink
      properties:
        connectivity_type: {layer_protocols: [ipv4], flow_pattern: mesh}
        vl_profile:
          max_bitrate_requirements: {root: 1048576, leaf: 1048576}
          min_bitrate_requirements: {root: 1048576}
          virtual_link_protocol_data: [{associated_layer_protocol: ipv4, l3_protocol_data: {ip_version: ipv4, cidr: 10.0.0.0/24, dhcp_enabled: true}}]
  groups: {all: {type: tosca.groups.nfv.PlacementGroup, members: [vdu]}}
  policies:
  - aspects: {type: tosca.policies.nfv.ScalingAspects, properties: {aspects: {a: {name: a, description: a, max_scale_level: 2, step_deltas: [d]}}}}
  - initial: {type: tosca.policies.nfv.VduInitialDelta, properties: {initial_delta: {number_of_instances: 1}}, targets: [vdu]}
  - deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, properties: {aspect: a, deltas: {d: {number_of_instances: 1}}}, targets: [vdu]}
  - levels: {type: tosca.policies.nfv.InstantiationLevels, properties: {levels: {one: {description: one, scale_info: {a: {scale_level: 0}}}}}}
  - apart: {type: tosca.policies.nfv.AntiAffinityRule, targets: [all], properties: {scope: zone}}
`
	containers = `topology_template:
  node_templates:
    unit:
      type: tosca.nodes.nfv.Vdu.OsContainerDeployableUnit
      properties:
        {name: u, description: u, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 1}, mcio_identification_data: {name: u, type: Deployment}}
      requirements: [container: box]
    box: {type: tosca.nodes.nfv.Vdu.OsContainer, properties: {name: b, description: b, requested_cpu_resources: 500}}
    chart: {type: tosca.nodes.nfv.Mciop, requirements: [associatedVdu: unit], artifacts: {helm: {type: tosca.artifacts.nfv.HelmChart, file: a.tgz}}}
    port: {type: tosca.nodes.nfv.VirtualCp, properties: {layer_protocols: [ipv4], additionalServiceData: [{portData: [{name: p, protocol: tcp, port: 80, portConfigurable: true}]}]}, requirements: [target: unit]}
`
	nsd = `topology_template:
  node_templates:
    ns: {type: tosca.nodes.nfv.NS, properties: {descriptor_id: a, designer: a, version: a, name: a, invariant_id: a, flavour_id: a}}
    sap: {type: tosca.nodes.nfv.Sap, properties: {layer_protocols: [ethernet], role: leaf}, requirements: [external_virtual_link: vl]}
    vl: {type: tosca.nodes.nfv.NsVirtualLink, properties: {vl_profile: {max_bitrate_requirements: {root: 1}, min_bitrate_requirements: {root: 1}}, connectivity_type: {layer_protocols: [ipv4]}}}
    pnf: {type: tosca.nodes.nfv.PNF, properties: {descriptor_id: a, function_description: a, provider: a, version: a, descriptor_invariant_id: a, name: a}}
  policies: [{ns_levels: {type: tosca.policies.nfv.NsInstantiationLevels, properties: {ns_levels: {one: {description: a}}, default_level: one}}}]
`
	earlier = `topology_template:
  node_templates:
    vnf: {type: tosca.nodes.nfv.VNF, properties: {id: a, vendor: a, version: 1.0}}
    vdu: {type: tosca.nodes.nfv.VDU, capabilities: {host: {properties: {num_cpus: 2}}}}
    cp: {type: tosca.nodes.nfv.CP, requirements: [{virtualLink: vl}, {virtualBinding: vdu}]}
    vl: {type: tosca.nodes.nfv.VL, properties: {vendor: a, cidr: 10.0.0.0/24}}
    compute: {type: tosca.nodes.nfv.VDU.Compute, properties: {name: a}, capabilities: {virtual_compute: {properties: {virtual_memory: {virtual_mem_size: 1 GB}, virtual_cpu: {num_virtual_cpu: 1}}}}}
`
	docker = `topology_template:
  node_templates:
    app: {type: tosca.nodes.Container.Application.Docker, requirements: [host: runtime]}
    runtime: {type: tosca.nodes.Container.Runtime, capabilities: {host: {properties: {num_cpus: 1}}}, requirements: [host: machine]}
    machine: {type: Compute, capabilities: {os: {properties: {type: linux, version: 1.0}}, scalable: {properties: {max_instances: 2}}}}
`
)

// Many templates import the types of SOL 001 by a path at which they are not.
func TestTypesOfNetworkFunctions(t *testing.T) {
	const nfv = "tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0\n"
	resolver := files{"Definitions/etsi_nfv_sol001_vnfd_types.yaml": "node_types: {tosca.nodes.nfv.VNF: {derived_from: tosca.nodes.Root, properties: {vendor: {type: string}}}}\n"}
	for _, row := range []struct{ name, head, topology, want string }{
		{"without an import", header, vnfd, ""},
		{"a file that is not there", header + "imports: [etsi_nfv_sol001_common_types.yaml, types/etsi_nfv_sol001_vnfd_types.yaml]\n", vnfd, ""},
		{"a URL", header + "imports: ['https://forge.etsi.org/rep/nfv/SOL001/raw/v2.6.1/etsi_nfv_sol001_vnfd_types.yaml']\n", vnfd, ""},
		{"a URL of a copy", header + "imports: [{url: 'https://example.com/sol001/v3.3.1/etsi_nfv_sol001_vnfd_types.yaml'}]\n", vnfd, ""},
		{"a profile", header + "imports: [{profile: etsi_nfv_sol001_vnfd_types}]\n", vnfd, ""},
		{"with a prefix", header + "imports: [{file: etsi_nfv_sol001_vnfd_types.yaml, namespace_prefix: etsi}]\n", strings.ReplaceAll(vnfd, "type: tosca.nodes", "type: etsi:tosca.nodes"), ""},
		{"containers", header, containers, ""},
		{"a network service", header + "imports: [etsi_nfv_sol001_nsd_types.yaml, etsi_nfv_sol001_pnfd_types.yaml]\n", nsd, ""},
		{"the profile for network functions", nfv, earlier, ""},
		{"the same by name", header + "imports: [tosca_simple_profile_for_nfv_1_0_0]\n", earlier, ""},
		{"SOL 001 in that profile", nfv + "imports: [etsi_nfv_sol001_vnfd_types.yaml]\n", vnfd, ""},
		{"containers of the simple profile", header, docker, ""},
		{"a file that is there", header + "imports: [Definitions/etsi_nfv_sol001_vnfd_types.yaml]\n", vnfd, "the required property vendor is missing"},
		{"another file that is not there", header + "imports: [etsi_nfv.yaml]\n", vnfd, "etsi_nfv.yaml: not found"},
		{"a profile that is not known", header + "imports: [{profile: 'io.kubernetes:1.30'}]\n", docker, `the profile "io.kubernetes:1.30" is not known: org.oasis-open.simple (1.0 to 2.0)`},
		{"a version that there is not", header + "imports: [{profile: 'org.oasis-open.simple:3.0'}]\n", docker, `the profile "org.oasis-open.simple:3.0" is not known`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := tosca.Validate(t.Context(), source(row.head+row.topology), nil, tosca.Options{Resolver: resolver, IgnoreForeignNodes: true})
			if row.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, row.want)
		})
	}
}

// The profile that TOSCA 2.0 leaves out of its grammar must be imported.
func TestTheSimpleProfile(t *testing.T) {
	const topology = `node_types: {App: {derived_from: SoftwareComponent, properties: {port: {type: PortDef}}}}
service_template:
  node_templates:
    machine: {type: Compute, capabilities: {os: {properties: {type: linux}}}}
    app: {type: App, properties: {port: 80}, requirements: [host: machine], interfaces: {Standard: {operations: {create: a.sh}}}}
`
	const version = "tosca_definitions_version: tosca_2_0\n"
	for _, row := range []struct{ name, imports, topology, want string }{
		{"by its name", "imports: [profile: 'org.oasis-open.simple:2.0']\n", topology, ""},
		{"by another name", "imports: [profile: 'org.oasis-open.tosca.simple:2.0']\n", topology, ""},
		{"with a namespace", "imports: [{profile: 'org.oasis-open.simple:2.0', namespace: s}]\n", strings.NewReplacer("Compute", "s:Compute", "Software", "s:Software", "PortDef", "s:PortDef").Replace(topology), ""},
		{"without an import", "", topology, "TOSCA 2.0 has no type Compute without an import: import the profile org.oasis-open.simple:2.0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			result, err := tosca.Validate(t.Context(), source(version+row.imports+row.topology), nil, tosca.Options{IgnoreForeignNodes: true})
			require.NoError(t, err)
			told := strings.Join(texts(result.Warnings), "\n")
			if row.want == "" {
				assert.NotContains(t, told, "without an import")
				return
			}
			assert.Contains(t, told, row.want)
		})
	}
}

// Translations share the profiles, which they must not change.
func TestTranslationsShareTheProfiles(t *testing.T) {
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for _, topology := range []string{vnfd, containers, nsd, docker} {
				_, err := tosca.Validate(t.Context(), source(header+topology), nil, tosca.Options{IgnoreForeignNodes: true})
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
}
