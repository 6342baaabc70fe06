package manifest

// The kinds of Kubernetes 1.36, including alpha and beta. A test compares them with
// testdata/manifest/kinds-v1.36.txt, the discovery document of the Kubernetes release (api/discovery).

// clusterScopedKinds and namespacedKinds map an API group to its kinds. They are used without a cluster. A connected
// command or controller asks the API server, which may serve other kinds.
var clusterScopedKinds = map[string][]string{
	"": {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
	"admissionregistration.k8s.io": {
		"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
	},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"authentication.k8s.io":        {"SelfSubjectReview", "TokenReview"},
	"authorization.k8s.io":         {"SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"},
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"internal.apiserver.k8s.io":    {"StorageVersion"},
	"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourcePoolStatusRequest", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
	"storagemigration.k8s.io":      {"StorageVersionMigration"},
}

// Subresources such as Scale, and kinds that are only the content of requests, are not in the table.
var namespacedKinds = map[string][]string{
	"": {
		"Binding", "ConfigMap", "Endpoints", "Event", "LimitRange", "PersistentVolumeClaim", "Pod", "PodTemplate",
		"ReplicationController", "ResourceQuota", "Secret", "Service", "ServiceAccount",
	},
	"apps":                      {"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
	"authorization.k8s.io":      {"LocalSubjectAccessReview"},
	"autoscaling":               {"HorizontalPodAutoscaler"},
	"batch":                     {"CronJob", "Job"},
	"certificates.k8s.io":       {"PodCertificateRequest"},
	"coordination.k8s.io":       {"Lease", "LeaseCandidate"},
	"discovery.k8s.io":          {"EndpointSlice"},
	"events.k8s.io":             {"Event"},
	"networking.k8s.io":         {"Ingress", "NetworkPolicy"},
	"policy":                    {"PodDisruptionBudget"},
	"rbac.authorization.k8s.io": {"Role", "RoleBinding"},
	"resource.k8s.io":           {"ResourceClaim", "ResourceClaimTemplate"},
	"scheduling.k8s.io":         {"PodGroup", "Workload"},
	"storage.k8s.io":            {"CSIStorageCapacity"},
}
