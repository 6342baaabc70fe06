package tosca

// builtin are the types that need no import: the normative ones of TOSCA 1.x, and
// those of network functions. They are known by their names.
var builtin = [kinds]map[string]*definition{
	nodeTypes: named(nodeTypes, `tosca.nodes.Root tosca.nodes.Abstract.Compute tosca.nodes.Compute
		tosca.nodes.SoftwareComponent tosca.nodes.WebServer tosca.nodes.WebApplication tosca.nodes.DBMS
		tosca.nodes.Database tosca.nodes.Abstract.Storage tosca.nodes.Storage.ObjectStorage
		tosca.nodes.Storage.BlockStorage tosca.nodes.ObjectStorage tosca.nodes.BlockStorage
		tosca.nodes.Container.Runtime tosca.nodes.Container.Application
		tosca.nodes.Container.Application.Docker tosca.nodes.LoadBalancer
		tosca.nodes.network.Network tosca.nodes.network.Port tosca.nodes.indigo.KubernetesObject
		holdfast.nodes.KubernetesObject`, "tosca.nodes.nfv.", nodeNFV),
	dataTypes: named(dataTypes, `tosca.datatypes.Root tosca.datatypes.Credential tosca.datatypes.TimeInterval
		tosca.datatypes.network.NetworkInfo tosca.datatypes.network.PortInfo tosca.datatypes.network.PortSpec
		tosca.datatypes.network.PortDef tosca.datatypes.json tosca.datatypes.xml any`, "tosca.datatypes.nfv.", dataNFV),
	capabilityTypes: named(capabilityTypes, `tosca.capabilities.Root tosca.capabilities.Node tosca.capabilities.Compute
		tosca.capabilities.Network tosca.capabilities.Storage tosca.capabilities.Container tosca.capabilities.Endpoint
		tosca.capabilities.Endpoint.Public tosca.capabilities.Endpoint.Admin tosca.capabilities.Endpoint.Database
		tosca.capabilities.Attachment tosca.capabilities.OperatingSystem tosca.capabilities.Scalable
		tosca.capabilities.network.Bindable tosca.capabilities.network.Linkable tosca.capabilities.Container.Docker`, "tosca.capabilities.nfv.", capabilityNFV),
	relationshipTypes: named(relationshipTypes, `tosca.relationships.Root tosca.relationships.DependsOn
		tosca.relationships.HostedOn tosca.relationships.ConnectsTo tosca.relationships.AttachesTo
		tosca.relationships.RoutesTo tosca.relationships.network.LinksTo tosca.relationships.network.BindsTo`, "tosca.relationships.nfv.", relationshipNFV),
	artifactTypes: named(artifactTypes, `tosca.artifacts.Root tosca.artifacts.File tosca.artifacts.Deployment
		tosca.artifacts.Deployment.Image tosca.artifacts.Deployment.Image.VM tosca.artifacts.Deployment.Image.VM.ISO
		tosca.artifacts.Deployment.Image.VM.QCOW2 tosca.artifacts.Deployment.Image.Container.Docker
		tosca.artifacts.Implementation tosca.artifacts.Implementation.Bash tosca.artifacts.Implementation.Python
		tosca.artifacts.template tosca.artifacts.template.Jinja2 tosca.artifacts.template.Twig`, "tosca.artifacts.nfv.", artifactNFV),
	interfaceTypes: named(interfaceTypes, `tosca.interfaces.Root tosca.interfaces.node.lifecycle.Standard
		tosca.interfaces.relationship.Configure`, "tosca.interfaces.nfv.", interfaceNFV),
	policyTypes: named(policyTypes, `tosca.policies.Root tosca.policies.Placement tosca.policies.Scaling
		tosca.policies.Update tosca.policies.Performance`, "tosca.policies.nfv.", policyNFV),
	groupTypes: named(groupTypes, `tosca.groups.Root`, "tosca.groups.nfv.", groupNFV),
}

// named makes definitions of names, and of more below a namespace.
func named(kind kind, names, namespace, more string) map[string]*definition {
	all := map[string]*definition{}
	add := func(name string) {
		all[name] = &definition{name: name, kind: kind, opaque: true, kubernetes: name == KubernetesObject || name == Alias}
	}
	for _, name := range words(names) {
		add(name)
	}
	for _, name := range words(more) {
		add(namespace + name)
	}
	return all
}

// The types of network functions: those of ETSI GS NFV-SOL 001, and of TOSCA's own
// profile for NFV 1.0.
const (
	nodeNFV = `NS NsVirtualLink Sap NFP NfpPosition NfpPositionElement Forwarding PNF PnfExtCp VNF VnfVirtualLink
		VnfExtCp Cp VduCp VduSubCp VipCp VirtualCp Mciop Vdu.Compute Vdu.OsContainer
		Vdu.OsContainerDeployableUnit Vdu.VirtualBlockStorage Vdu.VirtualFileStorage
		Vdu.VirtualObjectStorage VDU VDU.Compute VDU.VirtualStorage CP Cpd VduCpd VL VL.ELAN VL.ELine
		VL.ETree VnfVirtualLinkDesc FP`
	dataNFV = `AdditionalServiceData AddressData BootData BootDataVimSpecificProperties ChecksumData
		CivicAddressElement ConnectivityType ContentOrFileData CpProtocolData ExtendedResourceData
		GeographicCoordinates Hugepages InputOpCoordParams InstantiationLevel InterfaceDetails
		IpAllocationPool KvpData L2AddressData L2ProtocolData L3AddressData L3ProtocolData
		LinkBitrateRequirements LocationInfo LogicalNodeData Mask MaxNumberOfImpactedInstances
		McioIdentificationData MinNumberOfPreservedInstances NfviMaintenanceInfo NsDataFlowMirroring
		NsIpAllocationPool NsL2ProtocolData NsL3ProtocolData NsLevels NsMonitoringParameter
		NsOperationAdditionalParameters NsProfile NsScaleInfo NsScalingAspect NsVirtualLinkProtocolData
		NsVirtualLinkQos NsVlProfile OauthServerInfo OutputOpCoordParams Qos RequestedAdditionalCapability
		ScaleInfo ScaleNsByStepsData ScaleNsToLevelData ScalingAspect ServiceData ServicePortData
		SwImageData UriAuthority UriComponents VduLevel VduProfile VersionDependency
		VersionDependencyStatement VipCpLevel VirtualBlockStorageData VirtualCpu VirtualCpuPinning
		VirtualFileStorageData VirtualLinkBitrateLevel VirtualLinkMonitoringParameter
		VirtualLinkProtocolData VirtualMemory VirtualNetworkInterfaceRequirements VirtualObjectStorageData
		VlProfile VnfAdditionalConfigurableProperties VnfChangeCurrentPackageOperationConfiguration
		VnfChangeExtConnectivityOperationConfiguration VnfChangeFlavourOperationConfiguration
		VnfConfigurableProperties VnfCreateSnapshotOperationConfiguration VnfHealOperationConfiguration
		VnfInfoModifiableAttributes VnfInfoModifiableAttributesExtensions
		VnfInfoModifiableAttributesMetadata VnfInstantiateOperationConfiguration VnfLcmOpCoord
		VnfLcmOperationsConfiguration VnfMonitoringParameter VnfOperateOperationConfiguration
		VnfOperationAdditionalParameters VnfPackageChangeComponentMapping VnfPackageChangeSelector
		VnfProfile VnfRevertToSnapshotOperationConfiguration VnfScaleOperationConfiguration
		VnfScaleToLevelOperationConfiguration VnfTerminateOperationConfiguration
		VnfcAdditionalConfigurableProperties VnfcConfigurableProperties VnfcMonitoringParameter
		VnfmInterfaceInfo`
	capabilityNFV = `AssociableVdu ContainerDeployable Forwarder Forwarding HA HA.ActiveActive HA.ActivePassive Metric
		TrunkBindable VirtualBindable VirtualCompute VirtualLinkable VirtualStorage`
	relationshipNFV = `AttachesTo ForwardTo ForwardsTo VipVirtualLinksTo VirtualBindsTo VirtualLinksTo Monitor HA DeploysTo
		NsVirtualLinksTo`
	artifactNFV  = `SwImage HelmChart`
	interfaceNFV = `Vnflcm VnfIndicator ChangeCurrentVnfPackage Nslcm NsVnfIndicator`
	policyNFV    = `Abstract.SecurityGroupRule AffinityRule AntiAffinityRule DataFlowInfo InstantiationLevels
		LcmCoordinationAction LcmCoordinationsForLcmOperation NfpRule NsAffinityRule NsAntiAffinityRule
		NsAutoScale NsInstantiationLevels NsMonitoring NsScalingAspects NsSecurityGroupRule
		NsToInstantiationLevelMapping NsToLevelMapping PnfSecurityGroupRule ScalingAspects SecurityGroupRule
		SupportedVnfInterface VduInitialDelta VduInstantiationLevels VduScalingAspectDeltas
		VipCpInitialDelta VipCpInstantiationLevels VipCpScalingAspectDeltas VirtualLinkBitrateInitialDelta
		VirtualLinkBitrateScalingAspectDeltas VirtualLinkInstantiationLevels VirtualLinkToLevelMapping
		VnfIndicator VnfToLevelMapping NsScalingAspectDeltas VnfPackageChange`
	groupNFV = `PlacementGroup NsPlacementGroup VNFFG`
)
