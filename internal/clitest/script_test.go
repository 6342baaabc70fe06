package clitest

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/deploy/crd"
	"holdfast.dev/holdfast/internal/testcluster"
	mysql "holdfast.dev/holdfast/pkg/api/mysql/v1"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/builtin"
	"holdfast.dev/holdfast/pkg/cli"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/hooks"
)

var update = flag.Bool("update", false, "write the expected output of the scripts")

// The scripts run the test binary under the names of the program. The control plane ends with the tests.
func TestMain(m *testing.M) {
	program := func() { os.Exit(cli.Run(context.Background(), os.Args)) }
	testscript.Main(stopped{m}, map[string]func(){
		"holdfast": program, "kubectl-holdfast": program, "kubectl_complete-holdfast": program,
	})
}

// stopped stops everything that the tests have started.
type stopped struct{ *testing.M }

func (s stopped) Run() int {
	code := s.M.Run()
	if stop != nil {
		stop()
	}
	return code
}

var stop func()

// held returns a control plane with a running controller. It is started for the first script that needs it.
var held = sync.OnceValues(func() (*testcluster.Cluster, error) {
	c, err := testcluster.Start(context.Background(), testcluster.Options{Node: true})
	if err != nil {
		return nil, err
	}
	stop = c.Stop
	for _, one := range []struct {
		definition string
		resource   schema.GroupVersionResource
	}{
		{string(crd.Applications), v1alpha1.GroupVersionResource},
		{string(crd.Slices), v1alpha1.SliceGroupVersionResource},
		{string(crd.Profiles), v1alpha1.ProfileGroupVersionResource},
		{string(crd.Mysqls), mysql.GroupVersionResource},
	} {
		if err := c.Define(context.Background(), one.definition, one.resource.GroupResource().String()); err != nil {
			return nil, err
		}
	}
	client, err := cluster.NewClient(c.Config())
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(c.Dir(), "controller.log"))
	if err != nil {
		return nil, err
	}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log)))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	ended := make(chan error, 1)
	options := controller.Options{Templates: builtin.Templates(), Callback: func() hooks.Callback {
		return hooks.Callback{URL: "https://callback.example.com", CA: []byte("a bundle")} // no workload calls it
	}}
	go func() { ended <- controller.New(client, options).Run(ctx) }()
	stop = func() {
		cancel()
		<-ended
		log.Close()
		c.Stop()
	}
	return c, nil
})

func TestScript(t *testing.T) {
	served := httptest.NewServer(http.FileServer(http.Dir("testdata")))
	t.Cleanup(served.Close)
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script/cluster",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setEnv(env, served.URL) },
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": EndsWith, "examples": RunExamples, "kubectl": kubectl, "await": await,
		},
	})
}

var namespaces atomic.Int64

// setEnv creates a namespace for a script, in which the applier has all permissions, and a kubeconfig with a
// context for it.
func setEnv(env *testscript.Env, url string) error {
	c, err := held()
	if err != nil {
		return err
	}
	namespace := fmt.Sprintf("script-%d", namespaces.Add(1))
	if err := prepare(context.Background(), c, namespace); err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err != nil {
		return err
	}
	for _, one := range config.Contexts {
		one.Namespace = namespace
	}
	file := env.WorkDir + "/.kubeconfig"
	env.Setenv("KUBECONFIG", file)
	env.Setenv("NS", namespace)
	env.Setenv("URL", url)
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("KUBECTL_KUBERC", "false")
	env.Setenv("GOGC", "400") // the commands end before they need the memory
	return clientcmd.WriteToFile(*config, file)
}

// prepare creates a namespace and its applier with a client: each kubectl takes a quarter of a second of CPU time. It
// returns when the namespace has its default ServiceAccount.
func prepare(ctx context.Context, c *testcluster.Cluster, namespace string) error {
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	accounts := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace(namespace)
	bindings := client.Resource(rbacv1.SchemeGroupVersion.WithResource("rolebindings")).Namespace(namespace)
	for _, one := range []struct {
		client dynamic.ResourceInterface
		text   string
	}{
		{client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}), `{apiVersion: v1, kind: Namespace, metadata: {name: $NS}}`},
		{accounts, `{apiVersion: v1, kind: ServiceAccount, metadata: {name: holdfast-applier}}`},
		{bindings, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: holdfast-applier},
			roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
			subjects: [{kind: ServiceAccount, name: holdfast-applier, namespace: $NS}]}`},
	} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(one.text, "$NS", namespace)), &object.Object); err != nil {
			return err
		}
		if _, err := one.client.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := accounts.Get(ctx, "default", metav1.GetOptions{})
		return err == nil, ignoreNotFound(err)
	})
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// kubectl implements `kubectl ARGS…` in the namespace of the script. A preceding `stdin FILE` applies only
// to `holdfast`; kubectl reads files.
func kubectl(ts *testscript.TestScript, neg bool, args []string) {
	c, err := held()
	ts.Check(err)
	for i, arg := range args {
		if file, is := strings.CutPrefix(arg, "--filename="); is {
			args[i] = "--filename=" + ts.MkAbs(file)
		}
	}
	output, err := c.Kubectl(context.Background(), "", append([]string{"--namespace=" + ts.Getenv("NS")}, args...)...)
	fmt.Fprint(ts.Stdout(), output)
	switch {
	case neg && err == nil:
		ts.Fatalf("kubectl did not fail")
	case !neg:
		ts.Check(err)
	}
}

// await implements `await REGEXP COMMAND…`: it runs the command repeatedly until its standard output
// matches.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await regexp command…")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	deadline := time.After(2 * time.Minute)
	for {
		_ = ts.Exec(args[1], args[2:]...)
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		select {
		case <-deadline:
			ts.Fatalf("after two minutes there is no match for %s in:\n%s", args[0], ts.ReadFile("stdout"))
		case <-time.After(200 * time.Millisecond): // a run takes half of that on a whole processor
		}
	}
}
