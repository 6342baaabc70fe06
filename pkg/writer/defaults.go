package writer

import (
	"strings"

	"holdfast.dev/holdfast/pkg/observer"
)

// serverDefaults are default values of the API server. The key is the name of the field, with the name of
// its parent if that matters. managedFields attributes a default to the client that created the object, as
// if the client had set it. Only applied fields are known to be set by a client. Kubernetes publishes no
// such list for its own kinds. An integer is an int64, as in decoded objects.
var serverDefaults = map[string][]any{
	// Pods
	"terminationMessagePath": {"/dev/termination-log"}, "terminationMessagePolicy": {"File"},
	"terminationGracePeriodSeconds": {int64(30)}, "restartPolicy": {"Always"}, "dnsPolicy": {"ClusterFirst"},
	"schedulerName": {"default-scheduler"}, "enableServiceLinks": {true}, "preemptionPolicy": {"PreemptLowerPriority"},
	"defaultMode": {int64(420)}, "protocol": {"TCP"}, "fieldRef.apiVersion": {"v1"}, "hostPath.type": {""},
	"securityContext": {map[string]any{}}, "resources": {map[string]any{}},
	"serviceAccountToken.expirationSeconds": {int64(3600)}, "expirationSeconds": {int64(3600)},
	// probes
	"timeoutSeconds": {int64(1)}, "periodSeconds": {int64(10)}, "successThreshold": {int64(1)}, "failureThreshold": {int64(3)},
	"httpGet.scheme": {"HTTP"}, "grpc.service": {""},
	// workloads
	"replicas": {int64(1)}, "revisionHistoryLimit": {int64(10)}, "progressDeadlineSeconds": {int64(600)},
	"strategy.type": {"RollingUpdate"}, "updateStrategy.type": {"RollingUpdate"},
	"rollingUpdate.maxSurge": {"25%", int64(0)}, "rollingUpdate.maxUnavailable": {"25%", int64(1)}, "rollingUpdate.partition": {int64(0)},
	"podManagementPolicy":                              {"OrderedReady"},
	"persistentVolumeClaimRetentionPolicy.whenDeleted": {"Retain"},
	"persistentVolumeClaimRetentionPolicy.whenScaled":  {"Retain"},
	"backoffLimit":               {int64(6)},
	"completionMode":             {"NonIndexed"},
	"completions":                {int64(1)},
	"parallelism":                {int64(1)},
	"manualSelector":             {false},
	"podReplacementPolicy":       {"TerminatingOrFailed"},
	"suspend":                    {false},
	"concurrencyPolicy":          {"Allow"},
	"failedJobsHistoryLimit":     {int64(1)},
	"successfulJobsHistoryLimit": {int64(3)},
	// Services and Secrets
	".type":           {"Opaque"},
	"sessionAffinity": {"None"}, "internalTrafficPolicy": {"Cluster"}, "externalTrafficPolicy": {"Cluster"},
	"ipFamilyPolicy": {"SingleStack"}, "allocateLoadBalancerNodePorts": {true}, "spec.type": {"ClusterIP"},
	// storage and policy
	"volumeClaimTemplates.apiVersion": {"v1"}, "volumeClaimTemplates.kind": {"PersistentVolumeClaim"}, "status.phase": {"Pending"},
	"volumeMode": {"Filesystem"}, "persistentVolumeReclaimPolicy": {"Retain"}, "reclaimPolicy": {"Delete"}, "volumeBindingMode": {"Immediate"},
	// admission
	"matchPolicy": {"Equivalent"}, "failurePolicy": {"Fail"}, "reinvocationPolicy": {"Never"}, "rules.scope": {"*"}, "scope": {"*"},
	"namespaceSelector": {map[string]any{}}, "objectSelector": {map[string]any{}}, "service.port": {int64(443)},
	// definitions
	"conversion.strategy": {"None"},
	// rights
	"roleRef.apiGroup": {"rbac.authorization.k8s.io"}, "subjects.apiGroup": {"rbac.authorization.k8s.io"},
}

// IsServerDefault reports whether a field of a map has a default value of the API server. parent is the name of
// the field that contains the map.
func IsServerDefault(parent, name string, siblings map[string]any) bool {
	value := siblings[name]
	switch name {
	case "imagePullPolicy":
		image, _ := siblings["image"].(string)
		return image != "" && value == pullPolicy(image)
	case "targetPort":
		return observer.Equal(value, siblings["port"])
	case "serviceAccount": // its old name
		return observer.Equal(value, siblings["serviceAccountName"])
	}
	for _, key := range []string{name, parent + "." + name} {
		for _, filled := range serverDefaults[key] {
			if observer.Equal(filled, value) {
				return true
			}
		}
	}
	return false
}

// pullPolicy returns the default imagePullPolicy of an image.
func pullPolicy(image string) string {
	_, tag, tagged := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if strings.Contains(image, "@") || tagged && tag != "latest" {
		return "IfNotPresent"
	}
	return "Always"
}
