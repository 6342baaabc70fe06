package manifests_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"holdfast.dev/holdfast/deploy/crd"
	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/klog/v2"
)

// bundle is a set of manifests that an upstream project publishes. The files come from the project's Go
// module, whose checksum is verified.
type bundle struct {
	name, module, sum string
	files             []string // patterns
	by                string   // kubectl apply, kubectl apply --server-side, helm install, kubectl create
}

const (
	byApply  = "apply"
	byServer = "server-side apply"
	byHelm   = "helm"
	byCreate = "create"
)

const kubernetes, kubernetesSum = "k8s.io/kubernetes@v1.36.3", "h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o="

// The first bundles are the sample of `make test`.
var bundles = []bundle{
	{"cassandra", kubernetes, kubernetesSum, []string{"test/e2e/testing-manifests/statefulset/cassandra/*.yaml"}, byHelm},
	{"etcd", kubernetes, kubernetesSum, []string{"test/e2e/testing-manifests/statefulset/etcd/*.yaml"}, byApply},
	{"external-dns", "sigs.k8s.io/external-dns@v0.15.0", "h1:4NCSLHONsTmJXD8KReb4hubSz9Cx4goCHz3Dl+pGR+Q=",
		[]string{"kustomize/external-dns-*.yaml"}, byServer},

	{"cluster-autoscaler", kubernetes, kubernetesSum, []string{"cluster/addons/rbac/cluster-autoscaler/*.yaml"}, byHelm},
	{"zookeeper", kubernetes, kubernetesSum, []string{"test/e2e/testing-manifests/statefulset/zookeeper/*.yaml"}, byCreate},
	{"mysql-upgrade", kubernetes, kubernetesSum, []string{"test/e2e/testing-manifests/statefulset/mysql-upgrade/*.yaml"}, byApply},
	{"cockroachdb", kubernetes, kubernetesSum, []string{"test/e2e/testing-manifests/statefulset/cockroachdb/*.yaml"}, byServer},
	{"calico", kubernetes, kubernetesSum, []string{"cluster/addons/calico-policy-controller/*-crd.yaml", "cluster/addons/calico-policy-controller/calico-cpva-*.yaml"}, byHelm},
	{"volumesnapshots", kubernetes, kubernetesSum, []string{"cluster/addons/volumesnapshots/*/*.yaml"}, byApply},
	{"kube-network-policies", kubernetes, kubernetesSum, []string{"cluster/addons/kube-network-policies/*-rbac.yaml"}, byCreate},
	{"ip-masq-agent", kubernetes, kubernetesSum, []string{"cluster/addons/ip-masq-agent/*.yaml"}, byApply},
	{"dns-autoscaler", kubernetes, kubernetesSum, []string{"cluster/addons/dns-horizontal-autoscaler/*.yaml"}, byServer},
	{"fluentd", kubernetes, kubernetesSum, []string{"cluster/addons/fluentd-gcp/event-exporter.yaml", "cluster/addons/fluentd-gcp/fluentd-gcp-configmap.yaml", "cluster/addons/fluentd-gcp/fluentd-gcp-ds-sa.yaml", "cluster/addons/fluentd-gcp/scaler-rbac.yaml"}, byApply},
	{"cloudnative-pg", "github.com/cloudnative-pg/cloudnative-pg@v1.24.1", "h1:U1ETvJXvJzv3wpsfuL3RvpyNTb9273etXvYAOE0CgFk=",
		[]string{"releases/cnpg-1.24.1.yaml"}, byServer},
	{"prometheus-operator", "github.com/prometheus-operator/prometheus-operator@v0.78.2", "h1:ismQgRxQbfZf/iFpEXxpbciqmzpUKmQLKmdJl+2k7KE=",
		[]string{"bundle.yaml"}, byCreate},
	{"gateway-api", "sigs.k8s.io/gateway-api@v1.2.1", "h1:fZZ/+RyRb+Y5tGkwxFKuYuSRQHu9dZtbjenblleOLHM=",
		[]string{"config/crd/standard/gateway*.yaml"}, byServer},
	{"tekton", "github.com/tektoncd/pipeline@v0.65.2", "h1:N63Xb9uiunewPVDTz4nGamJOtVg+Q38Cy4LRpvr+2e4=",
		[]string{"config/100-namespace/*.yaml", "config/2*.yaml", "config/config-*.yaml", "config/controller.yaml", "config/events.yaml", "config/webhook-hpa.yaml"}, byApply},
	{"argo-cd", "github.com/argoproj/argo-cd/v2@v2.13.2", "h1:eLar0aAqz7AgJiYncRzkPkqEbIxiXl+pUzOuSi47tA0=",
		[]string{"manifests/namespace-install.yaml"}, byHelm},
	{"rook", "github.com/rook/rook@v1.15.6", "h1:LEBtNqEdpNcRFg3LX8oSGkYM/NdpbNbeHFtMONvU+tc=",
		[]string{"deploy/examples/common.yaml", "deploy/examples/operator.yaml"}, byApply},
	{"argo-rollouts", "github.com/argoproj/argo-rollouts@v1.7.2", "h1:faDUH/qePerYRwsrHfVzNQkhjGBgXIiVYdVK8824kMo=",
		[]string{"manifests/namespace-install.yaml"}, byHelm},
	{"snapshot-controller", "github.com/kubernetes-csi/external-snapshotter/v8@v8.2.0", "h1:tkAUjVI0K0s3wp+KjIHR284nkKNIv17KHOYeEy1fd3A=",
		[]string{"deploy/kubernetes/csi-snapshotter/*-*.yaml"}, byServer},
	{"metallb", "go.universe.tf/metallb@v0.14.9", "h1:FYLII4Rpnju8pLY79H0BIoJVQI4mmEzeO9BJ0X44HX8=",
		[]string{"config/manifests/metallb-native.yaml"}, byApply},
	{"contour", "github.com/projectcontour/contour@v1.30.1", "h1:JSeQPA6D+g4MHq7O8L2SwrwR3ZmzIJWLvYbdr6A/uSg=",
		[]string{"examples/contour/00-*.yaml", "examples/contour/02-*.yaml", "examples/contour/03-*.yaml"}, byHelm},
	{"autoscaler", "k8s.io/autoscaler/vertical-pod-autoscaler@v1.2.1", "h1:t5t0Rsn4b7iQfiVlGdWSEnEx8pjrSM96Sn4Dvo1QH/Q=",
		[]string{"deploy/vpa-rbac.yaml", "deploy/recommender-deployment.yaml", "deploy/updater-deployment.yaml"}, byCreate},
	{"kyverno", "github.com/kyverno/kyverno@v1.13.2", "h1:ZrL4/QSZdRD1XvAxwHV0GcmLE8iQpmqKikwb6/+bgzg=",
		[]string{"config/install-latest-testing.yaml"}, byServer},
}

// documents returns the files as one text.
func (b bundle) documents(t *testing.T) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", b.module)
	command.Dir, command.Env = t.TempDir(), append(os.Environ(), "GOFLAGS=-mod=mod", "GONOSUMDB=*") // bundles contains the checksum
	output, err := command.Output()
	require.NoError(t, err, "%s", output)
	var downloaded struct{ Dir, Sum string }
	require.NoError(t, json.Unmarshal(output, &downloaded))
	require.Equal(t, b.sum, downloaded.Sum)
	var text strings.Builder
	for _, pattern := range b.files {
		found, err := filepath.Glob(filepath.Join(downloaded.Dir, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		for _, file := range found {
			if filepath.Base(file) == "kustomization.yaml" {
				continue
			}
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			text.WriteString("---\n" + string(content) + "\n")
		}
	}
	return text.String()
}

// running is a cluster with installed bundles that Holdfast must hold without changes.
type running struct {
	*testing.T

	cluster *testcluster.Cluster
}

func TestRunningObjectsAreHeldUnchanged(t *testing.T) {
	c, err := testcluster.Start(t.Context(), testcluster.Options{ControllerManager: true})
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	r := running{t, c}
	r.control()
	for _, b := range bundles[:samples.Of(3, len(bundles))] {
		t.Run(b.name+" by "+b.by, func(t *testing.T) { running{t, c}.isHeldAsItIs(b) })
	}
	r.rests()
}

// control runs the controller.
func (r running) control() {
	require.NoError(r, r.cluster.Define(r.Context(), string(crd.Applications), v1alpha1.GroupVersionResource.GroupResource().String()))
	require.NoError(r, r.cluster.Define(r.Context(), string(crd.Slices), v1alpha1.SliceGroupVersionResource.GroupResource().String()))
	r.kubectl("", "wait", "--for=create", "namespace/default", "--timeout=120s")
	r.kubectl("", "create", "serviceaccount", "holdfast-applier")
	r.kubectl("", "create", "clusterrolebinding", "holdfast-applier", "--clusterrole=cluster-admin", "--serviceaccount=default:holdfast-applier")
	config := r.cluster.Config()
	config.UserAgent = userAgent
	client, err := cluster.NewClient(config)
	require.NoError(r, err)
	ctx, cancel := context.WithCancel(klog.NewContext(r.Context(), klog.New(nil))) // discards the log
	ended := make(chan error, 1)
	go func() { ended <- controller.New(client, controller.Options{}).Run(ctx) }()
	r.Cleanup(func() {
		cancel()
		<-ended
	})
}

const userAgent = "holdfast-controller"

func (r running) kubectl(stdin string, args ...string) string {
	r.Helper()
	output, err := r.cluster.Kubectl(r.Context(), stdin, args...)
	require.NoError(r, err)
	return output
}

func (r running) isHeldAsItIs(b bundle) {
	documents := b.documents(r.T)
	objects := decoded(r.T, documents)
	r.put(b, documents, objects)
	file := filepath.Join(r.TempDir(), "bundle.yaml")
	require.NoError(r, os.WriteFile(file, []byte(documents), 0o600))
	before := r.contents(file)

	r.holdfast("submit", b.name, "--from-live", "--with-secrets", "--adoption=Always", "-f", file)
	r.kubectl("", "wait", "hfapp/"+b.name, "--for=condition=Held", "--timeout=120s", "--namespace=default")
	after := r.contents(file)
	assert.Len(r, after, len(before))
	for name, object := range before {
		assert.Equal(r, object, after[name], name)
	}
	r.holdsWhatPeopleSet(b, objects)
}

// holdfast returns the output of a command.
func (r running) holdfast(args ...string) string {
	r.Helper()
	var out, messages bytes.Buffer
	status := cli.Main(r.Context(), append(append([]string{"holdfast"}, args...), "--namespace=default", "--kubeconfig="+r.cluster.Kubeconfig()), cli.Streams{
		In: strings.NewReader(""), Out: &out, Err: &messages, Getenv: func(string) string { return "" }, Now: time.Now,
	})
	require.Equal(r, 0, status, messages.String())
	return out.String()
}

// put installs the objects.
func (r running) put(b bundle, documents string, objects []map[string]any) {
	for _, namespace := range namespacesOf(objects) {
		_, _ = r.cluster.Kubectl(r.Context(), "", "create", "namespace", namespace) // it may exist
	}
	switch b.by {
	case byApply:
		r.kubectl(documents, "apply", "--filename=-")
	case byServer:
		r.kubectl(documents, "apply", "--server-side", "--filename=-")
	case byCreate:
		r.kubectl(documents, "create", "--filename=-")
	case byHelm:
		configuration := &action.Configuration{}
		kubeconfig, namespace := r.cluster.Kubeconfig(), "default"
		flags := genericclioptions.NewConfigFlags(false)
		flags.KubeConfig, flags.Namespace = &kubeconfig, &namespace
		require.NoError(r, configuration.Init(flags, namespace, "secret", func(string, ...any) {}))
		install := action.NewInstall(configuration)
		install.ReleaseName, install.Namespace = b.name, namespace
		_, err := install.RunWithContext(r.Context(), &chart.Chart{
			Metadata:  &chart.Metadata{APIVersion: chart.APIVersionV2, Name: b.name, Version: "1.0.0"},
			Templates: []*chart.File{{Name: "templates/bundle.yaml", Data: []byte(`{{ .Files.Get "bundle.yaml" }}`)}},
			Files:     []*chart.File{{Name: "bundle.yaml", Data: []byte(documents)}},
		}, nil)
		require.NoError(r, err)
	}
}

// namespacesOf returns the namespaces of the objects that are not among the objects themselves.
func namespacesOf(objects []map[string]any) []string {
	namespaces := map[string]bool{}
	for _, o := range objects {
		metadata, _ := o["metadata"].(map[string]any)
		if namespace, _ := metadata["namespace"].(string); namespace != "" {
			namespaces[namespace] = true
		}
	}
	for _, o := range objects {
		if metadata, _ := o["metadata"].(map[string]any); o["kind"] == "Namespace" {
			name, _ := metadata["name"].(string)
			delete(namespaces, name)
		}
	}
	return slices.Sorted(maps.Keys(namespaces))
}

// contents returns the live objects of a file without tracking metadata, without write counters and without
// status.
func (r running) contents(file string) map[string]string {
	var list struct{ Items []map[string]any }
	require.NoError(r, json.Unmarshal([]byte(r.kubectl("", "get", "--filename="+file, "--output=json")), &list))
	if list.Items == nil {
		var one map[string]any
		require.NoError(r, json.Unmarshal([]byte(r.kubectl("", "get", "--filename="+file, "--output=json")), &one))
		list.Items = []map[string]any{one}
	}
	contents := map[string]string{}
	for _, o := range list.Items {
		delete(o, "status")
		metadata := o["metadata"].(map[string]any)
		for _, counted := range []string{"resourceVersion", "managedFields", "generation"} {
			delete(metadata, counted) // the generation of a Deployment counts changes of its annotations
		}
		for _, field := range []string{"labels", "annotations"} {
			texts, _ := metadata[field].(map[string]any)
			maps.DeleteFunc(texts, func(key string, _ any) bool {
				return strings.HasPrefix(key, "holdfast.dev/") || key == "deployment.kubernetes.io/revision" || key == "deprecated.daemonset.template.generation"
			})
			if len(texts) == 0 {
				delete(metadata, field)
			}
		}
		text, err := json.MarshalIndent(o, "", " ")
		require.NoError(r, err)
		contents[fmt.Sprint(o["kind"], " ", metadata["namespace"], "/", metadata["name"])] = string(text)
	}
	return contents
}

// others matches fields that are held although the projects' files do not contain them: a label of Helm,
// and fields that a ReplicationController copies from its template.
var others = regexp.MustCompile(`managed-by$|^\S+ \S+\.metadata\.labels$|^ReplicationController `)

// holdsWhatPeopleSet compares the held fields with the fields in the project's files.
func (r running) holdsWhatPeopleSet(b bundle, objects []map[string]any) {
	printed := r.holdfast("get", b.name, "--output=json", "--show-secrets")
	var app v1alpha1.Application
	require.NoError(r, json.Unmarshal([]byte(printed), &app))
	written := map[string]map[string]any{}
	for _, o := range objects {
		written[keyOf(o)] = o
	}
	require.Len(r, app.Spec.Manifest, len(unique(objects)))
	for _, item := range app.Spec.Manifest {
		var held map[string]any
		require.NoError(r, json.Unmarshal(item.Raw, &held))
		for _, path := range beyond(keyOf(held), held, written[keyOf(held)]) {
			if !others.MatchString(path) {
				r.Errorf("no client has set %s", path)
			}
		}
	}
}

func keyOf(o map[string]any) string {
	metadata, _ := o["metadata"].(map[string]any)
	return fmt.Sprint(o["kind"], " ", metadata["name"])
}

func unique(objects []map[string]any) map[string]bool {
	keys := map[string]bool{}
	for _, o := range objects {
		metadata, _ := o["metadata"].(map[string]any)
		keys[fmt.Sprint(keyOf(o), metadata["namespace"])] = true
	}
	return keys
}

// beyond returns the paths of leaves in a that are not in b.
func beyond(at string, a, b any) (paths []string) {
	switch a := a.(type) {
	case map[string]any:
		b, isMap := b.(map[string]any)
		if !isMap && len(a) > 0 {
			return []string{at}
		}
		for key, value := range a {
			if _, has := b[key]; !has {
				paths = append(paths, at+"."+key)
				continue
			}
			paths = append(paths, beyond(at+"."+key, value, b[key])...)
		}
	case []any:
		b, _ := b.([]any)
		for i := range a {
			if i >= len(b) {
				return append(paths, at+"[+]")
			}
			paths = append(paths, beyond(fmt.Sprintf("%s[%d]", at, i), a[i], b[i])...)
		}
	}
	return paths
}

func decoded(t *testing.T, text string) (objects []map[string]any) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var object map[string]any
		if err := decoder.Decode(&object); err != nil {
			return objects
		}
		switch items, isList := object["items"].([]any); {
		case isList:
			for _, item := range items {
				objects = append(objects, item.(map[string]any))
			}
		case object != nil:
			objects = append(objects, object)
		}
	}
}

// rests waits until the controller has sent no requests for a while.
func (r running) rests() {
	all, err := r.cluster.Requests(0)
	require.NoError(r, err)
	require.NotEmpty(r, all.By(userAgent).Writes(), "it is this controller that rests")
	mark, begun := r.cluster.Mark(), time.Now()
	require.Eventually(r, func() bool {
		requests, err := r.cluster.Requests(mark)
		require.NoError(r, err)
		last := begun
		for _, q := range requests.By(userAgent) {
			if q.Resource != "leases" && q.Verb != "watch" {
				last = q.Done
			}
		}
		return time.Since(last) > 5*time.Second
	}, 2*time.Minute, 100*time.Millisecond, "0 requests at rest")
}
