package health

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// builtinChecks lists the expressions for kinds of operators whose status kstatus does not understand, or that have
// no status at first. testdata/health contains a sample of each kind. Expressions for the same status share an
// item.
var builtinChecks = checksByKind([]kindsCheck{
	{
		kinds: []string{
			"Certificate.cert-manager.io", "Issuer.cert-manager.io", "ClusterIssuer.cert-manager.io",
			"ExternalSecret.external-secrets.io", "ClusterExternalSecret.external-secrets.io", "PushSecret.external-secrets.io",
			"SecretStore.external-secrets.io", "ClusterSecretStore.external-secrets.io",
			"MariaDB.k8s.mariadb.com", "Database.k8s.mariadb.com", "User.k8s.mariadb.com", "Grant.k8s.mariadb.com",
			"ScaledObject.keda.sh", "ScaledJob.keda.sh", "Service.serving.knative.dev",
			"Binding.rabbitmq.com", "Exchange.rabbitmq.com", "Permission.rabbitmq.com", "Policy.rabbitmq.com",
			"Queue.rabbitmq.com", "Shovel.rabbitmq.com", "User.rabbitmq.com", "Vhost.rabbitmq.com",
		},
		current: isTrue("Ready"),
	},
	{kinds: []string{"APIService.apiregistration.k8s.io"}, current: isTrue("Available")},
	{
		kinds:   []string{"postgresql.acid.zalan.do"},
		failed:  "status.PostgresClusterStatus in ['CreateFailed', 'UpdateFailed', 'SyncFailed', 'Invalid']",
		current: "status.PostgresClusterStatus == 'Running'",
	},
	{
		kinds: []string{"Cluster.postgresql.cnpg.io"},
		failed: "status.phase in ['Cluster is unrecoverable and needs manual intervention', 'Invalid cluster definition', " +
			"'Cluster has incomplete or invalid image catalog', 'Unable to create required cluster objects']",
		current: "status.phase == 'Cluster in healthy state'",
	},
	{
		kinds:   []string{"Database.postgresql.cnpg.io", "Publication.postgresql.cnpg.io", "Subscription.postgresql.cnpg.io"},
		failed:  "!status.applied",
		current: "status.applied",
	},
	{ // a topic that Strimzi does not manage is never Ready
		kinds:   []string{"KafkaTopic.kafka.strimzi.io"},
		failed:  strimziFailed,
		current: isTrue("Ready") + " || " + isTrue("Unmanaged"),
	},
	{
		kinds: []string{
			"Kafka.kafka.strimzi.io", "KafkaBridge.kafka.strimzi.io", "KafkaConnect.kafka.strimzi.io",
			"KafkaConnector.kafka.strimzi.io", "KafkaUser.kafka.strimzi.io",
		},
		failed:  strimziFailed,
		current: isTrue("Ready"),
	},
	{ // observedGeneration is a string
		kinds:      []string{"Rollout.argoproj.io"},
		inProgress: "status.observedGeneration != string(metadata.generation)",
		failed:     "status.phase == 'Degraded'",
		current:    "status.phase == 'Healthy'",
	},
	{kinds: []string{"Provider.pkg.crossplane.io"}, current: isTrue("Installed") + " && " + isTrue("Healthy")},
	{
		kinds:   []string{"CompositeResourceDefinition.apiextensions.crossplane.io"},
		current: isTrue("Established") + " && (!has(spec.claimNames) || " + isTrue("Offered") + ")",
	},
	{kinds: []string{"Keycloak.k8s.keycloak.org"}, failed: isTrue("HasErrors"), current: isTrue("Ready")},
	{kinds: []string{"KeycloakRealmImport.k8s.keycloak.org"}, failed: isTrue("HasErrors"), current: isTrue("Done")},
	{
		kinds:   []string{"RabbitmqCluster.rabbitmq.com"},
		failed:  isFalse("ReconcileSuccess"),
		current: isTrue("AllReplicasReady") + " && " + isTrue("ReconcileSuccess"),
	},
	{
		kinds:   []string{"Elasticsearch.elasticsearch.k8s.elastic.co"},
		failed:  "status.phase == 'Invalid'",
		current: "status.phase == 'Ready' && status.health in ['green', 'yellow']",
	},
	{kinds: []string{"Beat.beat.k8s.elastic.co", "Logstash.logstash.k8s.elastic.co"}, current: "status.health == 'green'"},
	{kinds: []string{"Prometheus.monitoring.coreos.com"}, failed: isFalse("Reconciled"), current: isTrue("Available") + " && " + isTrue("Reconciled")},
	{kinds: []string{"SealedSecret.bitnami.com"}, failed: isFalse("Synced"), current: isTrue("Synced")},
	{
		kinds:   []string{"CephCluster.ceph.rook.io"},
		failed:  "has(status.ceph) && status.ceph.health == 'HEALTH_ERR'",
		current: "status.phase == 'Ready' && status.ceph.health in ['HEALTH_OK', 'HEALTH_WARN']",
	},
	{kinds: []string{"Gateway.gateway.networking.k8s.io"}, failed: isFalse("Accepted"), current: isTrue("Accepted") + " && " + isTrue("Programmed")},
	{kinds: []string{"GatewayClass.gateway.networking.k8s.io"}, failed: isFalse("Accepted"), current: isTrue("Accepted")},
	{
		kinds:   []string{"VolumeSnapshot.snapshot.storage.k8s.io"},
		failed:  "has(status.error) && !status.readyToUse",
		current: "status.readyToUse",
	},
	{
		kinds:   []string{"PerconaServerMongoDB.psmdb.percona.com", "PerconaXtraDBCluster.pxc.percona.com"},
		failed:  "status.state == 'error'",
		current: "status.state == 'ready'",
	},
})

// managedCheck is for the managed resources of Crossplane's providers, which have many kinds.
var managedCheck = v1alpha1.HealthCheck{
	Failed:  "status.conditions.exists(c, c.type == 'Synced' && c.status == 'False' && c.reason == 'ReconcileError')",
	Current: isTrue("Ready") + " && " + isTrue("Synced"),
}

// strimziFailed is true for a resource of Strimzi that is not ready, except while its operator creates it.
const strimziFailed = "status.conditions.exists(c, c.type == 'NotReady' && c.status == 'True' && (!has(c.reason) || c.reason != 'Creating'))"

// kindsCheck lists the expressions for some kinds, each with its group.
type kindsCheck struct {
	// kinds are in the form of schema.ParseGroupKind: Kind.group.
	kinds                       []string
	inProgress, failed, current string
}

// isTrue returns an expression that is true if a condition is True, for this generation if it has one.
func isTrue(condition string) string {
	return fmt.Sprintf("status.conditions.exists(c, c.type == '%s' && c.status == 'True' && (!has(c.observedGeneration) || c.observedGeneration == metadata.generation))", condition)
}

// isFalse returns an expression like isTrue for a condition that is False.
func isFalse(condition string) string {
	return strings.Replace(isTrue(condition), "'True'", "'False'", 1)
}

// checksByKind returns the expressions by kind.
func checksByKind(all []kindsCheck) map[schema.GroupKind]v1alpha1.HealthCheck {
	known := map[schema.GroupKind]v1alpha1.HealthCheck{}
	for _, c := range all {
		for _, kind := range c.kinds {
			known[schema.ParseGroupKind(kind)] = v1alpha1.HealthCheck{InProgress: c.inProgress, Failed: c.failed, Current: c.current}
		}
	}
	return known
}

// builtinCheck returns the built-in expressions for an object, or nil if there are none. Managed resources of
// Crossplane are recognized by spec.forProvider, because there are many kinds of them.
func builtinCheck(gk schema.GroupKind, live map[string]any) *kindCheck {
	if check, ok := builtinChecks[gk]; ok {
		return &kindCheck{HealthCheck: check}
	}
	isProviders := strings.HasSuffix(gk.Group, ".crossplane.io") || strings.HasSuffix(gk.Group, ".upbound.io")
	_, isManaged, _ := unstructured.NestedFieldNoCopy(live, "spec", "forProvider")
	if isProviders && isManaged {
		return &kindCheck{HealthCheck: managedCheck}
	}
	return nil
}
