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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

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
		Setup:               func(env *testscript.Env) error { return setup(env, served.URL) },
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": EndsWith, "examples": RunExamples, "kubectl": kubectl, "await": await,
		},
	})
}

var namespaces atomic.Int64

// setup creates a namespace for a script, in which the applier has all permissions, and a kubeconfig with a
// context for it.
func setup(env *testscript.Env, url string) error {
	c, err := held()
	if err != nil {
		return err
	}
	namespace := fmt.Sprintf("script-%d", namespaces.Add(1))
	ctx := context.Background()
	for _, args := range [][]string{
		{"create", "namespace", namespace},
		{"create", "serviceaccount", "holdfast-applier", "-n", namespace},
		{"create", "rolebinding", "holdfast-applier", "-n", namespace, "--clusterrole=cluster-admin", "--serviceaccount=" + namespace + ":holdfast-applier"},
		{"wait", "--for=create", "serviceaccount/default", "-n", namespace, "--timeout=120s"},
	} {
		if _, err := c.Kubectl(ctx, "", args...); err != nil {
			return err
		}
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
