package manifest

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestBuiltinScopesMatchRelease(t *testing.T) {
	file, err := os.Open("../../testdata/manifest/kinds-v1.36.txt")
	require.NoError(t, err)
	defer file.Close()
	want := scopeTable{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if scope, kind, found := strings.Cut(lines.Text(), " "); found && scope != "#" {
			want[schema.ParseGroupKind(kind)] = scope == "Namespaced"
		}
	}
	assert.Equal(t, want, builtinScopes())

	for kind, want := range map[string][2]bool{
		"Service": {true, true}, "Namespace": {false, true}, "StorageClass.storage.k8s.io": {false, true}, "Service.serving.knative.dev": {false, false},
	} {
		namespaced, known := BuiltinScopes().Namespaced(schema.ParseGroupKind(kind))
		assert.Equal(t, want, [2]bool{namespaced, known}, kind)
	}
}

func TestStages(t *testing.T) {
	stages := map[int][]string{
		StageNamespaces:    {"Namespace"},
		StageDefinitions:   {"CustomResourceDefinition.apiextensions.k8s.io"},
		StageRights:        {"ServiceAccount", "Role.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io"},
		StageConfiguration: {"Secret", "ConfigMap", "LimitRange", "ResourceQuota", "PriorityClass.scheduling.k8s.io", "RuntimeClass.node.k8s.io"},
		StageStorage:       {"PersistentVolume", "PersistentVolumeClaim", "StorageClass.storage.k8s.io", "CSIDriver.storage.k8s.io"},
		StageServices:      {"Service", "Endpoints", "EndpointSlice.discovery.k8s.io"},
		StageWorkloads: {
			"Pod", "ReplicationController", "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch", "CronJob.batch",
		},
		StageOthers: {"Ingress.networking.k8s.io", "HorizontalPodAutoscaler.autoscaling", "Secret.example.com", "Namespace.example.com", "Song.example.com"},
		StageAdmission: {
			"ValidatingWebhookConfiguration.admissionregistration.k8s.io", "MutatingWebhookConfiguration.admissionregistration.k8s.io",
			"ValidatingAdmissionPolicy.admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io",
			"APIService.apiregistration.k8s.io",
		},
	}
	assert.Len(t, stages, StageAdmission+1, "each stage has a row")
	for stage, kinds := range stages {
		for _, kind := range kinds {
			assert.Equal(t, stage, Stage(schema.ParseGroupKind(kind)), kind)
		}
	}
}

func TestInOrderIsStable(t *testing.T) {
	var objects []Object
	for _, kind := range []string{"Webhook.admissionregistration.k8s.io", "Deployment.apps", "Song.example.com", "Service", "Pod", "Secret", "Namespace", "Job.batch"} {
		gk := schema.ParseGroupKind(kind)
		objects = append(objects, Object{ID: ID{Group: gk.Group, Kind: gk.Kind}, Position: len(objects)})
	}
	before := slices.Clone(objects)
	var positions []int
	for _, object := range InOrder(objects, func(o Object) ID { return o.ID }) {
		positions = append(positions, object.Position)
	}
	assert.Equal(t, []int{6, 5, 3, 1, 4, 7, 2, 0}, positions)
	assert.Equal(t, before, objects, "the input is not modified")
}

func TestIDs(t *testing.T) {
	rows := map[string]ID{
		"Deployment.apps default/echo-demo": {"apps", "Deployment", "default", "echo-demo"},
		"Service default/x":                 {"", "Service", "default", "x"},
		"Namespace x":                       {"", "Namespace", "", "x"},
	}
	for want, id := range rows {
		assert.Equal(t, want, id.String())
	}
}
