package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"holdfast.dev/holdfast/deploy/crd"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
)

// agent is the user agent of controllers.
const agent = "holdfast-under-faults"

// world is a control plane for one test.
type world struct {
	t       *testing.T
	cluster *testcluster.Cluster
	client  dynamic.Interface
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c, err := testcluster.Start(t.Context(), testcluster.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	w := &world{t: t, cluster: c}
	w.connect()
	t.Cleanup(w.keep)
	require.NoError(t, c.Define(t.Context(), string(crd.Applications), "applications.holdfast.dev"))
	require.NoError(t, c.Define(t.Context(), string(crd.Slices), "applicationslices.holdfast.dev"))
	return w
}

// keep saves diagnostic files of a failed test with the other artifacts of the run.
func (w *world) keep() {
	if !w.t.Failed() {
		return
	}
	for _, name := range []string{"audit.log", filepath.Base(w.log())} {
		content, err := os.ReadFile(filepath.Join(w.cluster.Dir(), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(w.t.ArtifactDir(), name), content, 0o600)
		}
		if err != nil {
			w.t.Log(err)
		}
	}
}

// Namespace creates a namespace in which the applier has all permissions.
func (w *world) Namespace() string {
	w.t.Helper()
	namespace := w.cluster.Namespace(w.t)
	w.Kubectl("", "create", "serviceaccount", "holdfast-applier", "-n", namespace)
	w.Kubectl("", "create", "rolebinding", "applier", "-n", namespace, "--clusterrole=cluster-admin", "--serviceaccount="+namespace+":holdfast-applier")
	return namespace
}

// Kubectl runs kubectl until it succeeds, because the control plane can be down for a while.
func (w *world) Kubectl(stdin string, args ...string) string {
	w.t.Helper()
	var output string
	var err error
	w.Until("kubectl "+strings.Join(args, " "), func() bool {
		output, err = w.cluster.Kubectl(w.t.Context(), stdin, args...)
		return err == nil || args[0] == "create" && strings.Contains(err.Error(), "AlreadyExists")
	})
	return output
}

// Try runs kubectl once. A missing object is not an error.
func (w *world) Try(stdin string, args ...string) string {
	output, _ := w.cluster.Kubectl(w.t.Context(), stdin, args...)
	return output
}

// Until waits for a condition. If it times out, it prints the current state.
func (w *world) Until(what string, holds func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			w.t.Fatalf("waited in vain: %s; there is\n%s\nand the controller said in the end\n%s", what,
				w.Try("", "get", "applications", "--all-namespaces", "--output=yaml"), w.said(100))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// said returns the last lines of the controllers' log, shortened.
func (w *world) said(lines int) string {
	log, err := os.ReadFile(w.log())
	if err != nil {
		return err.Error()
	}
	all := strings.Split(string(log), "\n")
	all = all[max(0, len(all)-lines):]
	for i, line := range all {
		all[i] = strings.ToValidUTF8(line[:min(len(line), 200)], "?")
	}
	return strings.Join(all, "\n")
}

func (w *world) log() string { return filepath.Join(w.cluster.Dir(), "controller.log") }

// instance is a running controller.
type instance struct {
	*controller.Controller
	faults  *injector
	metrics *controller.Metrics
	stop    func()
}

// Watching returns the number of watched kinds.
func (i *instance) Watching() int { return i.metric("holdfast_watches") }

// Reconciles returns the number of reconciles of the controller.
func (i *instance) Reconciles() int { return i.metric("holdfast_reconciles_total") }

// metric returns the sum of a metric over its labels, or -1 if it cannot be read.
func (i *instance) metric(name string) int {
	families, err := i.metrics.Gatherer().Gather()
	if err != nil {
		return -1
	}
	for _, family := range families {
		if family.GetName() == name {
			sum := 0.0
			for _, m := range family.GetMetric() {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
			return int(sum)
		}
	}
	return -1
}

// Run starts a controller behind an injector, which can be nil. The controller stops with the test.
func (w *world) Run(faults *injector) *instance {
	w.t.Helper()
	if faults == nil {
		faults = newInjector(0)
		faults.Calm()
	}
	return w.runWith(faults, faults.wrap)
}

func (w *world) runWith(faults *injector, wrap func(http.RoundTripper) http.RoundTripper) *instance {
	w.t.Helper()
	config := w.cluster.Config()
	config.UserAgent = agent
	config.Wrap(wrap)
	client, err := cluster.NewClient(config)
	require.NoError(w.t, err)
	log, err := os.OpenFile(w.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(w.t, err)
	faults.log = log
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log)))))
	metrics := controller.NewMetrics()
	i := &instance{Controller: controller.New(client, controller.Options{Metrics: metrics}), faults: faults, metrics: metrics}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = i.Controller.Run(ctx)
	}()
	i.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		log.Close()
	})
	w.t.Cleanup(i.stop)
	w.Until("a controller that is ready", i.Ready)
	return i
}

// Kill simulates a crash of a controller: its requests no longer arrive.
func (i *instance) Kill() {
	i.faults.Die()
	i.stop()
}

// Quiet waits until the controllers have sent no requests for a while, and fails the test after a timeout.
func (w *world) Quiet(while time.Duration) {
	w.t.Helper()
	last, mark := time.Now(), w.mark()
	var seen testcluster.Requests
	w.Until("quiet", func() bool {
		requests, err := w.cluster.Requests(mark)
		require.NoError(w.t, err)
		seen = requests.By(agent).Where(func(r testcluster.Request) bool { return r.Verb != "watch" })
		if len(seen) > 0 {
			last = seen[len(seen)-1].Time
		}
		return time.Since(last) > while
	})
}

// mark returns the current position between two lines of the audit log.
func (w *world) mark() testcluster.Mark {
	w.t.Helper()
	for {
		mark := w.cluster.Mark()
		if _, err := w.cluster.Requests(mark); err == nil {
			return mark
		}
	}
}

// shown lists the resources that are compared.
const shown = "configmaps,secrets,services,deployments.apps"

var (
	metadata = regexp.MustCompile(`(?m)^ *(uid|resourceVersion|creationTimestamp|generation|lastTransitionTime|observedGeneration|time|lastCorrection|holdfast.dev/application-uid):.*\n`)
	address  = regexp.MustCompile(`10\.0\.\d+\.\d+`)
)

// Snapshot returns the objects of Applications in a namespace, and their inventories, without values that
// the API server generates.
func (w *world) Snapshot(namespace string) string {
	w.t.Helper()
	objects := w.Kubectl("", "get", shown, "-n", namespace, "--selector=holdfast.dev/application-uid", "--sort-by=.metadata.name", "--output=yaml")
	inventories := w.Kubectl("", "get", "applications", "-n", namespace, "--output=jsonpath="+
		`{range .items[*]}{.metadata.name}{" "}{.metadata.finalizers}{" "}{.status.summary}{"\n"}{range .status.resources[*]}  {.kind} {.name} {.health} {.reason}{"\n"}{end}{end}`)
	text := metadata.ReplaceAllString(objects, "") + inventories
	return address.ReplaceAllString(strings.ReplaceAll(text, namespace, "$NS"), "$$IP")
}

// application returns an Application as YAML.
func application(name, spec string) string {
	return fmt.Sprintf("{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: %s}, spec: %s}", name, spec)
}
