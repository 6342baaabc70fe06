package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/deploy/crd"
	"holdfast.dev/holdfast/internal/testcluster"
)

// unseen maps permissions that the audit log does not show to the reason why they are needed.
var unseen = map[string]string{
	"update fnjoin.com mysqls/finalizers": "asked by the admission plugin OwnerReferencesPermissionEnforcement, not by us",
}

// sometimes lists permissions that the test does not always use.
var sometimes = map[string]string{
	"get holdfast.dev applications":         "when another client was faster",
	"patch events.k8s.io events":            "when an event is repeated",
	"update  secrets":                       "when a certificate is renewed",
	"create holdfast.dev applicationslices": "when the record of an Application is too large for one object",
	"get holdfast.dev applicationslices":    "when one is named that no watch has shown yet",
	"patch holdfast.dev applicationslices":  "when one is released",
	"delete holdfast.dev applicationslices": "when nothing names one any more",
}

// The controller has exactly the permissions of its roles, and uses all of them.
func TestPermissionsAreUsed(t *testing.T) {
	t.Parallel()
	c, namespace := alone(t)
	kubectl(t, c, string(crd.Mysqls), "apply", "--server-side", "--filename=-")
	allowed := grant(t, c)
	mark := c.Mark()

	p := start(t, c, "--kubeconfig="+kubeconfigOf(t, c, "holdfast-system", "holdfast-controller"),
		"--callback-bind-address=127.0.0.1:0", "--callback-external-url=https://127.0.0.1")
	p.Says(leads)
	wholeLife(t, c, namespace, allowed)
	p.Signal(syscall.SIGTERM)
	assert.Equal(t, 0, p.Ends(), p.Log())

	used := usedRights(t, c, mark)
	assert.Empty(t, beyond(used, allowed), "used, and not granted")
	for right := range used {
		assert.Empty(t, unseen[right], "%s is used after all", right)
		// If the API server cannot stream the initial list, a watch starts with a list request.
		if what, watched := strings.CutPrefix(right, "watch "); watched {
			used["list "+what] = true
		}
	}
	maps.DeleteFunc(allowed, func(right string, _ bool) bool { return unseen[right] != "" || sometimes[right] != "" })
	assert.Empty(t, beyond(allowed, used), "granted, and not used")
}

// beyond returns the permissions that are only in the first set.
func beyond(set, other map[string]bool) []string {
	only := maps.Clone(set)
	maps.DeleteFunc(only, func(right string, _ bool) bool { return other[right] })
	return slices.Sorted(maps.Keys(only))
}

// grant installs the roles of the controller and returns their permissions, for example "list apps
// deployments". The control plane does not aggregate roles, so grant binds the parts.
func grant(t *testing.T, c *testcluster.Cluster) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	var texts []string
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(deploy.Install()), 4096)
	for {
		var document runtime.RawExtension
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		var role rbacv1.ClusterRole
		require.NoError(t, json.Unmarshal(document.Raw, &role))
		switch role.Kind {
		case "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding", "ServiceAccount", "Namespace":
			texts = append(texts, string(document.Raw))
		}
		aggregated := role.Labels["holdfast.dev/aggregate-to-controller"] == "true"
		if aggregated {
			texts = append(texts, fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %[1]s},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s},
  subjects: [{kind: ServiceAccount, name: holdfast-controller, namespace: holdfast-system}]}`, role.Name))
		}
		if aggregated || role.Name == "holdfast-controller" || role.Name == "holdfast-definitions" {
			add(t, all, role.Rules)
		}
	}
	require.NotEmpty(t, all)
	kubectl(t, c, strings.Join(texts, "\n---\n"), "apply", "--server-side", "--filename=-")
	return all
}

// add adds the permissions of rules, and checks that none of them is a wildcard.
func add(t *testing.T, all map[string]bool, rules []rbacv1.PolicyRule) {
	t.Helper()
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					assert.NotContains(t, []string{"*", "escalate", "bind", "deletecollection"}, verb)
					assert.NotContains(t, group+resource, "*")
					all[right(verb, group, resource)] = true
				}
			}
		}
	}
}

func right(verb, group, resource string) string { return verb + " " + group + " " + resource }

// usedRights returns the permissions that the controller's requests used. Impersonated requests use the
// permission to impersonate.
func usedRights(t *testing.T, c *testcluster.Cluster, mark testcluster.Mark) map[string]bool {
	t.Helper()
	requests, err := c.Requests(mark)
	require.NoError(t, err)
	used := map[string]bool{}
	for _, r := range requests {
		switch {
		case r.User != "system:serviceaccount:holdfast-system:holdfast-controller", r.Resource == "":
		case r.ImpersonatedUser != "":
			used[right("impersonate", "", "serviceaccounts")] = true
		default:
			assert.NotEqual(t, 403, r.Code, "%s", r)
			resource := r.Resource
			if r.Subresource != "" {
				resource += "/" + r.Subresource
			}
			used[right(r.Verb, r.Group, resource)] = true
		}
	}
	return used
}

// heldKinds contains an object of each kind that the controller can watch.
var heldKinds = map[string]string{
	"configmaps":               `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`,
	"secrets":                  `{apiVersion: v1, kind: Secret, metadata: {name: x}}`,
	"services":                 `{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: 80}]}}`,
	"serviceaccounts":          `{apiVersion: v1, kind: ServiceAccount, metadata: {name: x}}`,
	"persistentvolumeclaims":   `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
	"deployments":              `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {selector: {matchLabels: {a: b}}, template: TEMPLATE}}`,
	"statefulsets":             `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x}, spec: {serviceName: x, selector: {matchLabels: {a: b}}, template: TEMPLATE}}`,
	"daemonsets":               `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: x}, spec: {selector: {matchLabels: {a: b}}, template: TEMPLATE}}`,
	"jobs":                     `{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: x, image: x}]}}}}`,
	"cronjobs":                 `{apiVersion: batch/v1, kind: CronJob, metadata: {name: x}, spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: x, image: x}]}}}}}}`,
	"ingresses":                `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: x}, spec: {defaultBackend: {service: {name: x, port: {number: 80}}}}}`,
	"horizontalpodautoscalers": `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: x}, spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}}`,
	"poddisruptionbudgets":     `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: x}, spec: {selector: {matchLabels: {a: b}}}}`,
	"roles":                    `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: x}, rules: []}`,
	"rolebindings":             `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: x}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: x}}`,
	"pods":                     `{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {serviceAccountName: x, automountServiceAccountToken: false, containers: [{name: x, image: x}]}}`,
	"networkpolicies":          `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: x}, spec: {podSelector: {}}}`,
}

// wholeLife makes the controller use all its features.
func wholeLife(t *testing.T, c *testcluster.Cluster, namespace string, allowed map[string]bool) {
	t.Helper()
	apply := func(text string) { kubectl(t, c, text, "apply", "--server-side", "-n", namespace, "--filename=-") }
	var manifests []string
	for _, resource := range slices.Sorted(maps.Keys(heldKinds)) {
		manifests = append(manifests, strings.ReplaceAll(heldKinds[resource], "TEMPLATE", `{metadata: {labels: {a: b}}, spec: {containers: [{name: x, image: x}]}}`))
	}
	apply(fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: kinds}, spec: {manifest: [%s]}}`, strings.Join(manifests, ",")))
	awaitTrue(t, c, namespace, "kinds", "Held")

	// Repeated drift, so that an event is repeated.
	submit(t, c, namespace, "app", "")
	awaitReady(t, c, namespace, "app")
	for range 3 {
		drift(t, c, namespace, "app")
		awaitCorrected(t, c, namespace, "app")
	}
	require.NoError(t, c.Define(t.Context(), `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: songs.example.com}, spec: {group: example.com, scope: Namespaced,
  names: {kind: Song, plural: songs}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`, "songs.example.com"))
	kubectl(t, c, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: songs}, rules: [{apiGroups: [example.com], resources: [songs], verbs: [list, watch]}]}`,
		"apply", "--server-side", "--filename=-")
	kubectl(t, c, "", "create", "clusterrolebinding", "songs", "--clusterrole=songs", "--serviceaccount=holdfast-system:holdfast-controller")
	allowed[right("list", "example.com", "songs")], allowed[right("watch", "example.com", "songs")] = true, true
	eventually(t, "the right to watch songs", func() bool {
		output, _ := c.Kubectl(t.Context(), "", "auth", "can-i", "watch", "songs.example.com", "--as=system:serviceaccount:holdfast-system:holdfast-controller")
		return strings.TrimSpace(output) == "yes"
	})
	apply(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: song}, spec: {manifest: [{apiVersion: example.com/v1, kind: Song, metadata: {name: song}}]}}`)
	awaitTrue(t, c, namespace, "song", "Held")

	// A namespace that does not exist yet, for an Application with all permissions in it.
	kubectl(t, c, "", "create", "clusterrolebinding", "later", "--clusterrole=cluster-admin", "--serviceaccount="+namespace+":holdfast-applier")
	apply(fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: later}, spec: {manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: %s-later}}]}}`, namespace))
	eventually(t, "an Application that waits", func() bool {
		return get(t, c, namespace, applications, "later", "{.status.conditions[?(@.type=='Held')].reason}") == "Waiting"
	})
	kubectl(t, c, "", "create", "namespace", namespace+"-later")
	awaitTrue(t, c, namespace, "later", "Held")
	kubectl(t, c, "", "delete", "clusterrolebinding", "later")

	apply(`{apiVersion: holdfast.dev/v1alpha1, kind: HoldProfile, metadata: {name: scaled}, spec: {rules: [{kinds: [{kind: "*"}], whileTargetedBy: HorizontalPodAutoscaler, free: [spec.replicas]}]}}`)
	kubectl(t, c, "", "wait", "--for=condition=Ready", "holdprofiles.holdfast.dev/scaled", "--timeout=60s")

	apply(`{apiVersion: fnjoin.com/v1, kind: Mysql, metadata: {name: db}, spec: {}}`)
	eventually(t, "the status of a Mysql", func() bool {
		return kubectl(t, c, "", "get", "mysql", "db", "-n", namespace, "--output=jsonpath={.status}") != ""
	})

	// An Application that is complete deletes itself.
	apply(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: done, annotations: {holdfast.dev/completed: "2026-01-01T00:00:00Z"}},
  spec: {hooks: {complete: {}}, manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: done}}]}}`)
	kubectl(t, c, "", "wait", "--for=delete", "application/done", "-n", namespace, "--timeout=60s")

	// If permissions are missing during the deletion, the controller checks whether the namespace is
	// terminating.
	kubectl(t, c, "", "delete", "rolebinding", "applier", "-n", namespace)
	kubectl(t, c, "", "delete", "application", "app", "-n", namespace, "--wait=false")
	eventually(t, "a deletion that may not be", func() bool {
		return get(t, c, namespace, applications, "app", "{.status.conditions[?(@.type=='Stalled')].reason}") == "Forbidden"
	})
	kubectl(t, c, "", "create", "rolebinding", "applier", "-n", namespace, "--clusterrole=cluster-admin", "--serviceaccount="+namespace+":holdfast-applier")
	kubectl(t, c, "", "wait", "--for=delete", "application/app", "-n", namespace, "--timeout=60s")
}
