package kinds

// builtinDefaults are the defaults of the built-in types that do not depend on other fields. Kubernetes sets them in
// code, and its OpenAPI documents do not have them. The package agreement compares them with an API server.
var builtinDefaults = map[string]map[string]any{
	"apps.v1.DaemonSetSpec":             {"revisionHistoryLimit": int64(10)},
	"apps.v1.DeploymentSpec":            {"replicas": int64(1), "revisionHistoryLimit": int64(10), "progressDeadlineSeconds": int64(600)},
	"apps.v1.DeploymentStrategy":        {"type": "RollingUpdate"},
	"apps.v1.ReplicaSetSpec":            {"replicas": int64(1)},
	"apps.v1.StatefulSetSpec":           {"replicas": int64(1), "revisionHistoryLimit": int64(10), "podManagementPolicy": "OrderedReady"},
	"core.v1.ReplicationControllerSpec": {"replicas": int64(1)},

	"batch.v1.CronJobSpec": {
		"suspend": false, "concurrencyPolicy": "Allow", "successfulJobsHistoryLimit": int64(3), "failedJobsHistoryLimit": int64(1),
	},
	"batch.v1.JobSpec": {"suspend": false, "backoffLimit": int64(6), "completionMode": "NonIndexed"},

	"core.v1.Container":             {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
	"core.v1.HTTPGetAction":         {"scheme": "HTTP"},
	"core.v1.PodSpec":               {"terminationGracePeriodSeconds": int64(30), "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler"},
	"core.v1.Probe":                 {"timeoutSeconds": int64(1), "periodSeconds": int64(10), "successThreshold": int64(1), "failureThreshold": int64(3)},
	"core.v1.ConfigMapVolumeSource": {"defaultMode": int64(420)},
	"core.v1.SecretVolumeSource":    {"defaultMode": int64(420)},

	"core.v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
	"core.v1.Secret":                    {"type": "Opaque"},
	"core.v1.ServiceSpec":               {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"},

	"admissionregistration.v1.MutatingWebhook": {
		"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": int64(10), "reinvocationPolicy": "Never",
	},
	"admissionregistration.v1.ValidatingWebhook": {"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": int64(10)},
	"autoscaling.v1.HorizontalPodAutoscalerSpec": {"minReplicas": int64(1)},
	"autoscaling.v2.HorizontalPodAutoscalerSpec": {"minReplicas": int64(1)},
	"storage.v1.StorageClass":                    {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
}
