package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/testcluster"
)

// atRest is the time for which requests are counted after all drifts are corrected, and either no request
// was sent for a second or ten seconds have passed.
const atRest = 20 * time.Second

// comparison measures Holdfast and other programs with the same driver, each on its own control plane.
type comparison struct {
	root      string
	directory string // for logs and other files
	sizes     []int
	drifts    int
	date      string // of the run
	only      string // substring of the name of a subject; empty for all
}

// run measures all subjects with the given sizes. It calls save with all results after each.
func (c *comparison) run(ctx context.Context, save func([]result) error) error {
	if err := os.MkdirAll(c.directory, 0o755); err != nil {
		return err
	}
	all, err := subjects(ctx, c.root, c.directory)
	if err != nil {
		return err
	}
	rows, results := c.rows(all)
	for i, s := range rows {
		r := &results[i]
		if r.Figures[otherWork], err = busy(ctx); err != nil {
			return err
		}
		r.Problem = ""
		if err := c.measure(ctx, s, r); err != nil {
			r.Problem = err.Error()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Println(strings.Join(r.cells(), " | "))
		if err := save(results); err != nil {
			return err
		}
	}
	return nil
}

// rows returns all rows in advance, so that an interrupted run omits none.
func (c *comparison) rows(all []subject) (rows []subject, results []result) {
	for _, n := range c.sizes {
		for _, s := range all {
			if strings.Contains(s.name, c.only) {
				rows = append(rows, s)
				results = append(results, result{Subject: s.name, N: n, Run: c.date, Figures: map[string]float64{}, Problem: "the run was interrupted"})
			}
		}
	}
	return rows, results
}

// trial is a subject that runs on its own control plane.
type trial struct {
	subject
	n       int
	cluster *testcluster.Cluster
	client  *client
	process *process
}

// measure does one trial. If it fails, the figures measured before are kept.
func (c *comparison) measure(ctx context.Context, s subject, r *result) (err error) {
	cluster, err := testcluster.Start(ctx, testcluster.Options{})
	if err != nil {
		return err
	}
	defer cluster.Stop()
	t := &trial{subject: s, n: r.N, cluster: cluster}
	if t.client, err = newClient(cluster.Config()); err != nil {
		return err
	}
	if err := t.client.define(ctx, s.definitions, s.mend); err != nil {
		return err
	}
	if s.setup != nil {
		for _, one := range s.setup(cluster.Kubeconfig()) {
			if err := t.client.make(ctx, one); err != nil {
				return err
			}
		}
	}
	ctx, stop, err := t.start(ctx, c.root, filepath.Join(c.directory, fmt.Sprintf("%s-%d.log", s.kind.Resource, r.N)))
	if err != nil {
		return err
	}
	defer stop()
	steps := []struct {
		name string
		do   func(context.Context, *result) error
	}{
		{"the first resource", t.warm},
		{"all resources", t.all},
		{"single drifts", func(ctx context.Context, r *result) error { return t.single(ctx, c.drifts, r) }},
		{"drifts at once", t.storm},
		{"rest", t.rest},
	}
	for _, step := range steps {
		if err := within(ctx, r, step.do); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// within limits the duration of a step and records why it ended.
func within(ctx context.Context, r *result, do func(context.Context, *result) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
	defer cancel()
	err := do(ctx, r)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// start runs the program. The returned context ends when the program does.
func (t *trial) start(ctx context.Context, root, log string) (running context.Context, stop func(), err error) {
	output, err := os.Create(log)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(filepath.Join(root, "bin", t.program), t.arguments...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+t.cluster.Kubeconfig())
	cmd.Env = append(cmd.Env, t.environment...)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	t.process = &process{cmd: cmd}
	running, end := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		end(fmt.Errorf("it ended by itself, see %s: %w", log, cmd.Wait()))
		close(ended)
	}()
	return running, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		_ = output.Close()
	}, nil
}

func (t *trial) name(i int) string { return fmt.Sprintf("many-%d", i) }

// resources returns the client for the resources of the subject.
func (t *trial) resources() dynamic.ResourceInterface {
	return t.client.Resource(t.kind).Namespace(namespace)
}

func (t *trial) submit(ctx context.Context, name string) error {
	_, err := t.resources().Create(ctx, t.resource(name), metav1.CreateOptions{})
	return err
}

// prepare creates the object that must exist before the resource.
func (t *trial) prepare(ctx context.Context, name string) error {
	if t.before == nil {
		return nil
	}
	_, err := t.client.configMaps().Create(ctx, t.before(name), metav1.CreateOptions{})
	return err
}

// await submits resources. It returns when all of them report that they are ready and their ConfigMaps have
// the desired state.
func (t *trial) await(ctx context.Context, prefix string, n int, begin func() error) error {
	of := func(condition func(*unstructured.Unstructured) bool) func(*unstructured.Unstructured) bool {
		return func(u *unstructured.Unstructured) bool { return strings.HasPrefix(u.GetName(), prefix) && condition(u) }
	}
	return await(ctx, t.client.configMaps(), n, of(held), func() error {
		return await(ctx, t.resources(), n, of(t.isReady), begin)
	})
}

// warm waits until the subject works: it can take long to start, and can open watches only with the first
// resource.
func (t *trial) warm(ctx context.Context, _ *result) error {
	if err := t.client.served(ctx, t.kind); err != nil {
		return err
	}
	if err := t.prepare(ctx, "warm"); err != nil {
		return err
	}
	return t.await(ctx, "warm", 1, func() error { return t.submit(ctx, "warm") })
}

func (t *trial) all(ctx context.Context, r *result) error {
	err := each(ctx, t.n, func(ctx context.Context, i int) error { return t.prepare(ctx, t.name(i)) })
	if err != nil {
		return err
	}
	mark := t.cluster.Mark()
	begun := time.Now()
	err = t.await(ctx, "many-", t.n, func() error {
		return each(ctx, t.n, func(ctx context.Context, i int) error { return t.submit(ctx, t.name(i)) })
	})
	if err != nil {
		return err
	}
	r.Figures[readyPerSecond] = float64(t.n) / time.Since(begun).Seconds()
	requests, err := t.settled(ctx, mark)
	if err != nil {
		return err
	}
	r.Figures[requestsEach] = float64(requests+t.n) / float64(t.n) // including the one that submits
	return t.memory(r)
}

// requests returns the number of requests of the subject since the mark, without watches and discovery.
func (t *trial) requests(since testcluster.Mark) (int, error) {
	all, err := t.cluster.Requests(since)
	return len(all.Where(func(r testcluster.Request) bool {
		return r.Verb != "watch" && r.Resource != "" && r.UserAgent != userAgent && r.User != "system:apiserver"
	})), err
}

// settled counts requests until there was none for a second, with a time limit, because some subjects never
// stop.
func (t *trial) settled(ctx context.Context, since testcluster.Mark) (int, error) {
	before := -1
	for range 10 {
		now, err := t.requests(since)
		if err != nil || now == before {
			return now, err
		}
		before = now
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return before, nil
}

func (t *trial) single(ctx context.Context, drifts int, r *result) error {
	var all []time.Duration
	begun := time.Now()
	for i := range drifts {
		if time.Since(begun) > patience/2 { // a program that finds drift at intervals
			r.Problem = fmt.Sprintf("%d single drifts in %.0f min", i, (patience / 2).Minutes())
			break
		}
		took, err := t.client.revert(ctx, t.name(i%t.n), fmt.Sprintf("drift-%d", i))
		if err != nil {
			return fmt.Errorf("%d of %d: %w", i, drifts, err)
		}
		all = append(all, took)
	}
	r.Figures[driftHalf] = inMilliseconds(percentile(all, 50))
	r.Figures[driftMost] = inMilliseconds(percentile(all, 99))
	return nil
}

func (t *trial) storm(ctx context.Context, r *result) error {
	if _, err := t.settled(ctx, t.cluster.Mark()); err != nil {
		return err
	}
	var submitted time.Duration
	mark := t.cluster.Mark()
	begun := time.Now()
	err := await(ctx, t.client.configMaps(), t.n, reverted("many-"), func() error {
		err := each(ctx, t.n, func(ctx context.Context, i int) error { return t.client.drift(ctx, t.name(i), "all at once") })
		submitted = time.Since(begun)
		return err
	})
	if err != nil {
		return err
	}
	r.Figures[stormSeconds], r.Figures[stormSubmitted] = time.Since(begun).Seconds(), submitted.Seconds()
	requests, err := t.settled(ctx, mark)
	if err != nil {
		return err
	}
	r.Figures[requestsDrift] = float64(requests) / float64(t.n)
	return nil
}

// rest starts when the storm has settled.
func (t *trial) rest(ctx context.Context, r *result) error {
	mark := t.cluster.Mark()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(atRest):
	}
	requests, err := t.requests(mark)
	if err != nil {
		return err
	}
	r.Figures[requestsRest] = float64(requests)
	return t.memory(r)
}

func (t *trial) memory(r *result) error {
	now, err := t.process.memory()
	if err != nil {
		return err
	}
	peak, err := t.process.peak()
	if err != nil {
		return err
	}
	r.Figures[memory], r.Figures[memoryPeak] = float64(now)/1024, float64(peak)/1024
	return nil
}

// busy returns the CPU usage in percent, measured over two seconds.
func busy(ctx context.Context) (float64, error) {
	usedBefore, allBefore, err := processors()
	if err != nil {
		return 0, err
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(2 * time.Second):
	}
	used, all, err := processors()
	return 100 * (used - usedBefore) / (all - allBefore), err
}

// processors returns the used and the total CPU time.
func processors() (used, all float64, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	const idle, waiting, guest = 3, 4, 8 // the last value and the following ones are included in others
	for i, field := range strings.Fields(line)[1:] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, 0, err
		}
		if i >= guest {
			break
		}
		all += ticks
		if i != idle && i != waiting {
			used += ticks
		}
	}
	return used, all, nil
}

func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
