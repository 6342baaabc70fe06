package controller_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/deploy/crd"
	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	v1 "holdfast.dev/holdfast/pkg/api/mysql/v1"
	"holdfast.dev/holdfast/pkg/builtin"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/mysql"
	"holdfast.dev/holdfast/pkg/template"
)

var (
	mysqls       = v1.GroupVersionResource
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	claims       = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	pods         = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	volumes      = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
)

// classes are two StorageClasses: one allows volume expansion, the other does not.
const classes = `
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: elastic, annotations: {storageclass.kubernetes.io/is-default-class: "true"}},
  provisioner: kubernetes.io/no-provisioner, allowVolumeExpansion: true}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: rigid}, provisioner: kubernetes.io/no-provisioner}`

// All database tests share a control plane with a simulated node, which runs the Pods. No provisioner
// runs there, so each test creates the volumes for its claims.
func TestMysql(t *testing.T) {
	f := givenAlone(t, testcluster.Options{Node: true})
	require.NoError(t, f.cluster.Define(t.Context(), string(crd.Mysqls), mysqls.GroupResource().String()))
	_, err := f.cluster.Kubectl(t.Context(), classes, "apply", "--filename=-")
	require.NoError(t, err)
	asController := f.asController()
	holding := f.RunThrough(asController, controller.Options{Templates: builtin.Templates()})

	for _, row := range []struct {
		name string
		test func(*fixture)
	}{
		{"the sample, from kubectl apply to ready", (*fixture).testSample},
		{"deleted children are created again", (*fixture).testChildren},
		{"a changed spec reaches the Pod", (*fixture).testSpecChanges},
		{"changes of free fields are kept", (*fixture).testFreeFields},
		{"a volume grows, and does not shrink", (*fixture).testStorage},
		{"a class may forbid growth", (*fixture).testRigidStorage},
		{"a spec that cannot be is refused, and the database runs on", (*fixture).testRefused},
		{"an Application of another owner is not changed", (*fixture).testConflict},
		{"missing permissions are reported", (*fixture).testRights},
		{"the volume is kept, and adopted", (*fixture).testKeep},
		{"a kept volume does not shrink", (*fixture).testKeptVolume},
		{"a version of an earlier series is rejected", (*fixture).testVersions},
		{"the volume is deleted", (*fixture).testDelete},
		{"quantities in other forms", (*fixture).testQuantities},
		{"many at once", (*fixture).testMany},
	} {
		t.Run(row.name, func(t *testing.T) { row.test(f.Elsewhere(t)) })
	}
	t.Run("a restart writes nothing", func(t *testing.T) {
		f := f.Elsewhere(t)
		f.Database("db", "")
		f.AwaitDatabase("db")
		f.Quiet(quiet)
		holding.Stop()
		f.Mark()
		f.RunThrough(asController, controller.Options{Templates: builtin.Templates()})
		f.Quiet(quiet)
		assert.Empty(t, withoutEvents(f.Requests()).Writes(), "%s", f.Requests())
	})
}

// asController makes the controller act with exactly the rights that the deploy manifests grant.
func (f *fixture) asController() func(http.RoundTripper) http.RoundTripper {
	f.t.Helper()
	_, err := f.cluster.Kubectl(f.t.Context(), string(deploy.Install()), "apply", "--server-side", "--filename=-")
	require.NoError(f.t, err)
	f.eventually("the rights of the controller to be put together", func() bool {
		_, err := f.cluster.Kubectl(f.t.Context(), "", "auth", "can-i", "watch", "secrets", "--all-namespaces",
			"--as=system:serviceaccount:holdfast-system:holdfast-controller")
		return err == nil
	})
	token, err := f.cluster.Kubectl(f.t.Context(), "", "create", "token", "holdfast-controller", "--namespace=holdfast-system", "--duration=1h")
	require.NoError(f.t, err)
	return func(next http.RoundTripper) http.RoundTripper {
		return sender(func(request *http.Request) (*http.Response, error) {
			request = request.Clone(request.Context())
			request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
			return next.RoundTrip(request)
		})
	}
}

type sender func(*http.Request) (*http.Response, error)

func (s sender) RoundTrip(request *http.Request) (*http.Response, error) { return s(request) }

// Volume creates a volume for the claim of a database. The database does not have to exist yet.
func (f *fixture) Volume(database, class string) {
	f.t.Helper()
	volume := f.object(fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: $NS-%[1]s}
spec: {capacity: {storage: 100Gi}, accessModes: [ReadWriteOnce], storageClassName: %[2]s, hostPath: {path: /nowhere},
  persistentVolumeReclaimPolicy: Retain, claimRef: {namespace: $NS, name: %[1]s-data}}`, database, class))
	_, err := f.As("user").Resource(volumes).Create(f.t.Context(), volume, metav1.CreateOptions{})
	require.NoError(f.t, err)
}

// Database applies a Mysql and creates its volume if there is none.
func (f *fixture) Database(name, spec string) {
	f.t.Helper()
	if spec == "" {
		spec = "{storage: 256Mi, memory: 128Mi, cpu: 250m}"
	}
	if _, err := f.As("user").Resource(volumes).Get(f.t.Context(), f.namespace+"-"+name, metav1.GetOptions{}); err != nil {
		f.Volume(name, "elastic")
	}
	u := f.object(fmt.Sprintf("{apiVersion: fnjoin.com/v1, kind: Mysql, metadata: {name: %s}, spec: %s}", name, spec))
	_, err := f.in("user", mysqls).Apply(f.t.Context(), name, u, metav1.ApplyOptions{FieldManager: "user", Force: true})
	require.NoError(f.t, err)
}

// mysqlOf decodes a Mysql, or returns nil if there is none.
func mysqlOf(object map[string]any) *v1.Mysql {
	if object == nil {
		return nil
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		panic(err)
	}
	m := &v1.Mysql{}
	if err := yaml.UnmarshalStrict(text, m, yaml.DisallowUnknownFields); err != nil {
		panic(err)
	}
	return m
}

// of returns a condition of a Mysql.
func of(m *v1.Mysql, kind string) v1.Condition {
	for _, c := range m.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1.Condition{}
}

// AwaitMysql waits until wanted returns true for the current generation of a Mysql.
func (f *fixture) AwaitMysql(name, what string, wanted func(*v1.Mysql) bool) *v1.Mysql {
	f.t.Helper()
	return mysqlOf(f.Await(mysqls, name, what, func(object map[string]any) bool {
		m := mysqlOf(object)
		return m != nil && m.Status.ObservedGeneration == m.Generation && wanted(m)
	}))
}

// AwaitDatabase waits until a database is ready and matches its spec.
func (f *fixture) AwaitDatabase(name string) *v1.Mysql {
	f.t.Helper()
	return f.AwaitMysql(name, "ready", func(m *v1.Mysql) bool {
		return m.Status.Ready && of(m, v1.ConditionReady).Status == v1.True
	})
}

// AwaitTrouble waits until a database is not ready for the given reason.
func (f *fixture) AwaitTrouble(name, reason string) *v1.Mysql {
	f.t.Helper()
	return f.AwaitMysql(name, "not ready because "+reason, func(m *v1.Mysql) bool {
		ready := of(m, v1.ConditionReady)
		return ready.Status == v1.False && ready.Reason == reason
	})
}

// AwaitDescribed waits until the events in the output of kubectl describe contain all of these texts.
func (f *fixture) AwaitDescribed(object string, parts ...string) {
	f.t.Helper()
	f.eventually("a description with "+strings.Join(parts, ", "), func() bool {
		told, err := f.kubectl("", "describe", object)
		require.NoError(f.t, err)
		_, events, _ := strings.Cut(told, "\nEvents:")
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(events, part) })
	})
}

// written returns the controller's write requests in the test's namespace, without events.
func (f *fixture) written() testcluster.Requests {
	f.t.Helper()
	return withoutEvents(f.Requests()).Writes().Where(f.here)
}

// here reports whether a request concerns the test's namespace.
func (f *fixture) here(r testcluster.Request) bool { return r.Namespace == f.namespace }

// statuses returns a function that returns every status of the namespace's Mysqls since the watch
// began.
func (f *fixture) statuses(ctx context.Context) func() []v1.MysqlStatus {
	f.t.Helper()
	stream, err := f.in("user", mysqls).Watch(ctx, metav1.ListOptions{})
	require.NoError(f.t, err)
	var seen []v1.MysqlStatus
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range stream.ResultChan() {
			if u, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Deleted {
				seen = append(seen, mysqlOf(u.Object).Status)
			}
		}
	}()
	return func() []v1.MysqlStatus {
		stream.Stop()
		<-done
		return seen
	}
}

func (f *fixture) testSample() {
	t := f.t
	sample, err := os.ReadFile("../../testdata/mysql/the-sample/mysql.yaml")
	require.NoError(t, err)
	history := f.statuses(t.Context())
	f.Mark()

	_, err = f.kubectl(string(sample), "apply", "--filename=-")
	require.NoError(t, err)
	f.AwaitMysql("db-1", "CREATING", func(m *v1.Mysql) bool { // the Pod waits for its volume
		return of(m, v1.ConditionStatefulSet).Status == v1.Creating && of(m, v1.ConditionSecret).Status == v1.Available && !m.Status.Ready
	})
	f.AwaitMysql("db-1", "the name of the claim that has no volume", func(m *v1.Mysql) bool {
		return strings.Contains(of(m, v1.ConditionReady).Message, "the PersistentVolumeClaim db-1-data")
	})
	f.Volume("db-1", "elastic")
	_, err = f.kubectl("", "wait", "--for=condition=Ready", "mysql/db-1", "--timeout=120s")
	require.NoError(t, err)

	m := f.AwaitDatabase("db-1")
	assert.Equal(t, &v1.Connection{Host: "db-1." + f.namespace + ".svc", Port: 3306, SecretName: "db-1"}, m.Status.Connection)
	for _, kind := range []string{v1.ConditionStatefulSet, v1.ConditionService, v1.ConditionSecret} {
		assert.Equal(t, v1.Available, of(m, kind).Status, kind)
	}
	f.Quiet(quiet)
	f.AwaitDescribed("mysql/db-1", "Normal", "Created", "created ")

	// The number of steps is not fixed. The StatefulSet may have its ready replica a moment before its
	// status reports that the rollout is complete.
	var path []string
	for _, status := range history() {
		set := of(&v1.Mysql{Status: status}, v1.ConditionStatefulSet)
		path = append(path, fmt.Sprint(set.Status, " ", status.Ready, " ", of(&v1.Mysql{Status: status}, v1.ConditionReady).Status))
	}
	t.Run("it went through CREATING", func(t *testing.T) {
		assert.Contains(t, path, "CREATING false False")
		assert.Equal(t, "AVAILABLE true True", path[len(path)-1])
	})
	t.Run("what was asked of the API server", func(t *testing.T) {
		for _, r := range f.Requests() {
			assert.Equal(t, "system:serviceaccount:holdfast-system:holdfast-controller", r.User, "%s", r)
			if r.Group != "holdfast.dev" && r.Group != "fnjoin.com" && r.Resource != events.Resource && r.Verb != "list" && r.Verb != "get" {
				assert.Equal(t, "system:serviceaccount:"+f.namespace+":"+applier, r.ImpersonatedUser, "%s", r)
			}
		}
		n := counts(f.written())
		assert.Equal(t, 1, n["create applications"])
		assert.Equal(t, 2, n["create services"])
		for _, once := range []string{"secrets", "configmaps", "persistentvolumeclaims", "statefulsets"} {
			assert.Equal(t, 1, n["create "+once], once)
		}
		assert.Equal(t, len(path)-1, n["patch mysqls/status"], "a write of a status was no news: %q", path)
		assert.Zero(t, n["patch statefulsets"])
	})
	t.Run("the Pod has the volume and the credentials", func(t *testing.T) {
		pod := f.Get(pods, "db-1-0")
		assert.Equal(t, "docker.io/library/mysql:8.4", value(pod, "spec", "containers", "0", "image"))
		assert.Equal(t, "db-1-data", value(pod, "spec", "volumes", "0", "persistentVolumeClaim", "claimName"))
		secret := f.Get(secrets, "db-1")
		for _, key := range []string{"password", "root-password", "host", "port", "username", "database"} {
			assert.NotEmpty(t, value(secret, "data", key), key)
		}
	})
	t.Run("the password is in no other object", func(t *testing.T) {
		secret := f.Get(secrets, "db-1")
		for _, object := range []map[string]any{f.Get(applications, "db-1"), f.Get(mysqls, "db-1"), f.Get(statefulSets, "db-1"), f.Get(configMaps, "db-1-config")} {
			text, err := yaml.Marshal(object)
			require.NoError(t, err)
			assert.NotContains(t, string(text), value(secret, "data", "password"))
		}
	})
	t.Run("what kubectl shows", func(t *testing.T) {
		output, err := f.kubectl("", "get", "mysql")
		require.NoError(t, err)
		rows := strings.Split(strings.TrimSpace(output), "\n")
		assert.Equal(t, []string{"NAME", "STORAGE", "MEMORY", "CPU", "READY", "AGE"}, strings.Fields(rows[0]))
		assert.Equal(t, []string{"db-1", "256Mi", "128Mi", "250m", "true"}, strings.Fields(rows[1])[:5])
	})
	t.Run("applying it again changes nothing", func(t *testing.T) {
		f.Mark()
		_, err = f.kubectl(string(sample), "apply", "--filename=-")
		require.NoError(t, err)
		f.Quiet(time.Second)
		assert.Empty(t, f.written())
	})
}

func (f *fixture) testChildren() {
	t := f.t
	f.Database("db", "")
	f.AwaitDatabase("db")
	claim := value(f.Get(claims, "db-data"), "metadata", "uid")
	children := []struct {
		resource schema.GroupVersionResource
		name     string
	}{{secrets, "db"}, {services, "db"}, {services, "db-headless"}, {configMaps, "db-config"}, {statefulSets, "db"}}
	uids := func() (all []any) {
		for _, child := range children {
			all = append(all, value(f.Get(child.resource, child.name), "metadata", "uid"))
		}
		return all
	}

	for i, child := range children {
		before := uids()
		f.Delete(child.resource, child.name)
		f.Await(child.resource, child.name, "there again", func(object map[string]any) bool {
			return object != nil && value(object, "metadata", "uid") != before[i]
		})
		f.AwaitDatabase("db")
	}

	before := uids()
	for _, child := range children {
		f.Delete(child.resource, child.name)
	}
	f.eventually("all children again", func() bool {
		for i, uid := range uids() {
			if uid == nil || uid == before[i] {
				return false
			}
		}
		return true
	})
	f.AwaitDatabase("db")
	assert.Equal(t, claim, value(f.Get(claims, "db-data"), "metadata", "uid"), "the data are the same")
	f.Quiet(quiet)

	t.Run("an Application that is deleted is made again", func(t *testing.T) {
		before := value(f.Get(applications, "db"), "metadata", "uid")
		f.Delete(applications, "db")
		f.Await(applications, "db", "there again", func(object map[string]any) bool {
			return object != nil && value(object, "metadata", "uid") != before
		})
		f.AwaitDatabase("db")
		assert.Equal(t, claim, value(f.Get(claims, "db-data"), "metadata", "uid"), "the data are the same")
		f.Quiet(quiet)
	})
}

func (f *fixture) testSpecChanges() {
	t := f.t
	f.Database("db", "")
	f.AwaitDatabase("db")
	password := value(f.Get(secrets, "db"), "data", "password")
	assert.NotEmpty(t, password)
	pod := value(f.Get(pods, "db-0"), "metadata", "uid")

	f.Database("db", "{storage: 256Mi, memory: 1Gi, cpu: 500m, version: 8.4.6}")
	f.AwaitDatabase("db")
	f.Await(pods, "db-0", "the new Pod", func(object map[string]any) bool {
		return object != nil && value(object, "metadata", "uid") != pod
	})
	f.AwaitDatabase("db")

	set := f.Get(statefulSets, "db")
	assert.Equal(t, "1Gi", value(set, "spec", "template", "spec", "containers", "0", "resources", "limits", "memory"))
	assert.Equal(t, "500m", value(set, "spec", "template", "spec", "containers", "0", "resources", "requests", "cpu"))
	assert.Equal(t, "docker.io/library/mysql:8.4.6", value(f.Get(pods, "db-0"), "spec", "containers", "0", "image"))
	assert.Contains(t, value(f.Get(configMaps, "db-config"), "data", "my.cnf"), "innodb-buffer-pool-size=384M")
	assert.Equal(t, password, value(f.Get(secrets, "db"), "data", "password"), "the password is the same")
	f.Quiet(quiet)

	t.Run("and drift does not", func(*testing.T) {
		f.Patch("mallory", statefulSets, "db", `{spec: {replicas: 3}}`)
		f.Await(statefulSets, "db", "one replica", func(object map[string]any) bool { return value(object, "spec", "replicas") == int64(1) })
		f.PatchJSON("mallory", statefulSets, "db", `[{op: replace, path: /spec/template/spec/containers/0/resources/limits/cpu, value: "4"}]`)
		f.AwaitValue(statefulSets, "db", "500m", "spec", "template", "spec", "containers", "0", "resources", "limits", "cpu")
		f.Patch("mallory", applications, "db", `{spec: {manifest: []}}`)
		f.Await(applications, "db", "its manifests again", func(object map[string]any) bool {
			manifests, _, _ := unstructured.NestedSlice(object, "spec", "manifest")
			return len(manifests) == 6
		})
		f.AwaitDatabase("db")
		f.Quiet(quiet)
	})
}

func (f *fixture) testFreeFields() {
	t := f.t
	f.Database("db", "")
	f.AwaitDatabase("db")
	before := value(f.Get(pods, "db-0"), "metadata", "uid")

	_, err := f.kubectl("", "rollout", "restart", "statefulset/db")
	require.NoError(t, err)
	f.Await(pods, "db-0", "the new Pod", func(object map[string]any) bool {
		return object != nil && value(object, "metadata", "uid") != before
	})
	f.AwaitDatabase("db")
	f.Patch("admission", statefulSets, "db", `{spec: {template: {spec: {priorityClassName: system-cluster-critical, tolerations: [{key: db, operator: Exists}]}}}}`)
	f.Patch("admission", services, "db", `{metadata: {annotations: {example.com/scrape: "true"}}}`)
	f.Patch("user", applications, "db", `{spec: {interval: 1h}}`)
	f.Quiet(quiet)

	set := f.Get(statefulSets, "db")
	assert.NotNil(t, value(set, "spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"))
	assert.Equal(t, "db", value(set, "spec", "template", "spec", "tolerations", "0", "key"))
	assert.Equal(t, "true", value(f.Get(services, "db"), "metadata", "annotations", "example.com/scrape"))
	assert.Equal(t, "1h0m0s", f.Application("db").Spec.Interval.Duration.String(), "the rest of the Application's spec is free")
	f.AwaitDatabase("db")
}

func (f *fixture) testStorage() {
	t := f.t
	f.Database("db", "{storage: 1Gi}")
	f.AwaitDatabase("db")
	pod := value(f.Get(pods, "db-0"), "metadata", "uid")

	f.Database("db", "{storage: 2Gi}")
	f.AwaitValue(claims, "db-data", "2Gi", "spec", "resources", "requests", "storage")
	f.AwaitDatabase("db")
	assert.Equal(t, pod, value(f.Get(pods, "db-0"), "metadata", "uid"), "the database runs on")
	f.Quiet(quiet)

	f.Mark()
	f.Database("db", "{storage: 1536Mi, cpu: 750m}")
	m := f.AwaitTrouble("db", mysql.ReasonStorageShrinks)
	assert.Contains(t, of(m, v1.ConditionReady).Message, "set it to at least 2Gi")
	assert.Equal(t, v1.True, of(m, v1.ConditionStalled).Status)
	assert.True(t, m.Status.Ready, "the database is still ready")
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"patch mysqls/status": 1}, counts(f.written()), "nothing else is changed")

	f.Database("db", "{storage: 2Gi, cpu: 750m}")
	m = f.AwaitDatabase("db")
	assert.Empty(t, of(m, v1.ConditionStalled))
	f.AwaitValue(statefulSets, "db", "750m", "spec", "template", "spec", "containers", "0", "resources", "limits", "cpu")
}

func (f *fixture) testRigidStorage() {
	t := f.t
	f.Volume("db", "rigid")
	f.Database("db", "{storage: 1Gi, storageClassName: rigid}")
	f.AwaitDatabase("db")

	f.Database("db", "{storage: 2Gi, storageClassName: rigid}")
	m := f.AwaitMysql("db", "stalled", func(m *v1.Mysql) bool { return of(m, v1.ConditionStalled).Status == v1.True })
	assert.Contains(t, of(m, v1.ConditionReady).Message, "resize")
	assert.True(t, m.Status.Ready)

	f.Database("db", "{storage: 1Gi, storageClassName: rigid}")
	f.AwaitDatabase("db")
	f.Quiet(quiet)
	_, err := f.kubectl("", "patch", "mysql/db", "--type=merge", `--patch={"spec":{"storageClassName":"elastic"}}`)
	require.ErrorContains(t, err, "spec.storageClassName is immutable")
	_, err = f.kubectl("", "patch", "mysql/db", "--type=merge", `--patch={"spec":{"database":"other"}}`)
	require.ErrorContains(t, err, "spec.database is immutable")
}

func (f *fixture) testRefused() {
	t := f.t
	f.Database("db", "{}")
	f.AwaitDatabase("db")
	f.Quiet(quiet)
	f.Mark()
	f.Database("db", `{memory: 1Gi, configuration: "datadir = /elsewhere"}`)

	m := f.AwaitTrouble("db", template.ReasonSpecInvalid)

	assert.Contains(t, of(m, v1.ConditionReady).Message, "spec.configuration: line 1: datadir cannot be set")
	assert.True(t, m.Status.Ready)
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"patch mysqls/status": 1}, counts(f.written()))
	f.AwaitDescribed("mysql/db", "Warning", template.ReasonSpecInvalid, "datadir cannot be set")
	f.Database("db", `{memory: 1Gi, configuration: "sort_buffer_size = 1M"}`)
	f.AwaitDatabase("db")

	for name, row := range map[string]struct{ name, spec, message string }{
		"a cpu that is no quantity": {"a", "{cpu: abc}", "must be a quantity such as 250m or 2"},
		"too little memory":         {"a", "{memory: 64Mi}", "must be at least 128Mi"},
		"too little storage":        {"a", "{storage: 255Mi}", "must be at least 256Mi"},
		"a database of the server":  {"a", "{database: MYSQL}", "must not be a system database of the server"},
		"a tag that is none":        {"a", `{version: "8.4 beta"}`, "spec.version"},
		"a name that is too long":   {strings.Repeat("a", 53), "{}", "at most 52 characters"},
		"a name with a dot":         {"a.b", "{}", "must be a valid name of a Service"},
	} {
		t.Run(name+" is not stored", func(t *testing.T) {
			_, err := f.kubectl(fmt.Sprintf("{apiVersion: fnjoin.com/v1, kind: Mysql, metadata: {name: %s}, spec: %s}", row.name, row.spec), "create", "--filename=-")
			require.ErrorContains(t, err, row.message)
		})
	}
}

// The API server normalizes quantities. That is neither drift nor a new size. The longest allowed name
// is short enough for all derived names.
func (f *fixture) testQuantities() {
	t := f.t
	longest := strings.Repeat("a", 52)
	for name, spec := range map[string]string{
		"halves":     "{cpu: '0.5', memory: 0.5Gi, storage: 0.5Gi}",
		"exponents":  "{cpu: '1e0', memory: '1e9', storage: '1e9'}",
		"thousandth": "{cpu: 10.5m, memory: 536870912000m, storage: 1073741824000m}",
		"trillions":  "{cpu: 1000m, memory: 1024Mi, storage: 1024Mi}",
		longest:      "{}",
	} {
		f.Database(name, spec)
	}
	for _, name := range []string{"halves", "exponents", "thousandth", "trillions", longest} {
		f.AwaitDatabase(name)
	}
	f.Quiet(quiet)
	for _, name := range []string{"halves", "exponents", "thousandth", "trillions", longest} {
		m := f.AwaitDatabase(name)
		assert.Empty(t, of(m, v1.ConditionStalled))
		assert.Empty(t, f.Application(name).Status.Contested)
	}
	f.Database("halves", "{cpu: 500m, memory: 512Mi, storage: 512Mi}") // the same values
	f.AwaitDatabase("halves")
	f.Quiet(quiet)
	f.Patch("mallory", statefulSets, longest, `{spec: {replicas: 2}}`)
	f.AwaitValue(statefulSets, longest, int64(1), "spec", "replicas")
}

func (f *fixture) testConflict() {
	t := f.t
	f.Submit("db", oneConfig)
	f.AwaitReady("db")
	f.Database("db", "")

	m := f.AwaitTrouble("db", template.ReasonApplicationConflict)

	assert.Contains(t, of(m, v1.ConditionReady).Message, "without an owner")
	assert.Equal(t, v1.Missing, of(m, v1.ConditionStatefulSet).Status)
	assert.False(t, m.Status.Ready)
	assert.Len(t, f.Application("db").Spec.Manifest, 1)
	f.Quiet(quiet)
	f.Delete(applications, "db")
	f.AwaitDatabase("db")
}

func (f *fixture) testRights() {
	t := f.t
	f.revoke()
	f.Database("db", "")
	m := f.AwaitTrouble("db", "Forbidden")
	assert.Contains(t, of(m, v1.ConditionReady).Message, f.command())
	assert.Equal(t, v1.Missing, of(m, v1.ConditionSecret).Status)

	f.Create("user", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: deployer}}`)
	f.Grant("cluster-admin", "deployer")
	f.Database("db", "{storage: 256Mi, memory: 128Mi, cpu: 250m, serviceAccountName: deployer}")
	f.AwaitDatabase("db")
}

func (f *fixture) testKeep() {
	t := f.t
	f.Database("db", "")
	f.AwaitDatabase("db")
	password := value(f.Get(secrets, "db"), "data", "password")
	assert.NotEmpty(t, password)
	claim := value(f.Get(claims, "db-data"), "metadata", "uid")

	f.Delete(mysqls, "db")
	f.AwaitGone(applications, "db")
	f.AwaitGone(statefulSets, "db")
	for _, gone := range []schema.GroupVersionResource{services, statefulSets} {
		assert.Nil(t, f.Get(gone, "db"), gone.Resource)
	}
	assert.Equal(t, claim, value(f.Get(claims, "db-data"), "metadata", "uid"))
	assert.Equal(t, password, value(f.Get(secrets, "db"), "data", "password"))
	f.Quiet(quiet)

	f.Database("db", "")
	f.AwaitDatabase("db")
	assert.Equal(t, claim, value(f.Get(claims, "db-data"), "metadata", "uid"))
	assert.Equal(t, password, value(f.Get(secrets, "db"), "data", "password"))
	f.Quiet(quiet)

	t.Run("made again at once, it waits for the end of its predecessor", func(t *testing.T) {
		before := f.Get(mysqls, "db")
		f.Delete(mysqls, "db")
		f.Database("db", "")
		m := f.AwaitDatabase("db")
		assert.NotEqual(t, value(before, "metadata", "uid"), string(m.UID))
		f.Await(applications, "db", "its own Application", func(object map[string]any) bool {
			return object != nil && value(object, "metadata", "ownerReferences", "0", "uid") == string(m.UID)
		})
		m = f.AwaitDatabase("db")
		assert.Equal(t, claim, value(f.Get(claims, "db-data"), "metadata", "uid"))
		f.Quiet(quiet)
	})
}

// Nothing is created if the volume of an earlier Mysql does not fit the spec.
func (f *fixture) testKeptVolume() {
	t := f.t
	f.Database("db", "{storage: 1Gi}")
	f.AwaitDatabase("db")
	claim := value(f.Get(claims, "db-data"), "metadata", "uid")
	f.Delete(mysqls, "db")
	f.AwaitGone(applications, "db")
	f.AwaitGone(statefulSets, "db")
	f.Quiet(quiet)

	f.Mark()
	f.Database("db", "{storage: 256Mi}")
	m := f.AwaitTrouble("db", mysql.ReasonStorageShrinks)
	assert.Equal(t, "spec.storage: is 256Mi, and the volume db-data has 1Gi, which cannot shrink: "+
		"set it to at least 1Gi, or dump the data into a smaller Mysql", of(m, v1.ConditionReady).Message)
	assert.Equal(t, v1.True, of(m, v1.ConditionStalled).Status)
	assert.Equal(t, v1.Missing, of(m, v1.ConditionSecret).Status)
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"patch mysqls/status": 1}, counts(f.written()), "nothing is created")
	f.AwaitDescribed("mysql/db", "Warning", mysql.ReasonStorageShrinks)

	f.Database("db", "{storage: 1Gi}")
	f.AwaitDatabase("db")
	assert.Equal(t, claim, value(f.Get(claims, "db-data"), "metadata", "uid"))
}

func (f *fixture) testVersions() {
	t := f.t
	f.Database("db", "{version: 9.1.0}")
	f.AwaitDatabase("db")
	f.AwaitMysql("db", "the version that ran", func(m *v1.Mysql) bool { return m.Status.Version == "9.1.0" })
	f.Quiet(quiet)
	const message = "spec.version: is 8.4, and the data are of 9.1.0: MySQL does not return to an earlier series. " +
		"Set it to at least 9.1, or load a dump of the data into a new Mysql"

	f.Mark()
	f.Database("db", "{version: '8.4'}")
	m := f.AwaitTrouble("db", mysql.ReasonVersionDowngrade)
	assert.Equal(t, message, of(m, v1.ConditionReady).Message)
	assert.True(t, m.Status.Ready, "the database continues to run")
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"patch mysqls/status": 1}, counts(f.written()))

	f.Delete(mysqls, "db")
	f.AwaitGone(applications, "db")
	f.AwaitGone(statefulSets, "db")
	f.Quiet(quiet)
	f.Mark()
	f.Database("db", "{version: '8.4'}")
	m = f.AwaitTrouble("db", mysql.ReasonVersionDowngrade)
	assert.Equal(t, message, of(m, v1.ConditionReady).Message, "also for the data of an earlier Mysql")
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"patch mysqls/status": 1}, counts(f.written()))

	f.Database("db", "{version: '9.1'}")
	f.AwaitDatabase("db")
}

func (f *fixture) testDelete() {
	f.Database("db", "{deletionPolicy: Delete}")
	f.AwaitDatabase("db")
	f.Delete(mysqls, "db")
	for _, child := range []schema.GroupVersionResource{applications, statefulSets, services, secrets} {
		f.AwaitGone(child, "db")
	}
	f.AwaitGone(claims, "db-data")
	f.AwaitGone(configMaps, "db-config")
	f.Quiet(quiet)
}

func (f *fixture) testMany() {
	n := samples.Of(15, 50)
	history := f.statuses(f.t.Context())
	for i := range n {
		f.Database(fmt.Sprintf("db-%d", i), "")
	}
	for i := range n {
		f.AwaitWithin(5*time.Minute, mysqls, fmt.Sprintf("db-%d", i), "ready", func(object map[string]any) bool {
			m := mysqlOf(object)
			return m != nil && m.Status.Ready && of(m, v1.ConditionReady).Status == v1.True
		})
	}
	f.Quiet(quiet)
	written := counts(f.written())
	assert.Equal(f.t, n, written["create applications"])
	assert.Equal(f.t, n, written["create statefulsets"])
	assert.Equal(f.t, len(history())-n, written["patch mysqls/status"], "a write of a status was no news")
}
