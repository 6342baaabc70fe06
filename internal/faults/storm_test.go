package faults_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
)

// wanted returns FAULT_SEED, FAULT_DURATION and FAULT_STEPS. The defaults are a random seed, a quarter of a
// minute (ten minutes in long runs), and as many steps as fit into that time.
func wanted(t *testing.T) (seed uint64, duration time.Duration, steps int) {
	t.Helper()
	seed, duration, steps = uint64(time.Now().UnixNano()), samples.Of(15*time.Second, 10*time.Minute), math.MaxInt
	var err error
	if text := os.Getenv("FAULT_SEED"); text != "" {
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "FAULT_SEED")
	}
	if text := os.Getenv("FAULT_DURATION"); text != "" {
		duration, err = time.ParseDuration(text)
		require.NoError(t, err, "FAULT_DURATION")
	}
	if text := os.Getenv("FAULT_STEPS"); text != "" {
		steps, err = strconv.Atoi(text)
		require.NoError(t, err, "FAULT_STEPS")
		duration = time.Hour
	}
	return seed, duration, steps
}

// spec returns one of many random specs. Each contains some of the objects, in some variant, with some of
// their fields. Free fields have the same values in all specs, because earlier values of them would remain.
func spec(random *rand.Rand, name string) string {
	maybe := func(text string) string {
		if random.IntN(2) == 0 {
			return ""
		}
		return text
	}
	var objects []string
	for i := range 6 {
		if random.IntN(3) > 0 {
			objects = append(objects, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s-%d%s}, data: {key: v%d%s%s}}`,
				name, i, maybe(", labels: {tier: web}"), random.IntN(3), maybe(", more: m"), maybe(", most: m")))
		}
	}
	objects = append(objects, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: %s}, spec: {selector: {app: a%d}, ports: [{port: 80}]}}`, name, random.IntN(3)))
	if random.IntN(2) == 0 {
		objects = append(objects, fmt.Sprintf(`{apiVersion: v1, kind: Secret, metadata: {name: %s}, stringData: {password: p%d%s}}`, name, random.IntN(3), maybe(", user: u")))
	}
	if random.IntN(2) == 0 {
		objects = append(objects, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s}, spec: {replicas: %[2]d, selector: {matchLabels: {app: %[1]s}}%[3]s,
  template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: web, image: "web:%[2]d"%[4]s}%[5]s]%[6]s}}}}`, name, 1+random.IntN(3),
			maybe(", minReadySeconds: 3"), maybe(", env: [{name: A, value: a}, {name: B, value: b}]"), maybe(", {name: side, image: side}"), maybe(", nodeSelector: {disk: fast}")))
	}
	schema := ""
	if random.IntN(2) == 0 {
		schema = fmt.Sprintf(`, observerSchema: [{apiVersion: v1, kind: Service, metadata: {name: %s}, spec: {sessionAffinity: observed, selector: {app: observed}}}]`, name)
	}
	// Failures are retried before the next step.
	return fmt.Sprintf(`{retry: {maxInterval: 1s}, maxDeletions: 100%%, manifest: [%s]%s}`, strings.Join(objects, ", "), schema)
}

// storm is a sequence of spec changes, changes by other clients, and crashes. The seed determines the
// order.
type storm struct {
	*world
	random    *rand.Rand
	namespace string
	running   *instance
	victims   string // the namespace of objects that only their owner names
	deaths    int
	did       map[string]int
}

const apps = 4

func (s *storm) app() string { return fmt.Sprintf("app%d", s.random.IntN(apps)) }

// step makes one change while the controller's next write waits at the gate, and then lets some writes
// pass.
func (s *storm) step() {
	switch n := s.random.IntN(40); {
	case n < 3:
		s.death()
	case n < 4:
		s.did["API server killed"]++
		require.NoError(s.t, errors.Join(s.cluster.Kill(testcluster.APIServer), s.cluster.Restart(testcluster.APIServer)))
	case n < 8:
		s.did["rest"]++
		s.running.faults.Let(200)
	default:
		s.change(n - 8)
	}
	s.running.faults.Let(s.random.IntN(10))
}

// change makes one of 32 changes by another client.
func (s *storm) change(n int) {
	app := s.app()
	switch {
	case n < 14:
		s.did["wish"]++
		s.Submit(s.namespace, app, spec(s.random, app))
	case n < 22:
		s.did["drift"]++
		s.Try("", "patch", "configmap", fmt.Sprintf("%s-%d", app, s.random.IntN(6)), "-n", s.namespace, "--type=merge", `--patch={"data":{"key":"theirs"}}`)
	case n < 26:
		s.did["object deleted"]++
		s.Try("", "delete", "configmap", fmt.Sprintf("%s-%d", app, s.random.IntN(6)), "-n", s.namespace, "--wait=false")
	case n < 28:
		s.takeOffLabel(app)
	case n < 29:
		s.forge(app)
	default:
		s.did["Application deleted"]++
		s.Try("", "delete", "application", app, "-n", s.namespace, "--wait=false")
	}
}

// takeOffLabel removes the tracking label from a Service in the inventory. If a process has crashed before
// it updated the inventory, the tracking metadata is the only record of the owner, so it must not be
// removed then.
func (s *storm) takeOffLabel(app string) {
	uid := s.Try("", "get", "service", app, "-n", s.namespace, "--output=jsonpath={.metadata.uid}")
	recorded := s.Try("", "get", "application", app, "-n", s.namespace, `--output=jsonpath={.status.resources[?(@.kind=="Service")].uid}`)
	if uid == "" || uid != recorded {
		return
	}
	s.did["label removed"]++
	s.Try("", "label", "service", app, "-n", s.namespace, "holdfast.dev/application-uid-")
}

// forge writes the tracking metadata of an Application to an object of another client. Any client with
// patch permission can do this.
func (s *storm) forge(app string) {
	uid := s.Try("", "get", "application", app, "-n", s.namespace, "--output=jsonpath={.metadata.uid}")
	if uid == "" {
		return
	}
	s.did["marks forged"]++
	s.Try("", "patch", "configmap", victim, "-n", s.victims, "--type=merge", fmt.Sprintf(
		`--patch={"metadata":{"labels":{"holdfast.dev/application-uid":%q},"annotations":{"holdfast.dev/tracking-id":"%s/%s:/ConfigMap:%s/%s"}}}`,
		uid, s.namespace, app, s.victims, victim))
}

// victim is an object with forged tracking metadata.
const victim = "victim"

// victimized creates the victim in a namespace where the Applications have all permissions.
func (s *storm) victimized() (look func() string) {
	s.t.Helper()
	s.victims = s.Namespace()
	s.Kubectl("", "create", "rolebinding", "applier-of-others", "-n", s.victims, "--clusterrole=cluster-admin", "--serviceaccount="+s.namespace+":holdfast-applier")
	s.Kubectl("", "create", "configmap", victim, "-n", s.victims, "--from-literal=key=free")
	return func() string {
		return s.Kubectl("", "get", "configmap", victim, "-n", s.victims, "--output=jsonpath={.metadata.uid} {.data}")
	}
}

// death kills the controller between two writes that result from a change, and starts another one.
func (s *storm) death() {
	s.did["death of the controller"]++
	s.change(s.random.IntN(32))
	s.running.faults.Let(s.random.IntN(6))
	s.running.Kill()
	s.t.Logf("injected into life %d: %s", s.deaths, s.running.faults.Injected())
	s.deaths++
	s.begin()
}

// begin starts a controller whose writes wait at the gate.
func (s *storm) begin() {
	faults := newInjector(s.random.Uint64())
	faults.Hold()
	s.running = s.Run(faults)
}

// After any number of faults, the cluster has the state that the last specs produce in an empty cluster, no
// foreign object has changed, and the controllers are idle.
func TestStorm(t *testing.T) {
	seed, duration, steps := wanted(t)
	step := 0
	defer func() { t.Logf("again: make test-faults FAULT_SEED=%d FAULT_STEPS=%d FAULT_TRIES=5", seed, step) }()
	w := newWorld(t)
	s := &storm{world: w, random: rand.New(rand.NewPCG(seed, 0)), namespace: w.Namespace(), did: map[string]int{}}
	w.Kubectl("", "create", "configmap", "bystander", "-n", s.namespace, "--from-literal=key=free")
	bystander := w.Kubectl("", "get", "configmap", "bystander", "-n", s.namespace, "--output=yaml")
	look := s.victimized()
	unharmed := look()
	s.warm()
	before := s.settled()
	s.begin()

	for end := time.Now().Add(duration); step < steps && time.Now().Before(end); step++ {
		s.step()
	}
	last := map[string]string{}
	for i := range apps {
		name := fmt.Sprintf("app%d", i)
		last[name] = spec(s.random, name)
	}
	s.running.faults.Calm()
	t.Logf("happened: %v; injected into life %d: %s", s.did, s.deaths, s.running.faults.Injected())
	calm := w.Namespace()
	for name, spec := range last {
		w.Until(name+" is not on its way out", func() bool {
			return !strings.Contains(w.Try("", "get", "application", name, "-n", s.namespace, "--output=jsonpath={.metadata}"), "deletionTimestamp")
		})
		w.Submit(s.namespace, name, spec)
		w.Submit(calm, name, spec)
	}
	for name := range last {
		w.AwaitHeld(s.namespace, name)
		w.AwaitHeld(calm, name)
	}
	w.Quiet(11 * time.Second) // client-go retries a failed event after 10 s
	s.rests(before)

	fresh := w.Snapshot(calm)
	assert.Equal(t, fresh, w.Snapshot(s.namespace), "after the storm, and from nothing")
	assert.Equal(t, bystander, w.Kubectl("", "get", "configmap", "bystander", "-n", s.namespace, "--output=yaml"), "the object of another client")
	t.Logf("compared: %d lines of %s and inventories; 11 s of silence", strings.Count(fresh, "\n"), shown)

	assert.Equal(t, unharmed, look(), "an object with forged marks")
	mark := w.mark()
	for _, namespace := range []string{s.namespace, calm} {
		w.Kubectl("", "delete", "applications", "--all", "-n", namespace, "--timeout=60s")
		assert.Empty(t, w.Kubectl("", "get", shown, "-n", namespace, "--selector=holdfast.dev/application-uid", "--output=name"))
	}
	w.Quiet(2 * time.Second)
	assert.Equal(t, unharmed, look(), "an object with the marks of an Application that is gone")
	requests, err := w.cluster.Requests(mark)
	require.NoError(t, err)
	assert.NotEmpty(t, requests.By(agent).Writes())
}
