package deploy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/testcluster"
)

// writer is a user who can write Applications and Mysqls in a namespace, and use the named ServiceAccounts.
type writer struct {
	t         *testing.T
	cluster   *testcluster.Cluster
	namespace string
	name      string
}

func newWriter(t *testing.T, mayUse ...string) writer {
	t.Helper()
	c := withDefault(t)
	w := writer{t, c, c.Namespace(t), "alice"}
	kubectl(t, c, "", "create", "role", "writer", "--verb=get,create,update,patch", "--resource=applications.holdfast.dev,mysqls.fnjoin.com", "--namespace="+w.namespace)
	kubectl(t, c, "", "create", "rolebinding", "writer", "--role=writer", "--user=alice", "--namespace="+w.namespace)
	c.AwaitRight(t, w.name, testcluster.Right{Verb: "create", Resource: "mysqls.fnjoin.com", Namespace: w.namespace})
	for _, account := range mayUse {
		w.grant(account)
	}
	w.awaitPolicy()
	return w
}

// awaitPolicy returns when the API server applies the policy: the user cannot use this ServiceAccount.
func (w writer) awaitPolicy() {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		return w.do(w.application("probe", "serviceAccountName: nobody"), "create", "--dry-run=server", "--filename=-") != nil
	}, time.Minute, 50*time.Millisecond)
}

func (w writer) grant(account string) {
	w.t.Helper()
	kubectl(w.t, w.cluster, "", "create", "role", "act-as-"+account, "--verb=impersonate", "--resource=serviceaccounts", "--resource-name="+account, "--namespace="+w.namespace)
	kubectl(w.t, w.cluster, "", "create", "rolebinding", "act-as-"+account, "--role=act-as-"+account, "--user=alice", "--namespace="+w.namespace)
	w.cluster.AwaitRight(w.t, w.name, testcluster.Right{Verb: "impersonate", Resource: "serviceaccounts", Name: account, Namespace: w.namespace})
}

// do runs kubectl as the user.
func (w writer) do(stdin string, args ...string) error {
	w.t.Helper()
	_, err := w.cluster.Kubectl(w.t.Context(), stdin, append([]string{"--as=" + w.name, "--namespace=" + w.namespace}, args...)...)
	return err
}

func (w writer) application(name, spec string) string {
	return fmt.Sprintf("{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: %s, namespace: %s}, spec: {manifest: [], %s}}", name, w.namespace, spec)
}

func (w writer) mysql(name, spec string) string {
	return fmt.Sprintf("{apiVersion: fnjoin.com/v1, kind: Mysql, metadata: {name: %s, namespace: %s}, spec: {%s}}", name, w.namespace, spec)
}

func TestServiceAccountAdmission(t *testing.T) {
	const refused = "alice may not impersonate the ServiceAccount "
	for _, row := range []struct {
		name, spec string
		mayUse     []string
		message    string
	}{
		{"impersonation needs a permission", "", nil, refused + "holdfast-applier"},
		{"one that is named neither", "serviceAccountName: deployer", nil, refused + "deployer"},
		{"the default one is not another", "", []string{"deployer"}, refused + "holdfast-applier"},
		{"another one is not the default", "serviceAccountName: deployer", []string{"holdfast-applier"}, refused + "deployer"},
		{"an empty name is the default", `serviceAccountName: ""`, []string{"deployer"}, refused + "holdfast-applier"},
		{"the default one with the right to", "", []string{"holdfast-applier"}, ""},
		{"a named one with the right to", "serviceAccountName: deployer", []string{"deployer"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWriter(t, row.mayUse...)
			for kind, object := range map[string]string{"Application": w.application("a", row.spec), "Mysql": w.mysql("a", row.spec)} {
				err := w.do(object, "create", "--filename=-")
				if row.message == "" {
					assert.NoError(t, err, kind)
					continue
				}
				assert.ErrorContains(t, err, row.message, kind)
				assert.ErrorContains(t, err, "kubectl create role act-as-", kind)
			}
		})
	}
}

func TestUpdateAdmission(t *testing.T) {
	w := newWriter(t, "deployer")
	kubectl(t, w.cluster, w.application("theirs", ""), "create", "--filename=-")
	kubectl(t, w.cluster, w.application("ours", "serviceAccountName: deployer"), "create", "--filename=-")
	kubectl(t, w.cluster, w.mysql("theirs", ""), "create", "--filename=-")
	for _, row := range []struct {
		name, object, patch string
		allowed             bool
	}{
		{"a change of a label", "hfapp/theirs", `{metadata: {labels: {team: web}}}`, true},
		{"a request to reconcile", "hfapp/theirs", `{metadata: {annotations: {holdfast.dev/reconcile: now}}}`, true},
		{"the annotation of a callback", "hfapp/theirs", `{metadata: {annotations: {holdfast.dev/completed: "2026-01-01T00:00:00Z"}}}`, false},
		{"the record before the first create", "hfapp/theirs", `{metadata: {annotations: {holdfast.dev/kinds: ConfigMap.v1.}}}`, false},
		{"a change of the record of its objects", "hfapp/theirs", `{metadata: {annotations: {holdfast.dev/creating: eA==}}}`, false},
		{"the confirmation of deletions", "hfapp/theirs", `{metadata: {annotations: {holdfast.dev/confirm-deletions: "1"}}}`, false},
		{"the decision to orphan the objects", "hfapp/theirs", `{metadata: {annotations: {holdfast.dev/orphan: "true"}}}`, false},
		{"the finalizer that orphans the objects", "hfapp/theirs", `{metadata: {finalizers: [orphan]}}`, false},
		{"another finalizer", "hfapp/theirs", `{metadata: {finalizers: [example.com/wait]}}`, true},
		{"a change of the spec", "hfapp/theirs", `{spec: {manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]}}`, false},
		{"a change to another ServiceAccount", "hfapp/ours", `{spec: {serviceAccountName: admin}}`, false},
		{"a change of a spec with a permitted ServiceAccount", "hfapp/ours", `{spec: {suspend: true}}`, true},
		{"a change to a permitted ServiceAccount", "hfapp/theirs", `{spec: {serviceAccountName: deployer}}`, true},
		{"the spec of a Mysql", "mysql/theirs", `{spec: {memory: 1Gi}}`, false},
		{"the label of a Mysql", "mysql/theirs", `{metadata: {labels: {team: web}}}`, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			patch, err := yaml.YAMLToJSON([]byte(row.patch))
			require.NoError(t, err)
			err = w.do("", "patch", row.object, "--type=merge", "--patch="+string(patch))
			if row.allowed {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, "may not impersonate")
		})
	}
}

func TestDeleteAdmission(t *testing.T) {
	w := newWriter(t, "deployer")
	kubectl(t, w.cluster, "", "create", "role", "deleter", "--verb=delete", "--resource=applications.holdfast.dev", "--namespace="+w.namespace)
	kubectl(t, w.cluster, "", "create", "rolebinding", "deleter", "--role=deleter", "--user=alice", "--namespace="+w.namespace)
	w.cluster.AwaitRight(t, w.name, testcluster.Right{Verb: "delete", Resource: "applications.holdfast.dev", Namespace: w.namespace})
	kubectl(t, w.cluster, w.application("theirs", ""), "create", "--filename=-")
	kubectl(t, w.cluster, w.application("ours", "serviceAccountName: deployer"), "create", "--filename=-")
	for _, row := range []struct {
		name, object, cascade string
		allowed               bool
	}{
		{"that orphans its objects", "hfapp/theirs", "orphan", false},
		{"in the background", "hfapp/theirs", "background", true},
		{"that orphans objects of a permitted ServiceAccount", "hfapp/ours", "orphan", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := w.do("", "delete", row.object, "--cascade="+row.cascade, "--wait=false")
			if row.allowed {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, "may not impersonate the ServiceAccount holdfast-applier")
		})
	}
}

// The ClusterRole edit of Kubernetes can impersonate the ServiceAccounts of its namespace, so the policy
// does not restrict its users.
func TestEditorsCanUseAnyServiceAccount(t *testing.T) {
	w := newWriter(t)
	kubectl(t, w.cluster, "", "create", "rolebinding", "edit", "--clusterrole=edit", "--user=alice", "--namespace="+w.namespace)
	w.cluster.AwaitRight(t, w.name, testcluster.Right{Verb: "impersonate", Resource: "serviceaccounts", Namespace: w.namespace})
	assert.NoError(t, w.do(w.application("a", ""), "create", "--filename=-"))
	assert.NoError(t, w.do(w.application("b", "serviceAccountName: deployer"), "create", "--filename=-"))
	assert.NoError(t, w.do(w.mysql("c", ""), "create", "--filename=-"))
}

func TestAdmissionPolicyCompiles(t *testing.T) {
	c := withDefault(t)
	kubectl(t, c, "", "wait", "validatingadmissionpolicy/holdfast-service-accounts", "--for=jsonpath={.status.observedGeneration}", "--timeout=120s")
	assert.Empty(t, kubectl(t, c, "", "get", "validatingadmissionpolicy/holdfast-service-accounts", "--output=jsonpath={.status.typeChecking.expressionWarnings}"))
}
