package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/deploy/crd"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/callback"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/plan"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests spend most of their time waiting, mainly for quiet.
	if err := flag.Set("test.parallel", "24"); err != nil {
		panic(err)
	}
	testcluster.Main(m, testcluster.Options{})
}

var (
	applications      = v1alpha1.GroupVersionResource
	applicationSlices = v1alpha1.SliceGroupVersionResource
	holdProfiles      = v1alpha1.ProfileGroupVersionResource
	autoscalers       = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	jobs              = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	configMaps        = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets           = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	services          = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	serviceAccounts   = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	namespaces        = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	deployments       = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	roleBindings      = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
	clusterBindings   = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
	accessReviews     = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}
	definitions       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	coreEvents        = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	events            = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}
)

// applier is the ServiceAccount that the controller impersonates by default.
const applier = "holdfast-applier"

// fixture gives a test its own namespace on a real API server, in which the applier may do everything.
// The test itself acts as "user".
type fixture struct {
	t         *testing.T
	cluster   *testcluster.Cluster
	namespace string
	// agent is the user agent of the controller.
	agent string
	// alone is true on a control plane that no other test uses. Then all requests of the controller count,
	// not only those for the test's namespace.
	alone bool
	mark  testcluster.Mark
}

// hold starts the controller that holds the Applications of the shared control plane.
var hold = sync.OnceValue(func() *callbacks {
	c := testcluster.Shared()
	if err := install(context.Background(), c); err != nil {
		panic(err)
	}
	// Tests must see the reports about a contested field before its first backoff is over, even on a busy
	// machine.
	rules := plan.DefaultContestPolicy
	rules.InitialBackoff = 30 * time.Second
	i, err := startWithCallbacks(context.Background(), c, "holdfast-shared", "default", controller.Options{Rules: rules}, callback.DefaultLifetimes, time.Now)
	if err != nil {
		panic(err)
	}
	return i
})

// users counts the tests with their own control plane. It makes user agents unique, so that each test
// sees only its own requests.
var users atomic.Int64

// alone is the pool of control planes that are used by one test at a time.
var alone = testcluster.NewPool(6, install)

// given returns a namespace on the shared control plane, where a controller runs. Tests that use it run
// in parallel.
func given(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	f := &fixture{t: t, cluster: testcluster.Shared(), agent: hold().agent}
	f.enter()
	return f
}

// givenAlone returns a namespace on a control plane of the test's own. No controller runs there yet.
func givenAlone(t *testing.T, options testcluster.Options) *fixture {
	t.Helper()
	t.Parallel()
	return givenStill(t, options)
}

// givenStill is like givenAlone, but no other test runs meanwhile. Use it for a test that counts
// something in this process.
func givenStill(t *testing.T, options testcluster.Options) *fixture {
	t.Helper()
	f := &fixture{t: t, cluster: alone.Take(t, options), agent: fmt.Sprintf("holdfast-alone-%03d", users.Add(1)), alone: true}
	f.enter()
	return f
}

// Elsewhere returns the fixture for another namespace and another test.
func (f *fixture) Elsewhere(t *testing.T) *fixture {
	t.Helper()
	other := *f
	other.t = t
	other.enter()
	return &other
}

func (f *fixture) enter() {
	f.t.Helper()
	f.namespace = f.cluster.Namespace(f.t)
	f.Create("user", fmt.Sprintf(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s}}`, applier))
	f.Grant("cluster-admin", applier)
	f.Mark()
}

// install installs the CRDs of Applications, ApplicationSlices and HoldProfiles.
func install(ctx context.Context, c *testcluster.Cluster) error {
	return errors.Join(
		c.Define(ctx, string(crd.Applications), applications.GroupResource().String()),
		c.Define(ctx, string(crd.Slices), applicationSlices.GroupResource().String()),
		c.Define(ctx, string(crd.Profiles), holdProfiles.GroupResource().String()),
	)
}

// instance is a running controller.
type instance struct {
	*controller.Controller
	agent string
	// Stop ends the controller and waits until it has ended.
	Stop func()
	// Kill tells the controller to end and does not wait.
	Kill context.CancelFunc
}

// start starts a controller and returns when it is ready to hold Applications. wrap can intercept its
// requests.
func start(c *testcluster.Cluster, agent string, wrap func(http.RoundTripper) http.RoundTripper, options controller.Options) (*instance, error) {
	config := c.Config()
	config.UserAgent = agent
	config.Wrap(followed)
	if wrap != nil {
		config.Wrap(wrap)
	}
	client, err := cluster.NewClient(config)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(c.Dir(), agent+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log)))
	options.Hooks = countReconciles().And(options.Hooks)
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	i := &instance{Controller: controller.New(client, options), agent: agent, Kill: cancel}
	ended := make(chan error, 1)
	go func() { ended <- i.Run(ctx) }()
	i.Stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		log.Close()
	})
	for !i.Ready() {
		select {
		case err := <-ended:
			ended <- err
			return nil, fmt.Errorf("the controller ended: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return i, nil
}

// reconcileCounts contains the number of reconciles of the Applications in each namespace.
var reconcileCounts sync.Map

// countReconciles returns hooks that count the reconciles. A loop that sends no requests is visible only
// there.
func countReconciles() *hooks.Hooks {
	h := hooks.New()
	count := func(l *hooks.Lifecycle) error {
		n, _ := reconcileCounts.LoadOrStore(l.Application.Namespace, &atomic.Int64{})
		n.(*atomic.Int64).Add(1)
		return nil
	}
	h.ApplicationPreReconcile.Listen("count", count)
	h.ApplicationPreDelete.Listen("count", count)
	return h
}

// reconciles returns the number of reconciles of the Applications in the test's namespace.
func (f *fixture) reconciles() int64 {
	if n, ok := reconcileCounts.Load(f.namespace); ok {
		return n.(*atomic.Int64).Load()
	}
	return 0
}

// underWay holds the open requests of all controllers, without watches.
var underWay sync.Map

// followed records open requests in underWay.
func followed(next http.RoundTripper) http.RoundTripper {
	return sender(func(request *http.Request) (*http.Response, error) {
		if request.URL.Query().Get("watch") != "" {
			return next.RoundTrip(request)
		}
		underWay.Store(request, nil)
		response, err := next.RoundTrip(request)
		if err != nil {
			underWay.Delete(request)
			return nil, err
		}
		response.Body = &answer{response.Body, request}
		return response, nil
	})
}

// answer wraps the body of a response.
type answer struct {
	io.ReadCloser
	request *http.Request
}

func (a *answer) Close() error {
	underWay.Delete(a.request)
	return a.ReadCloser.Close()
}

// asking reports whether the controller has an open request.
func (f *fixture) asking() bool {
	f.t.Helper()
	found, host := false, f.cluster.Config().Host
	underWay.Range(func(key, _ any) bool {
		url := key.(*http.Request).URL
		found = strings.HasSuffix(host, "//"+url.Host) && (f.alone || strings.Contains(url.Path, f.namespace))
		return !found
	})
	return found
}

// Run starts a controller on a control plane that has none. It stops when the test ends.
func (f *fixture) Run(options controller.Options) *instance {
	f.t.Helper()
	return f.RunThrough(nil, options)
}

// RunThrough is like Run. wrap can intercept the requests between the controller and the API server.
func (f *fixture) RunThrough(wrap func(http.RoundTripper) http.RoundTripper, options controller.Options) *instance {
	f.t.Helper()
	require.True(f.t, f.alone, "another controller holds the Applications of the shared control plane")
	i, err := start(f.cluster, f.agent, wrap, options)
	require.NoError(f.t, err)
	f.t.Cleanup(i.Stop)
	return i
}

var clients sync.Map // by control plane and user agent

// As returns an administrator's client with the given user agent, which is also its field manager.
func (f *fixture) As(who string) dynamic.Interface {
	f.t.Helper()
	type key struct {
		*testcluster.Cluster
		who string
	}
	if client, ok := clients.Load(key{f.cluster, who}); ok {
		return client.(dynamic.Interface)
	}
	config := f.cluster.Config()
	config.UserAgent = who
	client, err := dynamic.NewForConfig(config)
	require.NoError(f.t, err)
	clients.Store(key{f.cluster, who}, client)
	return client
}

// in returns a client for a resource, in the test's namespace if the resource is namespaced.
func (f *fixture) in(who string, resource schema.GroupVersionResource) dynamic.ResourceInterface {
	f.t.Helper()
	client := f.As(who).Resource(resource)
	switch resource {
	case namespaces, clusterBindings, accessReviews, definitions, webhooks, validators, holdProfiles:
		return client
	}
	if strings.HasSuffix(resource.Resource, "classes") {
		return client
	}
	return client.Namespace(f.namespace)
}

// object reads an object from YAML. It replaces $NS with the test's namespace.
func (f *fixture) object(text string) *unstructured.Unstructured {
	f.t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(f.t, yaml.Unmarshal([]byte(strings.ReplaceAll(text, "$NS", f.namespace)), &u.Object))
	return u
}

// resourceOf returns the resource that serves a kind. Two rules of English plurals are enough for these
// tests.
func resourceOf(u *unstructured.Unstructured) schema.GroupVersionResource {
	gvk := u.GroupVersionKind()
	plural := strings.ToLower(gvk.Kind) + "s"
	switch {
	case strings.HasSuffix(plural, "sss"):
		plural = strings.TrimSuffix(plural, "s") + "es"
	case strings.HasSuffix(plural, "cys"):
		plural = strings.TrimSuffix(plural, "ys") + "ies"
	}
	return gvk.GroupVersion().WithResource(plural)
}

// Create creates an object from YAML.
func (f *fixture) Create(who, text string) *unstructured.Unstructured {
	f.t.Helper()
	return f.createObject(who, f.object(text).Object)
}

func (f *fixture) createObject(who string, content map[string]any) *unstructured.Unstructured {
	f.t.Helper()
	u := &unstructured.Unstructured{Object: content}
	created, err := f.in(who, resourceOf(u)).Create(f.t.Context(), u, metav1.CreateOptions{})
	require.NoError(f.t, err)
	return created
}

// Submit creates or replaces the spec of an Application, given as YAML, as
// `kubectl apply --server-side` does.
func (f *fixture) Submit(name, spec string) {
	f.t.Helper()
	f.SubmitAs(name, spec, nil)
}

// SubmitAs is like Submit, with annotations.
func (f *fixture) SubmitAs(name, spec string, annotations map[string]string) {
	f.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Application",
		"spec": f.object(spec).Object,
	}}
	u.SetName(name)
	u.SetAnnotations(annotations)
	_, err := f.in("user", applications).Apply(f.t.Context(), name, u, metav1.ApplyOptions{FieldManager: "user", Force: true})
	require.NoError(f.t, err)
}

// Delete asks for the deletion of an object. It does not wait.
func (f *fixture) Delete(resource schema.GroupVersionResource, name string) {
	f.t.Helper()
	require.NoError(f.t, f.in("user", resource).Delete(f.t.Context(), name, metav1.DeleteOptions{}))
}

// Patch merges YAML into an object, with the given user agent.
func (f *fixture) Patch(who string, resource schema.GroupVersionResource, name, text string) map[string]any {
	f.t.Helper()
	body, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(text, "$NS", f.namespace)))
	require.NoError(f.t, err)
	patched, err := f.in(who, resource).Patch(f.t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{})
	require.NoError(f.t, err)
	return patched.Object
}

// PatchJSON applies a JSON Patch, written as YAML, with the given user agent.
func (f *fixture) PatchJSON(who string, resource schema.GroupVersionResource, name, text string) map[string]any {
	f.t.Helper()
	body, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(f.t, err)
	patched, err := f.in(who, resource).Patch(f.t.Context(), name, types.JSONPatchType, body, metav1.PatchOptions{})
	require.NoError(f.t, err)
	return patched.Object
}

// Get returns an object, or nil if it does not exist.
func (f *fixture) Get(resource schema.GroupVersionResource, name string) map[string]any {
	f.t.Helper()
	u, err := f.in("user", resource).Get(f.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(f.t, err)
	return u.Object
}

// Application returns an Application, or nil if it does not exist.
func (f *fixture) Application(name string) *v1alpha1.Application {
	f.t.Helper()
	return f.decode(f.Get(applications, name))
}

func (f *fixture) decode(object map[string]any) *v1alpha1.Application {
	f.t.Helper()
	if object == nil {
		return nil
	}
	raw, err := json.Marshal(object)
	require.NoError(f.t, err)
	app, err := cluster.DecodeApplication(raw)
	require.NoError(f.t, err)
	return app
}

var bindings atomic.Int64

// Grant binds a role to a ServiceAccount in the namespace. It returns when the API server enforces it.
func (f *fixture) Grant(role, account string) {
	f.t.Helper()
	f.Create("user", fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: test-%d}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}
subjects: [{kind: ServiceAccount, name: %s, namespace: $NS}]`, bindings.Add(1), role, account))
	f.awaitAccess(account, f.createConfigMaps())
}

// GrantEverywhere lets the applier do everything in the whole cluster.
func (f *fixture) GrantEverywhere() {
	f.t.Helper()
	f.Create("user", fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: test-$NS-%d}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: %s, namespace: $NS}]`, bindings.Add(1), applier))
	f.awaitAccess(applier, `{verb: create, group: apiextensions.k8s.io, resource: customresourcedefinitions}`)
}

func (f *fixture) awaitAccess(account, attributes string) {
	f.t.Helper()
	f.eventually("the rights of "+account, func() bool { return f.allowed(account, attributes) })
}

// allowed asks the API server what a ServiceAccount of the namespace may do.
func (f *fixture) allowed(account, attributes string) bool {
	f.t.Helper()
	review := f.Create("user", fmt.Sprintf(`
apiVersion: authorization.k8s.io/v1
kind: SubjectAccessReview
spec: {user: "system:serviceaccount:$NS:%s", resourceAttributes: %s}`, account, attributes))
	allowed, _, _ := unstructured.NestedBool(review.Object, "status", "allowed")
	return allowed
}

func (f *fixture) createConfigMaps() string {
	return fmt.Sprintf(`{namespace: %s, verb: create, resource: configmaps}`, f.namespace)
}

// Definition creates a CRD in the test's own group, $NS.example.com, and returns when the API server
// serves it.
func (f *fixture) Definition(kind, plural, schema string) {
	f.t.Helper()
	f.Create("user", definition(kind, plural, schema))
	f.AwaitEstablished(plural)
}

// AwaitEstablished waits until the API server serves a CRD of the test.
func (f *fixture) AwaitEstablished(plural string) {
	f.t.Helper()
	f.Await(definitions, plural+"."+f.namespace+".example.com", "Established", func(object map[string]any) bool {
		conditions, _, _ := unstructured.NestedSlice(object, "status", "conditions")
		for _, c := range conditions {
			if value(c.(map[string]any), "type") == "Established" {
				return value(c.(map[string]any), "status") == "True"
			}
		}
		return false
	})
	f.eventually("the API server to serve "+plural, func() bool {
		_, err := f.in("user", f.custom(plural)).List(f.t.Context(), metav1.ListOptions{})
		return err == nil
	})
}

// definition returns a CRD in the test's group, in YAML flow style.
func definition(kind, plural, schema string) string {
	return fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
  metadata: {name: %s.$NS.example.com}, spec: {group: $NS.example.com, scope: Namespaced,
  names: {kind: %s, plural: %s}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: %s}}]}}`,
		plural, kind, plural, schema)
}

// cleanupContext returns a context for cleanup after a test, when the test's own context has ended.
func cleanupContext() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	time.AfterFunc(10*time.Second, cancel)
	return ctx
}
