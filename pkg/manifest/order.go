package manifest

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Stages of creating and updating, in order. Deletion uses the reverse order (docs/semantics.md,
// "Writing"). Within a stage, manifest order applies.
const (
	// Everything in a namespace needs it first.
	StageNamespaces = iota
	// An object of a custom kind needs its CustomResourceDefinition, which is established some time after its creation.
	StageDefinitions
	// StageRights contains RBAC and ServiceAccounts.
	StageRights
	// StageConfiguration contains Secrets and ConfigMaps, and the few kinds that an API server uses to
	// admit or default a Pod: they have no effect on Pods that exist already.
	StageConfiguration
	// A claim precedes the Pods that mount it.
	StageStorage
	// A Pod gets the environment variables of Services that exist when it starts.
	StageServices
	StageWorkloads
	// StageOthers contains every kind that is in no other stage.
	StageOthers
	// StageAdmission contains the kinds that can reject or break requests for other objects.
	StageAdmission
)

// stageOfGroup maps groups whose kinds are all in the same stage.
var stageOfGroup = map[string]int{
	"rbac.authorization.k8s.io":    StageRights,
	"storage.k8s.io":               StageStorage,
	"admissionregistration.k8s.io": StageAdmission,
	"apiregistration.k8s.io":       StageAdmission,
}

// stageOfKind maps the kinds whose group has several stages. The version of a kind does not matter. Kinds of the old
// group extensions are no longer served, and are in StageOthers.
var stageOfKind = map[schema.GroupKind]int{
	{Kind: "Namespace"}:      StageNamespaces,
	definitionKind:           StageDefinitions,
	{Kind: "ServiceAccount"}: StageRights,

	{Kind: "Secret"}:        StageConfiguration,
	{Kind: "ConfigMap"}:     StageConfiguration,
	{Kind: "LimitRange"}:    StageConfiguration,
	{Kind: "ResourceQuota"}: StageConfiguration,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}: StageConfiguration,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:        StageConfiguration,

	{Kind: "PersistentVolume"}:      StageStorage,
	{Kind: "PersistentVolumeClaim"}: StageStorage,

	{Kind: "Service"}:   StageServices,
	{Kind: "Endpoints"}: StageServices,
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}: StageServices,

	{Kind: "Pod"}:                        StageWorkloads,
	{Kind: "ReplicationController"}:      StageWorkloads,
	{Group: "apps", Kind: "Deployment"}:  StageWorkloads,
	{Group: "apps", Kind: "StatefulSet"}: StageWorkloads,
	{Group: "apps", Kind: "DaemonSet"}:   StageWorkloads,
	{Group: "apps", Kind: "ReplicaSet"}:  StageWorkloads,
	{Group: "batch", Kind: "Job"}:        StageWorkloads,
	{Group: "batch", Kind: "CronJob"}:    StageWorkloads,
}

// Stage returns the stage in which objects of a kind are created and updated. A custom kind is in StageOthers, after
// the workloads: its controller may be one of them.
func Stage(gk schema.GroupKind) int {
	if stage, ok := stageOfKind[gk]; ok {
		return stage
	}
	if stage, ok := stageOfGroup[gk.Group]; ok {
		return stage
	}
	return StageOthers
}

// InOrder sorts values by the stage of their object. The sort is stable. It returns a new slice. It is used for plans,
// previews and tables, so that all show one order.
func InOrder[T any](all []T, id func(T) ID) []T {
	byStage := make([][]T, StageAdmission+1)
	for _, one := range all {
		stage := Stage(id(one).GroupKind())
		byStage[stage] = append(byStage[stage], one)
	}
	return slices.Concat(byStage...)
}
